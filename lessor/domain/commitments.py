"""What a lease takes of each month: what it has used so far, and what is planned until its end.

Months are written out as instants by whoever calls, since their borders depend on a time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from lessor.domain import storage
from lessor.domain.budget import HOUR, MILLIONTHS, Commitment, micros
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.request import Market
from lessor.domain.worktime import next_close, next_open

PLANNED = frozenset({State.APPROVED, State.PROVISIONING, State.WAITING_FOR_CAPACITY})
RUNNING = frozenset({State.ACTIVE, State.SUSPENDED})

TAKES_MORE = frozenset(
    {"approved", "extended", "extension-granted", "transferred", "restored", "exempted", "start-asked"}
)
"""Events after which a lease may take more of a budget than before: then it is looked whether people are to be told."""


@dataclass(frozen=True)
class Month:
    """A calendar month of the organisation, from `start` up to and without `end`; `key` is such as `2026-11`."""

    key: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Stretch:
    """A time on the bill, or planned to be; `price` is `None` when unknown.

    It is that of an hour of the machines, or with `gib` that of a GiB of disk for a calendar month in UTC.
    """

    start: datetime
    end: datetime
    price: Money | None
    ahead: bool = False
    gib: int | Decimal | None = None

    @property
    def amount(self) -> Fraction:
        """What it costs, exactly, at a price that is known."""
        rate = Fraction(self.price.amount) if self.price else Fraction(0)
        if self.gib is not None:
            return rate * Fraction(self.gib) * storage.months(self.start, self.end)
        return rate * Fraction(micros(self.end - self.start), HOUR)


def stretches(lease: Lease, now: datetime) -> tuple[Stretch, ...]:
    """What is billed up to `now`, then what is planned until the end, both oldest first.

    A lease that nobody has approved yet is planned as if it was approved now. Disks are planned for as long as they are
    there for sure: from when they exist to the end, then to the end of the grace.
    """
    used = (Stretch(s.start, max(s.end or now, s.start), s.hourly) for s in lease.spans)
    rate = _planned_rate(lease)
    kept = (Stretch(s.start, max(s.end or now, s.start), s.monthly, gib=s.gib) for s in lease.storage)
    until = _kept_until(lease) or now
    stay = [s for s in lease.storage if s.end is None and max(s.start, now) < until]
    return (
        *used,
        *kept,
        *(Stretch(start, end, rate, ahead=True) for start, end in _planned(lease, now)),
        *(Stretch(max(s.start, now), until, s.monthly, ahead=True, gib=s.gib) for s in stay),
    )


def commitments(
    lease: Lease, found: Iterable[Stretch], months: Iterable[Month], currency: str
) -> tuple[Commitment, ...]:
    """What `lease` takes of each of `months` that it touches, in their order, for its `stretches`.

    Money is rounded to the millionth by its running sum, so that months add up to the whole. It is unknown in a month
    where any rate is unknown or in another currency.
    """
    parts = list(found)
    sums = _Sums(lease.gpus, currency)
    made = [sums.month(month, [p for p in parts if p.start < month.end and p.end > month.start]) for month in months]
    running = lease.state in RUNNING or any(s.end is None for s in lease.storage)
    return tuple(replace(one, running=running) for one in made if one.time or one.money != 0)


class _Sums:
    """Adds up months one after the other, and rounds money by the running sum of all of them."""

    def __init__(self, gpus: int, currency: str) -> None:
        self._gpus = gpus
        self._currency = currency
        self._exact = Fraction(0)
        self._rounded = 0

    def month(self, month: Month, parts: list[Stretch]) -> Commitment:
        inside = [replace(p, start=max(p.start, month.start), end=min(p.end, month.end)) for p in parts]
        inside = [p for p in inside if p.start < p.end]
        ahead = [p for p in inside if p.ahead]
        spent_time, spent = self._add([p for p in inside if not p.ahead])
        ahead_time, planned = self._add(ahead)
        return Commitment(
            month.key,
            spent_time + ahead_time,
            None if spent is None or planned is None else spent + planned,
            ahead_time,
            planned,
            min((p.start for p in ahead), default=None),
            max((p.end for p in ahead), default=None),
        )

    def _add(self, parts: list[Stretch]) -> tuple[int, int | None]:
        """GPU time, and money where it is known."""
        length = sum((micros(p.end - p.start) for p in parts if p.gib is None), 0)
        if any(p.price is None or p.price.currency != self._currency for p in parts):
            return length * self._gpus, None
        self._exact += sum((part.amount for part in parts), Fraction(0)) * MILLIONTHS
        before, self._rounded = self._rounded, round(self._exact)
        return length * self._gpus, self._rounded - before


def _planned(lease: Lease, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The times in which it is to run from `now` on; none for one that was stopped until somebody starts it."""
    if lease.pause is not None:
        return
    start, end = now, lease.ends_at
    if not (lease.restoring or lease.state in RUNNING):
        if lease.state not in PLANNED and lease.state not in (State.REQUESTED, State.AWAITING_APPROVAL):
            return
        start = max(now, lease.request.start or now)
        end = lease.request.until or start + (lease.request.duration or timedelta())
    if end is None or end <= start:
        return
    if lease.schedule is None or not lease.stoppable:
        yield start, end
        return
    if lease.exemption is not None and lease.exemption.until > start:
        free = min(lease.exemption.until, end)
        yield start, free
        start = free
    while start < end and (opens := next_open(lease.schedule, start)) < end:
        closes = next_close(lease.schedule, opens)
        start = end if closes is None else min(closes, end)
        yield opens, start


def _kept_until(lease: Lease) -> datetime | None:
    """Until when its disks are there for sure, as far as that is known."""
    if lease.restoring or lease.state in RUNNING:
        return lease.ends_at
    return lease.stopped_at + lease.terms.grace if lease.state is State.STOPPED and lease.stopped_at else None


def _planned_rate(lease: Lease) -> Money | None:
    """Spot prices move, so that what is planned on the spot market is counted at the on-demand price (case F34)."""
    if lease.quote is None:
        return None
    if lease.quote.offer.market is Market.SPOT:
        return lease.quote.judged_hourly
    return lease.spans[-1].hourly if lease.spans else lease.quote.offer.hourly
