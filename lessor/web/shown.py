"""What templates show of leases and of the meter: lengths and sums in words, unknown always said (law 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lessor.contracts import SourceReport
from lessor.domain import ends
from lessor.domain.lease import Lease
from lessor.domain.request import spell
from lessor.gauging import MeterStatus
from lessor.ports import LeaseQuery

LATE = 3
"""So many ticks without an answer are silence that people should look at."""


@dataclass(frozen=True)
class Source:
    """One source of telemetry: its last good tick, how long ago that is, and what is wrong with it."""

    name: str
    good: bool
    last_good: datetime | None
    age: str
    series: int
    note: str


@dataclass(frozen=True)
class Row:
    """One lease in a list; `idle` says what it is seen doing where that is nothing."""

    lease: Lease
    owner: str
    what: str
    ends: datetime | None
    left: str
    cost: str
    idle: str


def sources(status: MeterStatus, now: datetime) -> tuple[Source, ...]:
    """Every source of the latest tick; one that is silent, or as old as a meter that stands still, is not good."""
    report = status.report
    if report is None:
        return ()
    stale = status.every is None or now - report.at > LATE * status.every
    return tuple(_source(one, now, stale=stale) for one in report.sources)


def age(at: datetime | None, now: datetime) -> str:
    """How long ago something was; empty where nobody knows."""
    if at is None:
        return ""
    past = now - at
    return "now" if past < timedelta(seconds=1) else f"{spell(past)} ago"


def one_more(query: LeaseQuery, limit: int) -> LeaseQuery:
    """The same with room for one lease more, which tells whether there is another page."""
    return replace(query, limit=limit + 1)


def row(lease: Lease, owner: str, now: datetime) -> Row:
    """What a list shows of a lease."""
    cost = lease.cost(now)
    at = lease.closed_at if lease.final else ends.over(lease) or ends.ahead(lease)
    return Row(lease, owner, what(lease), at, _left(lease, at, now), str(cost) if cost else "unknown", _idle(lease))


def what(lease: Lease) -> str:
    """`8 x A100-80GB`, or what was asked for while that is not known."""
    return f"{lease.gpus} x {lease.model}" if lease.model else str(lease.request.need)


def _left(lease: Lease, ends: datetime | None, now: datetime) -> str:
    if lease.final or ends is None:
        return ""
    return f"in {spell(ends - now)}" if ends > now else f"{spell(now - ends)} ago"


def _idle(lease: Lease) -> str:
    if lease.pause:
        return f"stopped: {lease.pause.why.value}"
    return lease.idle.evidence.verdict.value if lease.idle else ""


def _source(one: SourceReport, now: datetime, *, stale: bool) -> Source:
    good = one.ok and not stale
    note = "; ".join(_notes(one)) if one.ok else one.problem
    return Source(one.name, good, one.last_good, age(one.last_good, now), one.series, note)


def _notes(one: SourceReport) -> Iterator[str]:
    if one.dropped:
        yield f"{one.dropped} samples from the future were dropped"
    if one.capped:
        yield f"{one.capped} values were out of range"
    for node, share in one.unlabelled.items():
        yield f"{share:.0%} of the GPUs in use on {node} have no label that says whose they are"
