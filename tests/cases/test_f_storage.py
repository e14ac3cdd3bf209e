"""Governance cases F26 to F34 where machines stop and disks stay: every second and every GiB on the bill, once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from lessor.catalog import load_catalogue
from lessor.catalog.pricelist import DatedDisks, DatedPrices
from lessor.contracts import Verb
from lessor.domain import billing, costing, disks, life, pausing, storage, suspension
from lessor.domain.billing import Span, Storage
from lessor.domain.budget import MILLIONTHS
from lessor.domain.ladder import Why
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import Account, QuotaPlan
from lessor.domain.resource import Condition, Disk, Kind, Resource, Sighting
from lessor.ledger import open_ledger
from lessor.metering import metered
from tests.builders import ACCESS, RESOURCES, a_lease, usd
from tests.world import REQUESTER, World

NOVEMBER, DECEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
GP3 = usd("0.08")
UTC_MONTHS = QuotaPlan()
MONTHS = ("2026-10", "2026-11", "2026-12")


def running(gib: int = 1_000, since: datetime = NOVEMBER - 10 * DAY, ends: datetime = DECEMBER + 20 * DAY) -> Lease:
    """A lease at 2 USD an hour with disks, in use since then."""
    made = life.ready(
        a_lease(State.PROVISIONING), RESOURCES, ACCESS, since, usd("2"), since, disk_gib=gib, disk_monthly=GP3
    ).lease
    return replace(made, ends_at=ends)


def stopped_by(how: str, lease: Lease, at: datetime) -> Lease:
    """Seen stopped ten minutes after it was."""
    seen = at + 10 * MINUTE
    if how == "grace":
        return life.stopped(life.release(lease, "U0REQUESTER", at).lease, at, seen).lease
    if how == "inside":
        return life.lost(lease, "stopped from inside", at, seen, gone=False).lease
    paused = pausing.pause(lease, Why.IDLE if how == "idle" else Why.ASKED, "lessor", "idle", at).lease
    return suspension.suspended(paused, at, seen).lease


def test_F26_lines_add_up_to_the_total_and_the_months_to_the_lines() -> None:
    lease = stopped_by("asked", running(gib=333), NOVEMBER + 3 * HOUR + 7 * timedelta(seconds=1))
    now = DECEMBER + 9 * DAY + timedelta(microseconds=1)
    compute, disks, cost = (
        costing.compute_cost(lease, now),
        costing.storage_cost(lease, now),
        lease.cost(now),
    )
    assert compute is not None
    assert disks is not None
    assert cost == compute + disks
    taken = metered(replace(lease, ends_at=now), UTC_MONTHS, now).commitments
    exact = Fraction(sum(c.money or 0 for c in taken), MILLIONTHS)
    assert abs(exact - Fraction(cost.amount)) <= Fraction(1, 100)
    whole = storage.gib_months(lease.storage, now) * Fraction("0.08")
    spans = sum(Fraction(2 * (s.elapsed(now) // timedelta(microseconds=1)), 3_600_000_000) for s in lease.spans)
    assert round((whole + spans) * MILLIONTHS) == sum(c.money or 0 for c in taken)


@pytest.mark.parametrize(
    ("currency", "shown"), [("JPY", "8,000 JPY"), ("EUR", "8,000.00 EUR"), ("KWD", "8,000.000 KWD")]
)
def test_F27_disks_cost_in_the_digits_of_their_currency(currency: str, shown: str) -> None:
    kept = (Storage(NOVEMBER, DECEMBER, 1_000, Money(Decimal(8), currency)),)
    assert str(storage.cost(kept, DECEMBER, currency)) == shown


def test_F28_the_price_of_the_launch_stays_whatever_the_list_says_later() -> None:
    lists = [DatedDisks(NOVEMBER.date(), {"x": Decimal("0.08")}), DatedDisks(DECEMBER.date(), {"x": Decimal("0.20")})]
    prices = DatedPrices([], disks=lists)
    assert prices.disk_monthly("x", NOVEMBER - timedelta(seconds=1)) is None
    assert prices.disk_monthly("x", NOVEMBER) == prices.disk_monthly("x", DECEMBER - timedelta(seconds=1)) == GP3
    assert prices.disk_monthly("x", DECEMBER) == usd("0.20")
    kept = storage.opened((), NOVEMBER, 1_000, prices.disk_monthly("x", NOVEMBER))
    assert storage.cost(kept, DECEMBER + 31 * DAY, "USD") == usd("160.00")
    assert load_catalogue().disk_monthly("mars-north-1", DECEMBER) is None


def test_F28_a_price_that_changed_in_the_middle_of_a_month_charges_two_parts() -> None:
    fifteenth = datetime(2026, 11, 16, tzinfo=UTC)
    kept = (Storage(NOVEMBER, fifteenth, 1_000, GP3), Storage(fifteenth, None, 1_000, usd("0.10")))
    assert storage.cost(kept, DECEMBER, "USD") == usd("90.00")


@pytest.mark.parametrize("how", ["grace", "inside", "idle", "asked"])
def test_F29_machines_cost_nothing_from_the_stop_on_however_it_was_stopped(how: str) -> None:
    lease = stopped_by(how, running(), NOVEMBER)
    reports = {costing.compute_cost(lease, NOVEMBER + 10 * MINUTE + days * DAY) for days in range(10)}
    assert reports == {usd("480.00")}


def test_F29_ten_reports_of_what_is_over_are_equal_to_the_last_cent() -> None:
    kept = billing.ended((Storage(NOVEMBER, None, 1_000, GP3),), DECEMBER)
    assert {str(storage.cost(kept, DECEMBER + n * DAY, "USD")) for n in range(10)} == {"80.00 USD"}


@pytest.mark.parametrize("how", ["idle", "asked"])
def test_F30_a_machine_stopped_for_a_whole_month_costs_its_disks_and_nothing_else(how: str) -> None:
    lease = stopped_by(how, running(gib=1_000), NOVEMBER - DAY)
    [november] = [c for c in metered(lease, UTC_MONTHS, DECEMBER).commitments if c.month == "2026-11"]
    assert (november.time, november.money) == (0, 80 * MILLIONTHS)
    before, after = lease.cost(NOVEMBER), lease.cost(DECEMBER)
    assert before is not None
    assert after is not None
    assert after - before == usd("80.00")
    assert costing.compute_cost(lease, DECEMBER) == costing.compute_cost(lease, NOVEMBER) == usd("432.00")
    in_november = replace(lease.storage[0], start=NOVEMBER, end=DECEMBER)
    assert storage.gib_months((in_november,), DECEMBER) == 1_000


@pytest.mark.parametrize("month", range(1, 13))
def test_F30_a_month_is_a_month_whatever_its_length_also_in_a_leap_year(month: int) -> None:
    start = datetime(2028, month, 1, tzinfo=UTC)
    end = datetime(2028 + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    kept = (Storage(start, end, 1_000, GP3),)
    assert storage.gib_months(kept, end) == 1_000
    assert storage.cost(kept, end, "USD") == usd("80.00")


def test_F30_it_is_on_its_owners_line_of_the_ledger_and_closed_months_stay_as_they_are() -> None:
    """The machine rests in its grace over the end of November; what was planned becomes use by the clock alone."""
    lease = stopped_by("grace", running(), DECEMBER - 3 * DAY)
    ledger = open_ledger("sqlite://")
    at = DECEMBER - 3 * DAY + 10 * MINUTE
    gone = replace(lease, state=State.CLOSED, storage=billing.ended(lease.storage, DECEMBER + 4 * DAY), revision=99)
    for one, now in ((lease, at), (gone, DECEMBER + 4 * DAY)):
        ledger.record(one, life.keep(a_lease(), "x", now).events, metered(one, UTC_MONTHS, now))
        if now == at:
            ledger.release(lease.id)
    found = {e.commitment.month: e.commitment for e in ledger.taken(Account("ml"), MONTHS)}
    ledger.close()
    assert found["2026-11"].money == (80 + 27 * 24 * 2) * MILLIONTHS
    assert found["2026-12"].time == 0
    disks = storage.gib_months(gone.storage, DECEMBER + 4 * DAY) * Fraction("0.08")
    whole = disks + 2 * 24 * (10 + 27)
    assert sum(found[month].money or 0 for month in MONTHS) == round(whole * MILLIONTHS)


async def test_F30_a_lease_that_is_stopped_by_its_owner_goes_on_costing_its_disks(leases: World) -> None:
    leases.cloud.disk_gib, leases.cloud.disk_monthly = 1_000, GP3
    handle = await leases.active(duration=20 * DAY)
    assert (await leases.act(handle, Verb.STOP, REQUESTER)).ok
    await leases.when(handle, lambda one: one.suspended_at is not None, "a stop that was seen")
    await leases.sleep(10 * DAY)
    lease = await leases.lease(handle)
    [disks] = lease.storage
    now = disks.start + 10 * DAY
    assert lease.hours(now) < HOUR
    assert disks.end is None
    expected = storage.cost((replace(disks, end=now),), now, "USD")
    assert costing.storage_cost(lease, now) == expected
    assert lease.cost(now) == (costing.compute_cost(lease, now) or usd("0")) + (expected or usd("0"))


def test_F30_storage_that_people_make_themselves_is_on_their_line_as_well_and_only_while_it_is_there() -> None:
    """A namespace lease comes without a disk; 1,000 GiB that its people claim cost 100 USD a month."""
    begin, grown, gone = NOVEMBER + 15 * DAY, DECEMBER, DECEMBER + 10 * DAY
    lease, ledger = running(gib=0), open_ledger("sqlite://")
    looks = [(begin + 4 * MINUTE, 1_000), (grown, 2_000), (gone, None), (gone + DAY, None)]
    for at, gib in looks:
        disk = Disk(begin, gib, usd("0.10"), "team/data")
        seen = () if gib is None else (Resource(Kind.VOLUME, "pv@1", Condition.RUNNING, disk=disk),)
        change = disks.judged(lease, Sighting(seen, at), at)
        lease = change.lease
        if change.events:
            ledger.record(lease, change.events, metered(lease, UTC_MONTHS, at))
    assert [(one.start, one.end, one.gib) for one in lease.storage] == [(begin, grown, 1_000), (grown, gone, 2_000)]
    found = {e.commitment.month: e.commitment for e in ledger.taken(Account("ml"), MONTHS)}
    ledger.close()
    compute = {"2026-11": 30 * 24 * 2 * MILLIONTHS, "2026-12": 20 * 24 * 2 * MILLIONTHS}
    assert (found["2026-11"].money or 0) - compute["2026-11"] == 50 * MILLIONTHS
    assert (found["2026-12"].money or 0) - compute["2026-12"] == round(Fraction(200 * 10, 31) * MILLIONTHS)
    assert costing.storage_cost(lease, DECEMBER + 25 * DAY) == costing.storage_cost(lease, gone) == usd("114.52")


@pytest.mark.parametrize("restarts", [(), (11,), (11, 12, 13)])
def test_F31_disks_that_are_looked_at_hour_by_hour_cost_the_same(restarts: tuple[int, ...]) -> None:
    start, end = datetime(2026, 11, 27, 10, 20, tzinfo=UTC), datetime(2026, 11, 27, 13, 40, tzinfo=UTC)
    edges = [start, *(start.replace(hour=hour, minute=0) for hour in restarts), end]
    pieces = tuple(Storage(a, b, 720_000, GP3) for a, b in pairwise(edges))
    assert storage.gib_months(pieces, end) * 720 * 3_600 == 720_000 * 12_000
    assert storage.cost(pieces, end, "USD") == usd("266.67")


def test_F33_what_a_lease_cost_while_it_did_nothing_is_never_negative_nor_more_than_all() -> None:
    lease = running(gib=720)
    now = NOVEMBER
    for since in (now - 20 * DAY, now - DAY, now, now + DAY):
        idle = costing.idle_cost(lease, since, now)
        total = lease.cost(now)
        assert idle is not None
        assert total is not None
        assert usd("0") <= idle <= total
    assert costing.idle_cost(lease, NOVEMBER - 4 * HOUR, NOVEMBER) == usd("8.00") + usd("0.31")


def test_F34_disks_of_spot_machines_cost_the_same_as_others() -> None:
    lease = replace(
        running(), spans=(Span(NOVEMBER, NOVEMBER + HOUR, usd("0.50")), Span(NOVEMBER + HOUR, None, usd("0.70")))
    )
    assert costing.compute_cost(lease, NOVEMBER + 2 * HOUR) == usd("1.20")
    only_november = replace(lease, storage=(Storage(NOVEMBER, None, 1_000, GP3),))
    assert costing.storage_cost(only_november, DECEMBER) == usd("80.00")
