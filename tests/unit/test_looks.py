"""Looking until nothing is left: what closes a lease, what blocks it, what proves it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import life
from lessor.domain.billing import Span
from lessor.domain.lease import Event, State
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.domain.terms import Terms
from tests.builders import (
    ENDS,
    GONE,
    HOURLY,
    LAUNCHED,
    READY,
    RESOURCES,
    a_lease,
    a_request,
    a_sighting,
    a_snapshot,
    a_volume,
    an_instance,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HALF = timedelta(seconds=30)
DELETED = ENDS + 7 * DAY


# --- looking


def test_two_clean_looks_close_it_with_the_proof() -> None:
    lease = a_lease(State.DELETING)
    first = life.looked(lease, a_sighting(*GONE, at=DELETED), DELETED)
    assert (first.lease.state, first.lease.clean_passes, first.events) == (State.DELETING, 1, ())
    assert first.lease.next_try == DELETED + HALF
    second = life.looked(first.lease, a_sighting(GONE[0], at=DELETED + HALF), DELETED + HALF)
    closed = second.lease
    proof = "2 clean looks, the last at 2026-12-04 17:15:30 UTC: instance:i-0aaa gone, volume:vol-0aaa absent"
    assert (closed.state, closed.proof, closed.closed_at) == (State.CLOSED, proof, DELETED + HALF)
    assert (closed.left, closed.next_try) == ((), None)
    data = {"proof": proof, "kept": "", "reason": "its end date"}
    data |= {"cost": "791.48 USD", "compute": "791.48 USD", "storage": "0.00 USD"}
    assert second.events == (Event("closed", DELETED + HALF, "lessor", data),)


def test_where_nothing_was_ever_seen_the_proof_says_so() -> None:
    lease = life.fail(a_lease(State.PROVISIONING), "denied", READY).lease
    for at in (READY, READY + HALF):
        change = life.looked(lease, a_sighting(at=at), at)
        lease = change.lease
    assert lease.state is State.FAILED
    assert lease.proof == "2 clean looks, the last at 2026-11-27 09:15:30 UTC: nothing carries the lease's tag"
    assert [e.type for e in change.events] == ["failed"]


@pytest.mark.parametrize(
    ("sighting", "left"),
    [
        (a_sighting(a_volume()), ("volume:vol-0aaa",)),
        (a_sighting(GONE[0], a_volume(condition=Condition.DELETING)), ("volume:vol-0aaa",)),
        (a_sighting(a_volume(condition=Condition.UNKNOWN)), ("volume:vol-0aaa",)),
        (a_sighting(a_snapshot()), ("snapshot:snap-0aaa",)),
        (a_sighting(complete=False, problem="throttled"), ("unknown: throttled",)),
        (a_sighting(*GONE, complete=False, problem="page 2"), ("unknown: page 2",)),
        (a_sighting(an_instance(), a_volume()), ("instance:i-0aaa", "volume:vol-0aaa")),
    ],
)
def test_anything_left_or_unread_starts_the_count_again(sighting: Sighting, left: tuple[str, ...]) -> None:
    lease = life.looked(a_lease(State.DELETING), a_sighting(*GONE), DELETED).lease
    assert lease.clean_passes == 1
    change = life.looked(lease, sighting, DELETED + MINUTE)
    got = change.lease
    assert (got.state, got.clean_passes, got.left) == (State.DELETING, 0, left)
    assert (got.next_try, change.events) == (DELETED + MINUTE + HALF, ())


def test_too_long_without_a_clean_look_pages_people_once_and_goes_on_for_ever() -> None:
    lease = a_lease(State.DELETING)
    late = DELETED + 30 * MINUTE
    assert life.looked(lease, a_sighting(a_volume()), late - MINUTE).lease.state is State.DELETING
    change = life.looked(lease, a_sighting(a_volume(), problem="in use"), late)
    lease = change.lease
    assert (lease.state, lease.problem, lease.next_try) == (State.BLOCKED, "in use", late + 30 * MINUTE)
    data = {"left": "volume:vol-0aaa", "problem": "in use"}
    assert change.events == (Event("blocked", late, "lessor", data),)
    for days in range(1, 60):
        change = life.looked(lease, a_sighting(a_volume()), late + days * DAY)
        assert (change.lease.state, change.events) == (State.BLOCKED, ())
        lease = change.lease
    end = late + 60 * DAY
    lease = life.looked(lease, a_sighting(*GONE), end).lease
    assert (lease.state, lease.clean_passes, lease.next_try) == (State.BLOCKED, 1, end + HALF)
    assert life.looked(lease, a_sighting(*GONE), end + HALF).lease.state is State.CLOSED


def test_one_clean_look_is_enough_where_the_terms_say_so() -> None:
    lease = a_lease(State.DELETING, terms=replace(Terms(), verify_passes=1))
    assert life.looked(lease, a_sighting(*GONE), DELETED).lease.state is State.CLOSED


def test_a_snapshot_that_was_asked_for_is_kept_and_named() -> None:
    lease = a_lease(State.DELETING, request=a_request(snapshot=True))
    kept = (*GONE, a_snapshot("snap-1"), a_snapshot("snap-2", Condition.UNKNOWN), a_snapshot("snap-3", Condition.GONE))
    for at in (DELETED, DELETED + HALF):
        change = life.looked(lease, a_sighting(*kept, at=at), at)
        lease = change.lease
    assert lease.state is State.CLOSED
    assert change.events[0].data["kept"] == "snap-1, snap-2"
    assert lease.proof.endswith("instance:i-0aaa gone, volume:vol-0aaa gone, snapshot:snap-3 gone")


def test_the_bill_of_what_cannot_be_stopped_ends_when_it_is_seen_gone_not_when_all_is_clean() -> None:
    lease = a_lease(State.DELETING, stoppable=False)
    at = ENDS
    for sighting in (
        a_sighting(an_instance(), a_volume()),
        a_sighting(an_instance(condition=Condition.UNKNOWN), a_volume()),
        a_sighting(a_volume(), complete=False),
    ):
        at += MINUTE
        lease = life.looked(lease, sighting, at).lease
        assert lease.spans == (Span(LAUNCHED, None, HOURLY),)
    at += MINUTE
    lease = life.looked(lease, a_sighting(an_instance(condition=Condition.DELETING), a_volume()), at).lease
    assert lease.spans == (Span(LAUNCHED, at, HOURLY),)
    late = at + 9 * DAY
    assert life.looked(lease, a_sighting(a_volume()), late).lease.cost(late) == lease.cost(at)


def test_what_appears_although_it_was_taken_back_is_billed_and_removed() -> None:
    lease = life.fail(a_lease(State.PROVISIONING), "timed out", READY).lease
    lease = life.looked(lease, a_sighting(), READY).lease
    change = life.launched_late(lease, RESOURCES, LAUNCHED, HOURLY, READY + MINUTE)
    lease = change.lease
    assert (lease.resources, lease.clean_passes, lease.next_try) == (RESOURCES, 0, None)
    assert [e.data for e in change.events] == [{"resources": "instance:i-0aaa, volume:vol-0aaa"}]
    for at in (READY + 3 * MINUTE, READY + 3 * MINUTE + HALF):
        lease = life.looked(lease, a_sighting(*GONE, at=at), at).lease
    assert lease.state is State.FAILED
    assert lease.hours(DELETED) == 6 * MINUTE
    assert lease.cost(DELETED) == usd("9.83")


@pytest.mark.parametrize("state", [s for s in State if s not in (State.DELETING, State.BLOCKED)])
def test_only_what_is_taken_down_is_looked_at(state: State) -> None:
    assert refusal(life.looked, a_lease(state), a_sighting(), DELETED)[0] == "wrong-state"


@pytest.mark.parametrize(
    ("resources", "complete", "clean"),
    [
        ((), True, True),
        ((), False, False),
        ((an_instance(condition=Condition.GONE),), True, True),
        ((an_instance(condition=Condition.GONE),), False, False),
        *(((an_instance(condition=c),), True, False) for c in Condition if c is not Condition.GONE),
    ],
)
def test_clean_is_only_what_was_all_seen_gone(resources: tuple[Resource, ...], complete: bool, clean: bool) -> None:
    assert Sighting(resources, ENDS, complete).clean is clean


def test_every_resource_has_a_name_for_the_record() -> None:
    assert Resource(Kind.SPOT_REQUEST, "sir-1").ref == "spot-request:sir-1"
