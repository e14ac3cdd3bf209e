"""The look over all places: beside each other, each for a limited time, and a bad one spoils none of the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from lessor.censuses import KEEP, KEEP_FAILED, Censuses
from lessor.domain.errors import Refused
from lessor.domain.idle import Standing, Verdict
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pools import Census, Holder, Pool
from lessor.domain.request import Place
from lessor.domain.usage import Observation
from lessor.fleet import Surveying, counting
from lessor.ledger import SqlLedger, open_ledger
from lessor.offering import ModelChoice, also_seen
from lessor.ports import RetryableError
from tests.builders import ASKED, READY, a_lease, a_quote, a_request, an_offer
from tests.fakes import FakeCloud

LAB, DARK, US = Place("kubernetes", "lab"), Place("kubernetes", "dark"), Place("aws", "us")
SOON = timedelta(milliseconds=40)
LONG = timedelta(seconds=30)
MINUTE = timedelta(minutes=1)


@dataclass
class Clock:
    now: datetime = READY + timedelta(hours=1)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Cluster:
    """A place that counts itself. `held` keeps its answers back until it is set; `fail` is raised instead of one."""

    clock: Clock
    pools: dict[str, tuple[Pool, ...]] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    fail: dict[str, Exception] = field(default_factory=dict)
    held: dict[str, threading.Event] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def census(self, place: Place) -> Census:
        self.calls.append(place.name)
        if place.name in self.held:
            self.held[place.name].wait(30)
        if place.name in self.fail:
            raise self.fail[place.name]
        return Census(place, self.clock(), self.pools.get(place.name, ()), self.holders)


@dataclass
class Yard:
    fleet: Surveying
    cluster: Cluster
    cloud: FakeCloud
    ledger: SqlLedger
    clock: Clock

    def record(self, *leases: Lease) -> None:
        for lease in leases:
            self.ledger.record(lease, (Event("recorded", ASKED, "lessor", {}),))


@pytest.fixture
def yard(sqlite_url: str) -> Iterator[Yard]:
    clock = Clock()
    ledger, cluster, cloud = open_ledger(sqlite_url), Cluster(clock), FakeCloud(clock)
    cluster.pools["lab"] = (Pool(LAB, "A100-80GB", total=8, free=5, unhealthy=0, largest=4, queued=1),)
    watches = {"kubernetes": cloud, "aws": cloud}
    places = [LAB, DARK, US]
    fleet = Surveying(
        ledger, {"kubernetes": cluster}, watches, lambda: places, clock, lambda _: ("A10G", 1), lambda: MINUTE
    )
    yield Yard(fleet, cluster, cloud, ledger, clock)
    for gate in cluster.held.values():
        gate.set()
    ledger.close()


def a_lease_in(place: Place, id: str, state: State = State.ACTIVE) -> Lease:
    quote = a_quote(offer=an_offer(gpu_count=2))
    return a_lease(state, id=id, request=a_request(place=place, interaction=id), quote=quote)


async def test_one_place_that_hangs_or_breaks_spoils_none_of_the_others(yard: Yard) -> None:
    yard.cluster.held["dark"] = threading.Event()
    yard.cloud.fail["conditions"] = [RetryableError("us-east-1: throttled")]
    yard.record(a_lease_in(LAB, "gpu-aaaaaaaa"), a_lease_in(DARK, "gpu-bbbbbbbb"), a_lease_in(US, "gpu-cccccccc"))
    await yard.fleet.view("lab")
    await yard.fleet.view("us")
    lab, dark, us = (await yard.fleet.view(within=SOON)).places
    assert (lab.problem, lab.lines[0].free, lab.lines[0].leased) == ("", 5, 2)
    assert dark.problem == "kubernetes/dark did not answer within 0 s"
    assert us.problem == "us-east-1: throttled"
    for blind, lease in ((dark, "gpu-bbbbbbbb"), (us, "gpu-cccccccc")):
        assert [one.lease.id for one in blind.tenants] == [lease]
        assert [(one.leased, one.free, one.unknown) for one in blind.lines] == [(2, None, None)]


async def test_a_place_of_a_kind_that_nothing_can_read_is_unknown(yard: Yard) -> None:
    fleet = Surveying(yard.ledger, {}, {}, lambda: [LAB], yard.clock)
    assert [one.problem for one in (await fleet.view()).places] == ["nothing here can read places of kind kubernetes"]


async def test_an_error_that_nobody_foresaw_is_a_problem_of_its_place(yard: Yard) -> None:
    yard.cluster.fail["dark"] = KeyError("items")
    problems = [one.problem for one in (await yard.fleet.view()).places]
    assert problems == ["", "kubernetes/dark could not be read (KeyError)", ""]


async def test_only_the_place_that_is_asked_for_is_read(yard: Yard) -> None:
    assert [one.place for one in (await yard.fleet.view("lab")).places] == [LAB]
    assert yard.cluster.calls == ["lab"]
    with pytest.raises(Refused, match="is no place and no GPU model here"):
        await yard.fleet.view("nowhere")


async def test_verdicts_come_from_the_record_of_the_meter(yard: Yard) -> None:
    lease = a_lease_in(LAB, "gpu-aaaaaaaa")
    yard.record(lease)
    at = yard.clock() - MINUTE
    seen = Observation(lease.id, at)
    yard.ledger.meter(at, [(seen, Standing(lease.id, at, Verdict.IDLE, READY))])
    (tenant,) = (await yard.fleet.view("lab")).places[0].tenants
    assert (tenant.doing, tenant.since) == ("idle", READY)


async def test_a_lease_that_is_over_is_looked_up_before_its_gpus_are_called_ownerless(yard: Yard) -> None:
    """The reading may be older than the end of the lease."""
    over = replace(a_lease_in(LAB, "gpu-aaaaaaaa", State.CLOSED), closed_at=yard.clock() + timedelta(seconds=1))
    yard.record(over)
    yard.cluster.holders = (
        Holder(LAB, "gpu-aaaaaaaa/pod", "A100-80GB", 2, lease=over.id),
        Holder(LAB, "default/pod", "A100-80GB", 1),
    )
    (lab,) = (await yard.fleet.view("lab")).places
    assert [one.ref for one in lab.ownerless] == ["default/pod"]


async def test_more_leases_than_one_page_are_all_there(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lessor.fleet.PAGE", 2)
    yard.record(*(a_lease_in(LAB, f"gpu-aaaaaaa{number}") for number in range(5)))
    (lab,) = (await yard.fleet.view("lab")).places
    assert (len(lab.tenants), lab.lines[0].leased) == (5, 10)


# --- what a form asks ------------------------------------------------------------------------------------------------


async def test_a_form_sees_what_is_free_and_the_largest_block(yard: Yard) -> None:
    found = await yard.fleet.vacancy(Place("kubernetes", "lab", "", "rack-1"), "A100-80GB")
    assert (found.free, found.total, found.largest, found.queued) == (5, 8, 4, 1)
    assert (found.fits(5), found.fits(6), found.together(4), found.together(5)) == (True, False, True, False)


async def test_a_model_that_a_place_does_not_have_is_not_free_there(yard: Yard) -> None:
    found = await yard.fleet.vacancy(LAB, "H100-80GB")
    assert (found.total, found.free, found.problem) == (0, 0, "")


async def test_what_a_place_does_not_answer_in_time_is_unknown_never_none_free(yard: Yard) -> None:
    yard.cluster.held["lab"] = threading.Event()
    found = await yard.fleet.vacancy(LAB, "A100-80GB", SOON)
    assert (found.free, found.fits(1), found.together(1)) == (None, None, None)
    assert found.problem == "kubernetes/lab did not answer within 0 s"


async def test_models_that_places_hand_out_can_be_asked_for_once_they_were_seen(yard: Yard) -> None:
    slices = Pool(LAB, "A100-80GB-1g.10gb", "slice", total=14, free=3)
    yard.cluster.pools["lab"] = (*yard.cluster.pools["lab"], slices, Pool(LAB, "unknown", total=4))
    assert yard.fleet.models() == {}
    await yard.fleet.vacancy(LAB, "A100-80GB")
    yard.clock.now += timedelta(days=1)
    assert yard.fleet.models() == {"A100-80GB": "GPU", "A100-80GB-1g.10gb": "slice"}
    catalogue = (ModelChoice("A100-80GB", "A100 80 GB", 80),)
    assert [one.label for one in also_seen(catalogue, yard.fleet.models())] == [
        "A100 80 GB",
        "A100-80GB-1g.10gb (slice)",
    ]


async def test_a_cloud_is_not_asked_what_is_free(yard: Yard) -> None:
    found = await yard.fleet.vacancy(US, "A100-80GB")
    assert (found.on_demand, found.free, yard.cloud.calls) == (True, None, [])


async def test_a_form_that_opens_finds_what_was_read_before(yard: Yard) -> None:
    yard.fleet.warm()
    assert [one.place for one in await yard.fleet.free(LONG)] == [LAB, DARK]
    assert [one.complete for one in await yard.fleet.free(timedelta())] == [True, True]
    assert sorted(yard.cluster.calls) == ["dark", "lab"]


# --- readings --------------------------------------------------------------------------------------------------------


async def test_a_reading_is_kept_for_a_while_and_then_made_anew(yard: Yard) -> None:
    readings = Censuses(yard.cluster.census, yard.clock)
    first = await readings.of(LAB, LONG)
    yard.clock.now += KEEP - timedelta(seconds=1)
    assert await readings.of(LAB, LONG) is first
    yard.clock.now += timedelta(seconds=1)
    assert await readings.of(LAB, LONG) is not first
    assert yard.cluster.calls == ["lab", "lab"]


async def test_a_reading_that_ends_while_somebody_asks_is_not_made_twice(yard: Yard) -> None:
    """Its end may fall between any two steps of who asks; a hundred times it falls everywhere."""
    for _ in range(100):
        yard.cluster.calls.clear()
        readings = Censuses(yard.cluster.census, yard.clock)
        readings.warm(LAB)
        assert (await readings.of(LAB, LONG)).complete
        assert yard.cluster.calls == ["lab"]


async def test_a_place_that_fails_is_asked_again_sooner(yard: Yard) -> None:
    yard.cluster.fail["lab"] = RetryableError("401")
    readings = Censuses(yard.cluster.census, yard.clock)
    assert (await readings.of(LAB, LONG)).problem == "401"
    del yard.cluster.fail["lab"]
    assert (await readings.of(LAB, LONG)).problem == "401"
    yard.clock.now += KEEP_FAILED
    assert (await readings.of(LAB, LONG)).complete


async def test_many_who_ask_share_one_reading_and_one_that_hangs_keeps_one_thread(yard: Yard) -> None:
    gate = yard.cluster.held["lab"] = threading.Event()
    readings = Censuses(yard.cluster.census, yard.clock)
    found = await asyncio.gather(*(readings.of(LAB, SOON) for _ in range(20)))
    assert {one.problem for one in found} == {"kubernetes/lab did not answer within 0 s"}
    assert yard.cluster.calls == ["lab"]
    gate.set()
    assert (await readings.of(LAB, LONG)).complete
    assert yard.cluster.calls == ["lab"]


def test_a_reading_may_end_after_the_loop_that_asked_for_it(yard: Yard) -> None:
    """A command line leaves while a place still hangs; another loop may go on with the same reading."""
    gate = yard.cluster.held["lab"] = threading.Event()
    readings = Censuses(yard.cluster.census, yard.clock)
    assert not asyncio.run(readings.of(LAB, SOON)).complete
    gate.set()
    assert asyncio.run(readings.of(LAB, LONG)).complete


def test_only_what_counts_its_places_is_asked_for_a_census(yard: Yard) -> None:
    assert counting({"aws": yard.cloud, "kubernetes": yard.cluster}) == {"kubernetes": yard.cluster}
