"""Disks that people add to a lease: each on its bill since it is the lease's, until it was seen gone (case F30)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from lessor.converter import data_converter
from lessor.domain import billing, costing, disks, life, storage, sweep
from lessor.domain.billing import Storage
from lessor.domain.disks import brought_up
from lessor.domain.ladder import Pause, Why
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import QuotaPlan
from lessor.domain.resource import Condition, Disk, Kind, Resource, Sighting, Tagged
from lessor.ledger import open_ledger
from lessor.metering import metered
from tests.builders import ENDS, READY, a_lease, a_sighting, an_instance, usd

NOVEMBER, DECEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
PRICE = usd("0.10")
BASE = (Storage(NOVEMBER, None, 200, PRICE),)


def volume(name: str = "data", **disk: object) -> Resource:
    """A volume of 100 GiB that is the lease's since the beginning of November."""
    found = Disk(**({"since": NOVEMBER, "gib": 100, "monthly": PRICE, "name": f"team/{name}"} | disk))  # type: ignore[arg-type]
    return Resource(Kind.VOLUME, f"{name}@1", Condition.RUNNING, disk=found)


def line(name: str = "data", start: datetime = NOVEMBER, end: datetime | None = None, **other: object) -> Storage:
    return replace(Storage(start, end, 100, PRICE, f"volume:{name}@1", f"team/{name}"), **other)  # type: ignore[arg-type]


def in_use(*kept: Storage) -> Lease:
    return replace(a_lease(State.ACTIVE), storage=kept)


def test_a_new_disk_is_charged_since_it_is_there_not_since_it_was_seen() -> None:
    assert brought_up(BASE, [volume()], NOVEMBER + 7 * MINUTE) == (*BASE, line())
    later = brought_up((*BASE, line()), [volume(), volume("more", since=NOVEMBER + DAY)], NOVEMBER + 2 * DAY)
    assert later == (*BASE, line(), line("more", NOVEMBER + DAY))


def test_it_is_charged_until_it_was_seen_gone_and_never_again() -> None:
    seen_gone = brought_up((line(),), [], NOVEMBER + 15 * DAY)
    assert seen_gone == (line(end=NOVEMBER + 15 * DAY),)
    assert brought_up(seen_gone, [], DECEMBER) == seen_gone
    assert storage.cost(seen_gone, DECEMBER, "USD") == usd("5.00")
    as_gone = replace(volume(), condition=Condition.GONE)
    assert brought_up((line(),), [as_gone], NOVEMBER + 15 * DAY) == seen_gone


def test_what_is_shown_again_goes_on_where_it_had_ended_without_gap_or_overlap() -> None:
    ended = line(end=NOVEMBER + DAY)
    assert brought_up((ended,), [volume()], NOVEMBER + 2 * DAY) == (ended, line(start=NOVEMBER + DAY))


def test_a_disk_that_grows_is_charged_in_two_parts_and_the_first_stays_as_it_was() -> None:
    grown = brought_up((line(),), [volume(gib=250)], NOVEMBER + 15 * DAY)
    assert grown == (line(end=NOVEMBER + 15 * DAY), line(start=NOVEMBER + 15 * DAY, gib=250))
    assert storage.cost(grown, DECEMBER, "USD") == usd("17.50")
    assert brought_up(grown, [volume(gib=250)], NOVEMBER + 20 * DAY) == grown


def test_F28_another_price_holds_from_when_it_was_seen_and_an_unknown_one_changes_no_known_one() -> None:
    dearer = brought_up((line(),), [volume(monthly=usd("0.20"))], NOVEMBER + 15 * DAY)
    assert dearer == (line(end=NOVEMBER + 15 * DAY), line(start=NOVEMBER + 15 * DAY, monthly=usd("0.20")))
    assert storage.cost(dearer, DECEMBER, "USD") == usd("15.00")
    assert brought_up((line(),), [volume(monthly=None)], NOVEMBER + DAY) == (line(),)
    grown = brought_up((line(),), [volume(gib=200, monthly=None)], NOVEMBER + DAY)
    assert grown[1] == line(start=NOVEMBER + DAY, gib=200, monthly=None)


def test_C28_an_unknown_price_or_size_is_unknown_and_never_free() -> None:
    for unknown in (volume(monthly=None), volume(gib=None)):
        kept = brought_up(BASE, [unknown], NOVEMBER + DAY)
        assert kept[-1].monthly is None
        assert storage.cost(kept, DECEMBER, "USD") is None
        assert storage.cost(disks.base(kept), DECEMBER, "USD") == usd("20.00")
        [month] = metered(replace(in_use(*kept), spans=(), ends_at=DECEMBER), QuotaPlan(), NOVEMBER + DAY).commitments
        assert (month.money, month.time) == (None, month.ahead_time)
    known = brought_up((line(monthly=None),), [volume()], NOVEMBER + DAY)
    assert known == (line(end=NOVEMBER + DAY, monthly=None), line(start=NOVEMBER + DAY))


