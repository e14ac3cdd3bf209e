"""Billed time: no gap, no overlap, no cent too many, however it is cut."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain import billing
from lessor.domain.billing import Span
from lessor.domain.lease import State
from lessor.domain.money import Money
from tests.builders import READY, a_lease, a_quote, usd

HOUR = timedelta(hours=1)


def test_a_running_span_grows_and_an_ended_one_does_not() -> None:
    running = Span(READY, None, usd("2"))
    assert running.elapsed(READY + HOUR) == HOUR
    assert running.elapsed(READY - HOUR) == timedelta()
    (ended,) = billing.ended((running,), READY + HOUR)
    assert ended.elapsed(READY + 10 * HOUR) == HOUR
    assert billing.ended((ended,), READY + 5 * HOUR) == (ended,)


def test_a_span_never_ends_before_it_began() -> None:
    assert billing.ended((Span(READY, None, None),), READY - HOUR) == (Span(READY, READY, None),)


def test_a_new_span_never_overlaps_the_last_one() -> None:
    first = Span(READY, READY + 2 * HOUR, usd("1"))
    assert billing.opened((first,), READY + HOUR, usd("3"))[1].start == READY + 2 * HOUR
    assert billing.opened((first,), READY + 3 * HOUR, usd("3"))[1].start == READY + 3 * HOUR
    second = Span(READY + 2 * HOUR, READY + 5 * HOUR, usd("1"))
    assert billing.opened((first, second), READY + 4 * HOUR, usd("3"))[2].start == READY + 5 * HOUR


def test_a_new_span_ends_the_one_that_runs() -> None:
    spans = billing.opened((Span(READY, None, usd("1")),), READY + HOUR, usd("3"))
    assert spans == (Span(READY, READY + HOUR, usd("1")), Span(READY + HOUR, None, usd("3")))
    assert billing.cost(spans, READY + 3 * HOUR, "USD") == usd("7.00")


def test_nothing_costs_nothing_and_unknown_is_not_nothing() -> None:
    assert billing.cost((), READY, "EUR") == Money(Decimal("0.00"), "EUR")
    known, unknown = Span(READY, READY + HOUR, usd("1")), Span(READY + HOUR, None, None)
    assert billing.cost((known, unknown), READY + 2 * HOUR, "USD") is None
    assert billing.elapsed((known, unknown), READY + 3 * HOUR) == 3 * HOUR


def test_parts_are_added_before_they_are_rounded() -> None:
    """Three times ten minutes at 0.01 are half a cent: rounded each they would be nothing, priced each a whole one."""
    starts = [READY + n * HOUR for n in range(3)]
    spans = tuple(Span(s, s + timedelta(minutes=10), usd("0.01")) for s in starts)
    assert billing.cost(spans, READY + 9 * HOUR, "USD") == usd("0.00")
    more = (*spans, Span(READY + 5 * HOUR, READY + 5 * HOUR + timedelta(microseconds=1), usd("0.01")))
    assert billing.cost(more, READY + 9 * HOUR, "USD") == usd("0.01")


@given(st.lists(st.integers(1, 10**11), min_size=1, max_size=12), st.decimals("0", "400", places=4))
def test_cutting_a_span_changes_neither_time_nor_cost(lengths: list[int], rate: Decimal) -> None:
    whole = (Span(READY, READY + timedelta(microseconds=sum(lengths)), Money(rate)),)
    parts: billing.Spans = ()
    at = READY
    for length in lengths:
        parts = billing.opened(parts, at, Money(rate))
        at += timedelta(microseconds=length)
    parts = billing.ended(parts, at)
    assert billing.elapsed(parts, at) == billing.elapsed(whole, at)
    assert billing.cost(parts, at, "USD") == billing.cost(whole, at, "USD")


@pytest.mark.parametrize(("hours", "cost"), [(0, "0.00"), (1, "98.32"), (8, "786.56")])
def test_a_lease_costs_its_billed_time_from_launch(hours: int, cost: str) -> None:
    lease = a_lease()
    launched = lease.spans[0].start
    assert lease.cost(launched + hours * HOUR) == usd(cost)
    assert lease.hours(launched + hours * HOUR) == hours * HOUR


def test_what_was_never_launched_costs_nothing_in_the_currency_of_its_quote() -> None:
    euro = Money(Decimal("3.50"), "EUR")
    assert a_lease(State.APPROVED, quote=a_quote(euro)).cost(READY) == Money(Decimal("0.00"), "EUR")
    assert a_lease(State.APPROVED, quote=a_quote(None)).cost(READY) == usd("0.00")
    assert a_lease(State.REQUESTED).cost(READY) == usd("0.00")


def test_different_currencies_are_never_added() -> None:
    spans = (Span(READY, READY + HOUR, usd("1")), Span(READY + HOUR, READY + 2 * HOUR, Money(Decimal(1), "EUR")))
    with pytest.raises(ValueError, match="cannot combine USD with EUR"):
        billing.cost(spans, READY + 3 * HOUR, "USD")
