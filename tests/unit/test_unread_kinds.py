"""What may not be read of a place is unknown by its kind; of the other kinds a look still shows what it shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.converter import data_converter
from lessor.domain import disks, sweep, takedown
from lessor.domain.billing import Span, Storage
from lessor.domain.lease import Lease, State
from lessor.domain.resource import EVERY, Condition, Kind, Resource, Sighting, Tagged
from tests.builders import ENDS, READY, a_lease, usd

LATER = READY + timedelta(hours=2)
SPACE = Resource(Kind.NAMESPACE, "gpu-7k3qxa2m@1", Condition.GONE)
DISK = Storage(READY, None, 100, usd("0.10"), "volume:data@1", "team/data")


def seen(*resources: Resource, unread: tuple[Kind, ...] = (), complete: bool = False) -> Sighting:
    return Sighting(resources, LATER, complete=complete, problem="forbidden", unread=unread)


def leased(state: State = State.ACTIVE) -> Lease:
    return replace(a_lease(state), resources=(replace(SPACE, condition=Condition.RUNNING),))


@pytest.mark.parametrize(
    ("unread", "complete", "known"),
    [
        ((), True, {Kind.NAMESPACE, Kind.WORKLOAD, Kind.VOLUME}),
        ((), False, set()),
        ((Kind.VOLUME,), False, {Kind.NAMESPACE, Kind.WORKLOAD}),
        ((Kind.VOLUME, Kind.WORKLOAD), False, {Kind.NAMESPACE}),
    ],
)
def test_a_look_knows_all_but_the_kinds_that_were_not_read(
    unread: tuple[Kind, ...], complete: bool, known: set[Kind]
) -> None:
    found = seen(unread=unread, complete=complete)
    assert {kind for kind in (Kind.NAMESPACE, Kind.WORKLOAD, Kind.VOLUME) if found.knows(kind)} == known
    assert found.knows(Kind.NAMESPACE, Kind.VOLUME) is (Kind.VOLUME in known)


@pytest.mark.parametrize(
    ("unread", "state"),
    [((Kind.VOLUME, Kind.CLAIM), State.DELETING), ((Kind.NAMESPACE,), State.ACTIVE), ((), State.ACTIVE)],
)
def test_a_lease_is_lost_when_all_of_its_kind_was_read_and_gone(unread: tuple[Kind, ...], state: State) -> None:
    after = takedown.observed(leased(), seen(SPACE, unread=unread), "gone", LATER, LATER).lease
    assert after.state is state


def test_disks_are_charged_on_while_volumes_or_claims_may_not_be_read() -> None:
    lease = replace(leased(), storage=(DISK,))
    for unread in (Kind.VOLUME, Kind.CLAIM):
        assert disks.judged(lease, seen(unread=(unread,)), LATER).lease is lease
    ended = disks.judged(lease, seen(unread=(Kind.WORKLOAD,)), LATER).lease
    assert ended.storage == (replace(DISK, end=LATER),)


def test_a_lease_is_not_closed_while_a_kind_may_not_be_read_and_its_bill_ends() -> None:
    spans = (Span(READY, None, usd("2.00")),)
    lease = replace(leased(State.DELETING), spans=spans, storage=(replace(DISK, disk="", name=""),), deleting_at=ENDS)
    after = takedown.looked(lease, seen(unread=(Kind.VOLUME,)), LATER).lease
    assert (after.state, after.clean_passes, after.left) == (State.DELETING, 0, ("unknown: forbidden",))
    assert after.spans == (replace(spans[0], end=LATER),)
    assert after.storage == lease.storage
    blind = takedown.looked(lease, seen(unread=(Kind.WORKLOAD,)), LATER).lease
    assert blind.spans == spans


def test_a_sweep_tells_no_lease_of_disks_that_it_could_not_read_and_says_why() -> None:
    lease = replace(leased(), storage=(DISK,))
    every = Tagged(
        Kind.VOLUME, f"{lease.id}/{EVERY}", Condition.UNKNOWN, reason="volumes are forbidden", lease=lease.id
    )
    assert [one.lease_id for one in sweep.unbilled([lease], [], LATER)] == [lease.id]
    assert sweep.unbilled([lease], [every], LATER) == ()
    assert sweep.unread([every, replace(every, lease="gpu-00000002")]) == "volumes are forbidden"
    assert sweep.unread([replace(every, id=f"{lease.id}/data@1")]) == ""


async def test_what_was_not_read_goes_through_a_message() -> None:
    found = seen(SPACE, unread=(Kind.VOLUME,))
    payloads = await data_converter.encode([found])
    assert await data_converter.decode(payloads, [Sighting]) == [found]