def test_parts_of_a_gib_are_exact() -> None:
    tenth = Decimal("9.31322574615478515625")
    kept = brought_up((), [volume(gib=tenth)], DECEMBER)
    assert storage.gib_months(kept, DECEMBER) * 2**30 == 10**10
    assert storage.cost(kept, DECEMBER, "USD") == usd("0.93")


def test_disks_of_the_launch_and_of_nobody_are_not_added_ones() -> None:
    of_the_launch = replace(volume(), disk=None)
    claim = Resource(Kind.CLAIM, "team/data@1", Condition.RUNNING)
    assert brought_up(BASE, [of_the_launch, claim, an_instance()], DECEMBER) == BASE


def test_a_disk_of_the_launch_that_looks_like_an_added_one_is_not_charged_twice() -> None:
    """One that had to be tagged after the launch carries the same tags as one that somebody attached."""
    lease = replace(in_use(*BASE), resources=(an_instance(), replace(volume(), disk=None)))
    assert disks.bill(lease, [volume(), volume("more")], DECEMBER) == (*BASE, line("more"))
    assert sweep.unbilled([lease], [Tagged(**vars(volume()), lease=lease.id)], DECEMBER) == ()
    nothing_launched = replace(lease, storage=())
    assert disks.bill(nothing_launched, [volume()], DECEMBER) == (line(),)
    again = replace(lease, storage=(*BASE, line(end=NOVEMBER + DAY)))
    assert disks.bill(again, [volume()], DECEMBER)[-1] == line(start=NOVEMBER + DAY)


def test_what_was_charged_is_charged_on_when_only_its_claim_is_gone() -> None:
    assert brought_up((line(),), [replace(volume(), disk=None)], DECEMBER) == (line(),)


def test_a_look_that_was_not_whole_ends_nothing() -> None:
    lease = in_use(line())
    unread = a_sighting(at=DECEMBER, complete=False, problem="403")
    assert disks.judged(lease, unread, DECEMBER).lease is lease


def test_what_was_seen_and_not_named_is_charged_at_an_unknown_price_and_ends_nothing() -> None:
    others = Storage(DECEMBER, None, 0, None, disks.OTHERS, "what came after 1,000 lines for disks")
    unnamed = replace(a_sighting(volume("more"), at=DECEMBER), unnamed=3)
    lease = disks.judged(in_use(line()), unnamed, DECEMBER).lease
    assert lease.storage == (line(), line("more"), others)
    assert disks.judged(lease, unnamed, DECEMBER + DAY).lease is lease
    swept = [Tagged(**vars(volume(name)), lease=lease.id) for name in ("data", "more", "x")]
    assert sweep.unbilled([lease], swept, DECEMBER) == ()
    gone = disks.judged(lease, a_sighting(at=DECEMBER), DECEMBER + DAY).lease.storage
    assert [one.end for one in gone] == [DECEMBER + DAY] * 3


def test_what_is_cut_off_is_counted_and_the_machines_and_the_disks_that_cost_come_first() -> None:
    found = [*(replace(volume(f"c{n}"), kind=Kind.CLAIM, disk=None) for n in range(3)), volume(), an_instance()]
    whole = replace(a_sighting(*found), foreign=("claim:c2@1", "volume:data@1"))
    cut = whole.cut(3)
    assert [one.kind for one in cut.resources] == [Kind.INSTANCE, Kind.VOLUME, Kind.CLAIM]
    assert (cut.unnamed, cut.foreign, cut.clean) == (2, ("volume:data@1",), False)
    assert whole.cut(5) is whole
    nothing_left = replace(a_sighting(replace(volume(), condition=Condition.GONE)), unnamed=1)
    assert not nothing_left.clean
    lease = replace(a_lease(State.DELETING), storage=BASE, deleting_at=READY)
    assert life.looked(lease, cut, READY + MINUTE).lease.left[-1] == "and 2 more"
    assert life.looked(lease, nothing_left, READY + MINUTE).lease.state is State.DELETING
    assert life.looked(lease, nothing_left, READY + MINUTE).lease.storage[0].end is None


def test_a_clock_that_is_ahead_makes_no_negative_time() -> None:
    assert brought_up((), [volume(since=DECEMBER)], NOVEMBER) == (line(),)
    assert brought_up((line(start=DECEMBER),), [], NOVEMBER) == (line(start=DECEMBER, end=DECEMBER),)
    assert brought_up((line(start=DECEMBER),), [volume(gib=7)], NOVEMBER) == (line(start=DECEMBER),)


