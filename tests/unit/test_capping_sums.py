"""When a lease reaches a share of its cap: computed exactly from what runs, what rests and what has no price."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lessor.domain import billing, capping, storage
from lessor.domain.billing import Span, Storage
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from tests.builders import ASKED, LAUNCHED, READY, usd
from tests.unit.capped import DAY, HOUR, after, at, capped


def test_shares_are_computed_from_what_runs() -> None:
    lease = capped("600")
    assert [capping.reached_at(lease, p, READY) for p in (50, 80, 100)] == [after(3), after(4.8), after(6)]
    assert capping.reached_at(lease, 50, after(4)) == after(4)
    assert capping.reached_at(lease, 150, READY) is None
    assert capping.reached_at(capped(None), 50, READY) is None


def test_what_has_ended_counts_and_what_rests_brings_it_no_nearer() -> None:
    resting = capped("600", spans=(Span(LAUNCHED, after(2), usd("100")),))
    assert capping.reached_at(resting, 50, after(3)) is None
    assert at(resting, after(3)) is None
    again = replace(resting, spans=billing.opened(resting.spans, after(5), usd("200")), ends_at=after(20))
    assert [capping.reached_at(again, p, after(5)) for p in (50, 100)] == [after(5.5), after(7)]


def test_disks_bring_it_nearer_also_while_the_machines_rest_and_over_the_border_of_a_month() -> None:
    """1,440 GiB at 0.50 are 1 USD an hour in November and 720/744 of that in December."""
    disks = Storage(datetime(2026, 11, 30, 12, tzinfo=UTC), None, 1_440, usd("0.50"))
    lease = capped("24", spans=(), storage=(disks,), ends_at=ASKED + 30 * DAY)
    december = datetime(2026, 12, 1, tzinfo=UTC)
    assert capping.reached_at(lease, 50, ASKED) == december
    assert capping.reached_at(lease, 100, ASKED) == december + HOUR * 12 * 31 / 30
    assert capping.reached_at(lease, 100, december) == december + HOUR * 12 * 31 / 30


def test_of_an_unknown_price_only_what_is_known_counts() -> None:
    lease = capped("600", storage=(Storage(LAUNCHED, None, 100, None),))
    assert lease.cost(after(3)) is None
    assert at(lease, READY) == (50, after(3), False)
    told = capping.spending(lease, after(3))
    assert told is not None
    assert (told.spent, told.known, told.percent) == (usd("300.00"), False, 50)
    assert "used: at least 300.00 USD" in capping.spelled(lease, after(3))


FOREVER = capped("1", ends_at=ASKED + 400 * DAY)


def exact(lease: Lease, now: datetime) -> Fraction:
    """What it has cost, worked out the slow way."""
    hours = Fraction((now - LAUNCHED) // timedelta(microseconds=1), 3_600_000_000)
    compute = Fraction(lease.spans[0].hourly.amount if lease.spans[0].hourly else 0) * hours
    return compute + storage.gib_months(lease.storage, now) * Fraction("0.08")


@given(cap=st.integers(1, 10_000), gib=st.integers(1, 100_000), hourly=st.decimals("0.0001", "500", places=4))
def test_at_the_moment_it_is_reached_it_has_been_spent_and_a_moment_before_it_has_not(
    cap: int, gib: int, hourly: Decimal
) -> None:
    price, disks = Money(hourly), Storage(LAUNCHED, None, gib, usd("0.08"))
    request = replace(FOREVER.request, cap=usd(str(cap)))
    lease = replace(FOREVER, request=request, spans=(Span(LAUNCHED, None, price),), storage=(disks,))
    when = capping.reached_at(lease, 100, LAUNCHED)
    if when is None:
        assert capping.reached_at(lease, 100, ASKED + 399 * DAY) is None
        return
    before = when - timedelta(microseconds=1)
    assert capping.reached_at(lease, 100, when) == when
    assert capping.reached_at(lease, 100, before) == when
    assert exact(lease, before) < cap <= exact(lease, when)
