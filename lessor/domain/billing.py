"""Billed time: consecutive stretches without gap, overlap or negative length, costed exactly and rounded once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from lessor.domain.money import Money


@dataclass(frozen=True)
class Span:
    """A stretch of billed time at one rate; `end` is `None` while it runs, `hourly` is `None` when unknown."""

    start: datetime
    end: datetime | None
    hourly: Money | None

    def elapsed(self, now: datetime) -> timedelta:
        """Its length up to `now`; never negative, since a provider's clock may be ahead of ours."""
        return max((self.end or now) - self.start, timedelta())


@dataclass(frozen=True)
class Storage:
    """A stretch in which `gib` GiB of disk were kept; `end` is `None` while they are.

    `monthly` is the price of a GiB for a calendar month in UTC, `None` when it is unknown. `disk` is the ref of a disk
    that somebody added later, and `name` what people call it; both are empty for those of the launch. The size of a
    disk that nobody knows is 0 at an unknown price.
    """

    start: datetime
    end: datetime | None
    gib: int | Decimal
    monthly: Money | None
    disk: str = ""
    name: str = ""


Spans = tuple[Span, ...]
Billed = TypeVar("Billed", Span, Storage)


def opened(spans: Spans, start: datetime, hourly: Money | None) -> Spans:
    """`spans` with a new one running from `start`, or from the end of the last one if that is later."""
    closed = ended(spans, start)
    latest = max((s.end for s in closed if s.end), default=start)
    return (*closed, Span(max(start, latest), None, hourly))


def ended(billed: tuple[Billed, ...], at: datetime) -> tuple[Billed, ...]:
    """`billed` with what still goes on ended at `at`, never before its own start; ended ones are never moved."""
    return tuple(replace(one, end=max(at, one.start)) if one.end is None else one for one in billed)


def elapsed(spans: Spans, now: datetime) -> timedelta:
    return sum((s.elapsed(now) for s in spans), timedelta())


def cost(spans: Spans, now: datetime, currency: str) -> Money | None:
    """The cost of all spans, rounded once; `None` when the price of any part is unknown (law 1).

    Time is added up by rate before it is priced, so that cutting a span in two never changes the sum.
    `currency` is that of nothing at all.
    """
    rates: dict[Money, timedelta] = {}
    for span in spans:
        if span.hourly is None:
            return None
        rates[span.hourly] = rates.get(span.hourly, timedelta()) + span.elapsed(now)
    parts = [rate.for_time(length) for rate, length in rates.items()] or [Money(Decimal(0), currency)]
    return sum(parts[1:], parts[0]).rounded()