def test_what_is_beyond_what_a_lease_can_carry_is_unknown_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "MOST", 3)
    many = [volume(f"v{n}", since=NOVEMBER + n * DAY) for n in range(4)]
    kept = brought_up(BASE, many, NOVEMBER + 10 * DAY)
    assert [one.name for one in kept] == ["", "team/v0", "team/v1", "what came after 3 lines for disks"]
    assert kept[-1] == Storage(NOVEMBER + 2 * DAY, None, 0, None, disks.OTHERS, kept[-1].name)
    assert storage.cost(kept, DECEMBER, "USD") is None
    assert brought_up(kept, many, NOVEMBER + 11 * DAY) == kept
    gone = brought_up(kept, [], NOVEMBER + 12 * DAY)
    assert [one.end for one in gone[1:]] == [NOVEMBER + 12 * DAY] * 3
    again = brought_up(gone, many, NOVEMBER + 13 * DAY)
    assert again[-1] == replace(kept[-1], start=NOVEMBER + 12 * DAY)


def test_of_many_disks_of_a_stopped_lease_the_first_are_on_it_and_the_others_are_counted() -> None:
    claims = tuple(Resource(Kind.CLAIM, f"c{n:02}@1", Condition.STOPPED) for n in range(25))
    lease = replace(life.release(in_use(), "U0REQUESTER", ENDS).lease, resources=(an_instance(), claims[24]))
    change = life.stopped(lease, ENDS, ENDS, claims)
    said = change.events[0].data["disks"]
    assert said == "; ".join(f"claim c{n:02}" for n in range(20)) + "; and 5 more"
    assert [one.id for one in change.lease.resources] == ["i-0aaa", "c24@1", *(one.id for one in claims[:20])]


def test_a_disk_that_came_on_a_stopped_lease_before_it_could_be_billed_is_charged_all_the_same() -> None:
    """Where claims of the whole cluster may not be read, what is bound in the namespace is seen and not judged."""
    lease = life.release(replace(in_use(*BASE), resources=(an_instance(),)), "U0REQUESTER", ENDS).lease
    part = Sighting((volume(),), ENDS, complete=False, unread=(Kind.CLAIM,))
    assert disks.judged(lease, part, ENDS).events == ()
    stopped = life.stopped(lease, ENDS, ENDS, part.left).lease
    whole = disks.judged(stopped, Sighting((volume(),), ENDS + HOUR), ENDS + HOUR).lease
    assert whole.storage == (*BASE, line())


def test_it_is_on_record_what_is_charged_and_what_is_gone() -> None:
    change = disks.judged(in_use(*BASE, line("old")), a_sighting(volume(), at=DECEMBER), DECEMBER)
    assert change.lease.storage == (*BASE, line("old", end=DECEMBER), line())
    assert change.lease.revision == in_use().revision + 1
    [event] = change.events
    assert (event.type, event.actor, event.at) == ("disks-seen", "lessor", DECEMBER)
    assert event.data == {"charged": "team/data, 100 GiB at 0.10 USD for a GiB and month", "gone": "team/old"}
    unknown = disks.judged(in_use(), a_sighting(volume(gib=None)), DECEMBER).events[0].data
    assert unknown == {"charged": "team/data, of unknown size at an unknown price for a GiB and month"}


def test_many_are_on_record_by_their_number() -> None:
    many = [volume(f"v{n:02}") for n in range(25)]
    said = disks.judged(in_use(), a_sighting(*many), DECEMBER).events[0].data["charged"]
    assert said.count("100 GiB") == 20
    assert said.endswith("team/v19, 100 GiB at 0.10 USD for a GiB and month; and 5 more")


@pytest.mark.parametrize("state", [State.ACTIVE, State.SUSPENDED, State.STOPPED])
def test_the_sweep_has_a_lease_look_whose_disks_are_not_as_billed(state: State) -> None:
    lease = replace(in_use(*BASE), state=state)
    seen = Tagged(**vars(volume()), lease=lease.id)
    [away] = sweep.unbilled([lease], [seen], DECEMBER)
    assert (away.lease_id, away.condition) == (lease.id, Condition.UNKNOWN)
    billed = disks.judged(lease, a_sighting(volume()), DECEMBER).lease
    assert sweep.unbilled([billed], [seen], DECEMBER + DAY) == ()
    assert [one.lease_id for one in sweep.unbilled([billed], [], DECEMBER + DAY)] == [lease.id]
    assert sweep.unbilled([lease], [replace(seen, lease="gpu-00000009")], DECEMBER) == ()
    assert sweep.unbilled([replace(lease, state=State.DELETING)], [seen], DECEMBER) == ()


