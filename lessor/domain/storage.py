"""Disks: billed by the GiB for as long as they exist, whether their machine runs or is stopped (case F30).

A month is a calendar month in UTC, as the provider counts it, so that a whole one is exactly one whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from lessor.domain.billing import Storage
from lessor.domain.money import Money

Kept = tuple[Storage, ...]


def opened(kept: Kept, start: datetime, gib: int, monthly: Money | None) -> Kept:
    """`kept` with disks of `gib` GiB in all from `start` on; unchanged where there are none."""
    return (*kept, Storage(start, None, gib, monthly)) if gib > 0 else kept


def gib_months(kept: Kept, now: datetime) -> Fraction:
    """How many GiB were kept for how many months, exactly."""
    return sum((Fraction(one.gib) * months(one.start, one.end or now) for one in kept), Fraction(0))


def cost(kept: Kept, now: datetime, currency: str) -> Money | None:
    """What the disks cost so far, rounded once; `None` when the price of any part is unknown (law 1).

    `currency` is that of nothing at all; prices in more than one currency have no sum.
    """
    found = list(amounts(kept, now))
    if None in found or len({one.monthly.currency for one in kept if one.monthly}) > 1:
        return None
    known = next((one.monthly.currency for one in kept if one.monthly), currency)
    return Money.of(sum((amount for amount in found if amount is not None), Fraction(0)), known)


def monthly(kept: Iterable[Storage]) -> Money | None:
    """What those that are there cost a month in all, rounded once; `None` when that is unknown, or there are none."""
    there = [one for one in kept if one.end is None]
    prices = [one.monthly for one in there if one.monthly]
    if not there or len(prices) < len(there) or len({one.currency for one in prices}) > 1:
        return None
    exact = sum((Fraction(p.amount) * Fraction(s.gib) for p, s in zip(prices, there, strict=True)), Fraction(0))
    return Money.of(exact, prices[0].currency)


def amounts(kept: Iterable[Storage], now: datetime) -> Iterator[Fraction | None]:
    """The exact cost of each so far; `None` is unknown."""
    for one in kept:
        priced = one.monthly
        length = months(one.start, one.end or now)
        yield None if priced is None else Fraction(priced.amount) * Fraction(one.gib) * length


def months(start: datetime, end: datetime) -> Fraction:
    """The time from `start` to `end` in calendar months of UTC, of which each part counts by its own month's length."""
    return sum((Fraction(until - since, whole) for since, until, whole in _cut(start, end)), Fraction(0))


def month_end(at: datetime) -> datetime:
    """When the calendar month in UTC that `at` is in is over."""
    start = _month_start(at)
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


def month_length(at: datetime) -> timedelta:
    """How long the calendar month in UTC is that `at` is in."""
    return month_end(at) - _month_start(at)


def _cut(start: datetime, end: datetime) -> Iterator[tuple[int, int, int]]:
    """The parts of the time in each month, and the length of that month, in microseconds since `start`."""
    micro = timedelta(microseconds=1)
    since = start
    while since < end:
        until = min(month_end(since), end)
        yield (since - start) // micro, (until - start) // micro, month_length(since) // micro
        since = until


def _month_start(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
