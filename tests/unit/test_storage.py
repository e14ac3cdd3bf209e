"""Disks on the bill: by calendar month in UTC, as long as they are there, unknown rather than free."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain import billing, costing, life, storage
from lessor.domain.billing import Span, Storage
from lessor.domain.ladder import Pause, Why
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import QuotaPlan
from lessor.domain.resource import Condition
from lessor.metering import metered
from tests.builders import (
    ACCESS,
    ENDS,
    HOURLY,
    LAUNCHED,
    READY,
    RESOURCES,
    a_lease,
    a_sighting,
    a_volume,
    an_instance,
    usd,
)

NOVEMBER, DECEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
GP3 = usd("0.08")


def kept(start: datetime, end: datetime | None, gib: int = 1_000, monthly: Money | None = GP3) -> storage.Kept:
    return (Storage(start, end, gib, monthly),)


def with_disks(gib: int = 200, monthly: Money | None = GP3) -> Lease:
    """A lease in use whose disks are there since its launch."""
    return life.ready(
        a_lease(State.PROVISIONING),
        RESOURCES,
        ACCESS,
        LAUNCHED,
        HOURLY,
        READY,
        disk_gib=gib,
        disk_monthly=monthly,
    ).lease


@pytest.mark.parametrize("year", [2027, 2028])
@pytest.mark.parametrize("month", range(1, 13))
def test_a_whole_month_is_one_month_whatever_its_length(year: int, month: int) -> None:
    start = datetime(year, month, 1, tzinfo=UTC)
    end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    disks = kept(start, end)
    assert storage.gib_months(disks, end + DAY) == 1_000
    assert storage.cost(disks, end + DAY, "USD") == usd("80.00")


def test_each_part_counts_by_the_length_of_its_own_month() -> None:
    disks = kept(datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 12, 32 - 1, tzinfo=UTC), gib=930)
    assert storage.gib_months(disks, DECEMBER + 99 * DAY) == 930 * (Fraction(15, 30) + Fraction(30, 31))
    assert storage.cost(disks, DECEMBER + 99 * DAY, "USD") == usd("109.20")


def test_months_are_those_of_utc_wherever_the_instants_were_written() -> None:
    east = timezone(timedelta(hours=9))
    disks = kept(NOVEMBER.astimezone(east), DECEMBER.astimezone(east))
    assert storage.cost(disks, DECEMBER, "USD") == usd("80.00")


def test_disks_that_are_there_go_on_costing_and_those_that_are_gone_do_not() -> None:
    there = kept(NOVEMBER, None)
    assert storage.cost(there, NOVEMBER + 15 * DAY, "USD") == usd("40.00")
    assert storage.cost(there, NOVEMBER - DAY, "USD") == usd("0.00")
    gone = billing.ended(there, NOVEMBER + 15 * DAY)
    assert [storage.cost(gone, DECEMBER + days * DAY, "USD") for days in range(10)] == [usd("40.00")] * 10
    assert billing.ended(gone, DECEMBER) == gone
    assert billing.ended(there, NOVEMBER - DAY) == kept(NOVEMBER, NOVEMBER)


def test_an_unknown_price_makes_the_sum_unknown_and_no_disks_cost_nothing() -> None:
    assert storage.cost((*kept(NOVEMBER, None), *kept(NOVEMBER, None, monthly=None)), DECEMBER, "USD") is None
    assert storage.cost((), DECEMBER, "EUR") == Money(Decimal("0.00"), "EUR")
    assert storage.opened((), NOVEMBER, 0, None) == ()
    assert (
        storage.cost((*kept(NOVEMBER, None), *kept(NOVEMBER, None, monthly=Money(Decimal(1), "EUR"))), DECEMBER, "USD")
        is None
    )


@given(cuts=st.lists(st.integers(0, 90 * 86_400_000_000), max_size=6), gib=st.integers(1, 20_000))
def test_cutting_the_time_changes_nothing(cuts: list[int], gib: int) -> None:
    begin, end = NOVEMBER, NOVEMBER + 90 * DAY
    edges = [begin, *(begin + timedelta(microseconds=cut) for cut in sorted(cuts)), end]
    pieces = tuple(Storage(a, b, gib, GP3) for a, b in pairwise(edges))
    assert storage.gib_months(pieces, end) == storage.gib_months(kept(begin, end, gib), end)
    assert storage.cost(pieces, end, "USD") == storage.cost(kept(begin, end, gib), end, "USD")


def test_the_bill_of_disks_opens_with_the_launch_and_is_on_record() -> None:
    change = life.ready(
        a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, HOURLY, READY, disk_gib=200, disk_monthly=GP3
    )
    assert change.lease.storage == (Storage(LAUNCHED, None, 200, GP3),)
    assert change.events[0].data | {"disk_gib": "200", "disk_monthly": "0.08 USD"} == change.events[0].data
    unpriced = life.ready(
        a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, HOURLY, READY, disk_gib=200, disk_monthly=None
    )
    assert unpriced.events[0].data["disk_monthly"] == "unknown"
    assert unpriced.lease.cost(READY) is None
    assert costing.compute_cost(unpriced.lease, READY) == usd("4.92")


def test_local_disks_that_a_stop_wipes_are_on_the_lease_and_on_record() -> None:
    change = life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, HOURLY, READY, volatile=True)
    assert change.lease.volatile
    assert change.events[0].data["volatile"] == "yes"
    assert not with_disks().volatile
    assert (
        "volatile"
        not in life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, HOURLY, READY).events[0].data
    )


def test_lines_are_rounded_once_each_and_add_up_to_the_cost() -> None:
    lease = with_disks(gib=1_000)
    for minutes in range(1, 3_000, 37):
        now = LAUNCHED + timedelta(minutes=minutes)
        compute, disks = costing.compute_cost(lease, now), costing.storage_cost(lease, now)
        assert compute is not None
        assert disks is not None
        assert lease.cost(now) == compute + disks


def test_prices_in_two_currencies_have_no_sum() -> None:
    lease = with_disks(monthly=Money(Decimal("0.09"), "EUR"))
    assert lease.cost(ENDS) is None
    assert costing.storage_cost(lease, READY + 30 * DAY) == Money(Decimal("17.49"), "EUR")


def test_stopped_disks_cost_until_they_were_seen_gone() -> None:
    lease = life.stopped(life.release(with_disks(1_000), "U0REQUESTER", ENDS).lease, ENDS, ENDS).lease
    assert costing.compute_cost(lease, ENDS + 5 * DAY) == usd("791.48")
    deleting = life.start_deleting(lease, ENDS + 7 * DAY).lease
    at = ENDS + 7 * DAY
    unread = life.looked(deleting, a_sighting(at=at, complete=False, problem="403"), at + HOUR).lease
    assert unread.storage[0].end is None
    still = life.looked(unread, a_sighting(a_volume(condition=Condition.STOPPED), at=at), at + 2 * HOUR).lease
    assert still.storage[0].end is None
    gone = (an_instance(condition=Condition.GONE), a_volume(condition=Condition.GONE))
    first = life.looked(still, a_sighting(*gone, at=at), at + 3 * HOUR).lease
    assert first.storage[0].end == at + 3 * HOUR
    change = life.looked(first, a_sighting(*gone, at=at), at + 4 * HOUR)
    assert change.lease.state is State.CLOSED
    assert change.lease.storage[0].end == at + 3 * HOUR
    expected = storage.cost((Storage(LAUNCHED, at + 3 * HOUR, 1_000, GP3),), at, "USD")
    assert expected is not None
    assert change.events[0].data["storage"] == str(expected)
    assert change.events[0].data["compute"] == "791.48 USD"
    assert change.events[0].data["cost"] == str(usd("791.48") + expected)


def test_what_came_into_being_late_keeps_disks_too() -> None:
    lease = life.cancel(a_lease(State.PROVISIONING), "operator", READY).lease
    late = life.launched_late(lease, RESOURCES, LAUNCHED, HOURLY, READY + HOUR, disk_gib=50, disk_monthly=GP3).lease
    assert late.storage == (Storage(LAUNCHED, None, 50, GP3),)


def test_idle_time_costs_what_machines_and_disks_cost_in_it() -> None:
    lease = with_disks(gib=7_200)
    assert costing.idle_cost(lease, READY + HOUR, READY + 3 * HOUR) == usd("196.64") + usd("1.60")
    ended = replace(lease, spans=billing.ended(lease.spans, READY + 2 * HOUR))
    assert costing.idle_cost(ended, READY + HOUR, READY + 3 * HOUR) == HOURLY + usd("1.60")
    assert costing.idle_cost(lease, READY + HOUR, READY + HOUR) == usd("0.00")
    old = replace(lease, spans=(Span(LAUNCHED, READY, None), Span(READY, None, HOURLY)))
    assert old.cost(READY + HOUR) is None
    assert costing.idle_cost(old, READY, READY + HOUR) == HOURLY + usd("0.80")


def money_of(
    lease: Lease, now: datetime, plan: QuotaPlan | None = None
) -> dict[str, tuple[int | None, int | None, int]]:
    """Millionths in all and planned, and GPU time, by month."""
    return {c.month: (c.money, c.ahead_money, c.time) for c in metered(lease, plan or QuotaPlan(), now).commitments}


def resting(disks: storage.Kept, ends: datetime) -> Lease:
    """Stopped until somebody starts it, with nothing on the bill but these disks."""
    return replace(
        a_lease(State.SUSPENDED),
        spans=(),
        storage=disks,
        pause=Pause(Why.ASKED, "U0REQUESTER", NOVEMBER),
        schedule=None,
        ends_at=ends,
    )


def test_disks_are_part_of_what_a_lease_takes_of_each_month_without_any_gpu_time() -> None:
    lease = resting(kept(NOVEMBER, None), ends=datetime(2027, 1, 1, tzinfo=UTC))
    assert money_of(lease, NOVEMBER + 15 * DAY) == {
        "2026-11": (80_000_000, 40_000_000, 0),
        "2026-12": (80_000_000, 80_000_000, 0),
    }
    [november, _] = metered(lease, QuotaPlan(), NOVEMBER + 15 * DAY).commitments
    assert november.running


def test_months_of_the_organisation_cut_the_disks_but_price_them_by_the_month_of_utc() -> None:
    """New York's November begins 4 hours after UTC's: what is before it is a part of UTC's November, of 720 hours."""
    lease = resting(kept(NOVEMBER, DECEMBER), ends=DECEMBER)
    found = money_of(lease, DECEMBER, QuotaPlan(tz="America/New_York"))
    assert found == {"2026-10": (444_444, 0, 0), "2026-11": (79_555_556, 0, 0)}


def test_an_unpriced_disk_makes_the_month_unknown() -> None:
    lease = resting(kept(NOVEMBER, None, monthly=None), ends=DECEMBER)
    assert money_of(lease, NOVEMBER + DAY) == {"2026-11": (None, None, 0)}


def test_running_leases_plan_machines_and_disks_to_the_end_and_stopped_ones_disks_to_the_end_of_the_grace() -> None:
    lease = with_disks(gib=720_000)
    [one] = metered(lease, QuotaPlan(), LAUNCHED).commitments
    length = (ENDS - LAUNCHED) / HOUR
    assert one.money == round((98_320_000 + 80_000_000) * length)
    stopped = life.stopped(life.release(lease, "U0REQUESTER", ENDS).lease, ENDS, ENDS).lease
    found = metered(stopped, QuotaPlan(), ENDS).commitments
    assert [c.ahead_time for c in found] == [0, 0]
    assert all(c.running for c in found)
    assert found[-1].ahead_to == ENDS + stopped.terms.grace
    deleting = life.start_deleting(stopped, ENDS + 7 * DAY).lease
    assert [c.ahead_money for c in metered(deleting, QuotaPlan(), ENDS + 7 * DAY).commitments] == [0, 0]
