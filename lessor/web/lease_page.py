"""What the page of one lease shows: facts, money with GiB-months, what it does with the evidence, and its history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from lessor.domain import capping, disks, ends, rungs, unheld
from lessor.domain.costing import added_cost, compute_cost, idle_cost, storage_cost
from lessor.domain.idle import IdleTerms, Standing
from lessor.domain.judging import evidence
from lessor.domain.lease import Lease
from lessor.domain.records import StoredEvent
from lessor.domain.resting import rests_since
from lessor.domain.storage import Kept, cost, gib_months
from lessor.signals import Signal, signals
from lessor.web.charting import shown_of
from lessor.web.desk import Desk
from lessor.web.shown import what
from lessor.when import local

TEXT_MOST = 400
DISKS_MOST = 20


@dataclass(frozen=True)
class Line:
    """One line of a bill: of what, how much of it, and what that costs; an empty cost is unknown."""

    name: str
    amount: str
    cost: str


@dataclass(frozen=True)
class Step:
    """One thing that happened; `data` is what was put on record with it."""

    at: datetime
    type: str
    actor: str
    data: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Doing:
    """What a lease was found doing: the verdict, the figures that it rests on, and what follows.

    `rests` is since when it is stopped, so that all of it is from before. `pods` says what they hold of promised GPUs.
    """

    standing: Standing
    signals: tuple[Signal, ...]
    covered: str
    follows: str
    cost: str
    rests: datetime | None
    pods: str = ""


async def values(desk: Desk, lease_id: str) -> dict[str, Any]:
    """Everything for the template. Raises `Refused` ("not-found")."""
    meter, now, zone = desk.gateway.meter, desk.clock(), desk.scene().zone
    lease = await desk.gateway.lease(lease_id)
    events = await desk.gateway.events(lease.id)
    standing, terms = await meter.standing(lease.id), meter.terms(lease)
    status = await meter.status()
    chart = await shown_of(meter, lease, zone, now)
    doing = _doing(lease, standing, terms, status.every, now, zone) if standing and terms and status.every else None
    return {
        "lease": lease,
        "what": what(lease),
        "names": await desk.names(_people(lease, events)),
        "bill": bill(lease, now),
        "added": added(lease, now),
        "cap": capping.spelled(lease, now, lambda at: local(at, zone)),
        "doing": doing,
        "charted": chart is not None,
        "steps": [_step(one) for one in reversed(events)],
        "temporal": desk.workflow(lease),
        "ends": ends.ahead(lease),
        "over": ends.over(lease),
    }


def bill(lease: Lease, now: datetime) -> tuple[Line, ...]:
    """Machines by the hour, disks by the GiB and month, and the sum of both."""
    machines, total = compute_cost(lease, now), lease.cost(now)
    lines = [Line("machines", f"{_decimal(Fraction(lease.hours(now) / timedelta(hours=1)))} h", _money(machines))]
    theirs = disks.added(lease.storage)
    if theirs:
        if ours := disks.base(lease.storage):
            lines += [Line("disks that it came with", _months(ours, now), _money(cost(ours, now, lease.currency)))]
        lines += [Line("disks that people added", _months(theirs, now), _money(added_cost(lease, now)))]
    elif lease.storage:
        lines.append(Line("disks", _months(lease.storage, now), _money(storage_cost(lease, now))))
    return (*lines, Line("together", "", _money(total)))


def added(lease: Lease, now: datetime) -> tuple[str, ...]:
    """Each disk that people added and that is there; of many the first, and how many more there are."""
    there = [one for one in disks.added(lease.storage) if one.end is None]
    more = (f"and {len(there) - DISKS_MOST} more",) if len(there) > DISKS_MOST else ()
    return (*(disks.spelt(one, now) for one in there[:DISKS_MOST]), *more)


def _months(kept: Kept, now: datetime) -> str:
    return f"{_decimal(gib_months(kept, now))} GiB-months"


def _money(amount: object) -> str:
    return "" if amount is None else str(amount)


def _decimal(number: Fraction) -> str:
    """Three digits after the point: a GiB-month more or less is seen in the third."""
    return f"{float(number):,.3f}"


def _doing(lease: Lease, standing: Standing, terms: IdleTerms, every: timedelta, now: datetime, zone: str) -> Doing:
    found = evidence(standing, terms, every)
    cost = idle_cost(lease, standing.since, now) if lease.idle else None
    return Doing(
        standing,
        signals(found, terms),
        f"{found.covered:.0%}",
        _follows(lease, now, zone),
        str(cost) if cost else "",
        rests_since(lease),
        unheld.words(found, local(found.unheld_since, zone)) if found.unheld_since else "",
    )


def _follows(lease: Lease, now: datetime, zone: str) -> str:
    """What becomes of a lease that does nothing; empty of one that works."""
    if lease.pause:
        return f"stopped since {local(lease.pause.at, zone)}: {lease.pause.words}"
    if lease.idle is None:
        return ""
    if lease.disputed and lease.disputed.until > now:
        return f"not believed until {local(lease.disputed.until, zone)}: {lease.disputed.reason}"
    if lease.snooze and lease.snooze.until > now:
        return f"left alone until {local(lease.snooze.until, zone)}: {lease.snooze.reason}"
    against, stops = rungs.barred(lease, now), rungs.stops_at(lease, now)
    if against:
        return f"it is not stopped: {against}"
    return f"it is stopped {local(stops, zone)} unless it works before" if stops else "nothing is stopped now"


def _people(lease: Lease, events: Sequence[StoredEvent]) -> Iterator[str]:
    yield from (lease.owner, lease.decided_by, *(one.id for one in lease.co_owners), *lease.former_owners)
    yield from (one.event.actor for one in events)


def _step(stored: StoredEvent) -> Step:
    event = stored.event
    data = tuple((name.replace("_", " "), value[:TEXT_MOST]) for name, value in event.data.items() if value)
    return Step(event.at, event.type.replace("-", " "), event.actor, data)