def test_while_it_is_taken_down_each_disk_is_charged_until_that_one_is_gone() -> None:
    stopped = life.stopped(life.release(in_use(*BASE, line()), "U0REQUESTER", ENDS).lease, ENDS, ENDS).lease
    lease = replace(life.start_deleting(stopped, ENDS + 7 * DAY).lease, spans=())
    at = ENDS + 7 * DAY
    kept = life.looked(lease, a_sighting(volume(), at=at), at + HOUR).lease
    assert kept.storage == (replace(BASE[0], end=at + HOUR), line())
    fresh = life.looked(kept, a_sighting(volume(), volume("more", since=at), at=at), at + 2 * HOUR)
    assert fresh.lease.storage[-1] == line("more", at)
    assert [one.type for one in fresh.events] == ["disks-seen"]
    first = life.looked(fresh.lease, a_sighting(at=at), at + 3 * HOUR).lease
    assert [one.end for one in first.storage] == [at + HOUR, at + 3 * HOUR, at + 3 * HOUR]
    closed = life.looked(first, a_sighting(at=at), at + 4 * HOUR)
    assert closed.lease.state is State.CLOSED
    assert closed.events[0].data["storage"] == str(costing.storage_cost(closed.lease, at))
    assert closed.lease.storage == first.storage


def test_a_namespace_alone_keeps_no_disk_of_the_launch_on_the_bill() -> None:
    lease = replace(a_lease(State.DELETING), storage=BASE, deleting_at=READY)
    space = Resource(Kind.NAMESPACE, "gpu-7k3qxa2m@1", Condition.DELETING)
    assert life.looked(lease, a_sighting(space), DECEMBER).lease.storage == billing.ended(BASE, DECEMBER)
    own = Resource(Kind.CLAIM, "gpu-7k3qxa2m/workspace@2", Condition.DELETING)
    assert life.looked(lease, a_sighting(space, own), DECEMBER).lease.storage == BASE


def test_added_disks_are_part_of_what_the_months_take_and_of_the_lines_of_the_cost() -> None:
    pause = Pause(Why.ASKED, "U0REQUESTER", NOVEMBER)
    lease = replace(in_use(*BASE, line()), state=State.SUSPENDED, pause=pause, spans=(), ends_at=DECEMBER)
    [month] = metered(lease, QuotaPlan(), NOVEMBER + 15 * DAY).commitments
    assert (month.money, month.ahead_money) == (30_000_000, 15_000_000)
    assert costing.added_cost(lease, DECEMBER) == usd("10.00")
    assert costing.storage_cost(lease, DECEMBER) == lease.cost(DECEMBER) == usd("30.00")


def test_the_share_of_added_disks_and_of_those_of_the_launch_add_up_to_the_cent() -> None:
    lease = replace(in_use(Storage(NOVEMBER, None, 1, usd("0.05")), line(gib=1, monthly=usd("0.05"))), spans=())
    at = NOVEMBER + 15 * DAY
    assert costing.storage_cost(lease, at) == usd("0.05")
    of_launch = storage.cost(disks.base(lease.storage), at, "USD")
    added = costing.added_cost(lease, at)
    assert added is not None
    assert of_launch is not None
    assert of_launch + added == usd("0.05")
    assert costing.added_cost(in_use(*BASE), at) == usd("0.00")
    assert costing.added_disks(in_use(*BASE), at) is None
    assert costing.added_cost(in_use(replace(BASE[0], monthly=None), line()), at) == usd("5.00")
    odd = in_use(*BASE, line(monthly=Money(Decimal("0.10"), "EUR")))
    assert costing.added_cost(odd, NOVEMBER + 15 * DAY) == Money(Decimal("5.00"), "EUR")


@pytest.mark.parametrize("gib", [200, Decimal("0.5"), Decimal("9.31322574615478515625")])
def test_sizes_come_out_of_workflows_and_ledger_as_they_went_in(gib: int | Decimal) -> None:
    lease = in_use(*BASE, line(gib=gib))
    converter = data_converter.payload_converter
    [back] = converter.from_payloads(converter.to_payloads([lease]), [Lease])
    assert back == lease
    [seen] = converter.from_payloads(converter.to_payloads([a_sighting(volume(gib=gib))]), [Sighting])
    assert seen == a_sighting(volume(gib=gib))
    ledger = open_ledger("sqlite://")
    ledger.record(lease, disks.judged(lease, a_sighting(), DECEMBER).events)
    stored = ledger.lease(lease.id)
    ledger.close()
    assert stored == lease
