"""Compares what a place shows with what the ledger says, so that no lease outlives what it stands for or is forgotten.

Only a complete reading may be compared: what was not read is unknown, and unknown changes nothing (law 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lessor.domain import disks
from lessor.domain.lease import IN_USE, Lease, State
from lessor.domain.resource import COMPUTE, Condition, Kind, Resource, Tagged
from lessor.domain.resting import rests_since
from lessor.domain.takedown import SETTLING

EVERY = timedelta(minutes=5)
"""How often every place is read, unless the organisation says otherwise."""

SOONEST, LATEST = timedelta(seconds=10), timedelta(hours=1)
"""What an organisation may say: more often would throttle the provider, less often would find things too late."""

READINGS = 3
"""Complete readings in a row that must miss a machine before its absence is believed (case C08)."""

UNREAD = 3
"""Incomplete readings in a row after which administrators are paged: the place is not watched any more (law 5)."""

BRAKE_SHARE = 0.5
BRAKE_LEAST = 5
"""More than this share of at least so many leases at once looks like our own mistake, not like theirs (law 5)."""

LOOKS = (*IN_USE, State.STOPPED)
"""States in which a lease looks for itself when it is told; one that is taken down looks again and again anyway."""

GONE = frozenset({Condition.GONE, Condition.DELETING})
AWAY = GONE | {Condition.STOPPED}


@dataclass(frozen=True)
class Away:
    """A lease whose machines are not as they should be: the one that changed last, its condition, why, since when."""

    lease_id: str
    resource: str
    condition: Condition
    reason: str
    at: datetime


@dataclass(frozen=True)
class Comparison:
    """`missing` counts, by machine, readings in a row that did not show it; `brake` says why absences are ignored.

    `awake` are leases whose machines were stopped by intention and run.
    """

    away: tuple[Away, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    brake: str = ""
    awake: tuple[Away, ...] = ()


def compare(leases: Iterable[Lease], found: Sequence[Tagged], missing: Mapping[str, int], at: datetime) -> Comparison:
    """Judge one complete reading of a place, begun at `at`, against the ledger's leases of that place.

    `missing` is what the reading before it counted. Leases that neither run nor rest are not judged.
    """
    shown: dict[str, dict[str, Tagged]] = {}
    for one in found:
        shown.setdefault(one.lease, {})[one.ref] = one
    steady = [lease for lease in leases if lease.state is State.ACTIVE or rests_since(lease)]
    judged = [_judged(lease, shown.get(lease.id, {}), missing, at) for lease in steady]
    counts = {ref: count for _, absent in judged for ref, count in absent.items()}
    away = [(one, bool(absent)) for one, absent in judged if one is not None]
    unseen = [one for one, absent in away if absent]
    brake = braked(len(unseen), len(judged), "are not shown at all any more")
    awake = tuple(up for lease in steady if (up := _awake(lease, shown.get(lease.id, {}), at)))
    return Comparison(tuple(one for one, absent in away if not (brake and absent)), counts, brake, awake)


def left_over(
    lease: Lease, found: Iterable[Tagged], known: Iterable[Resource], tokens: Collection[str], at: datetime
) -> tuple[Tagged, ...]:
    """What still exists of a lease that is on record as over, and is ours by tag *and* by record (law 3).

    `known` are the resources on record, `tokens` those of its intents. What was over only a moment ago is given time.
    """
    if not lease.final or lease.closed_at is None or at - lease.closed_at < SETTLING:
        return ()
    recorded = {one.ref for one in known}
    tokens = {token for token in tokens if token}
    gone = (Condition.GONE, Condition.DELETING, Condition.UNKNOWN)
    ours = (one for one in found if one.lease == lease.id and (one.ref in recorded or one.token in tokens))
    return tuple(one for one in ours if one.condition not in gone)


def unbilled(leases: Iterable[Lease], found: Iterable[Tagged], at: datetime) -> tuple[Away, ...]:
    """Leases whose added disks are seen otherwise than on their bill: they look for themselves (law 2)."""
    shown: dict[str, list[Tagged]] = {}
    for one in found:
        shown.setdefault(one.lease, []).append(one)
    news = []
    for lease in leases:
        seen = shown.get(lease.id, [])
        if any(one.unread and one.kind is Kind.VOLUME for one in seen):
            continue
        if lease.state in LOOKS and disks.bill(lease, seen, at) != lease.storage:
            news.append(Away(lease.id, lease.id, Condition.UNKNOWN, "its disks are not as they are billed", at))
    return tuple(news)


def unread(found: Iterable[Tagged]) -> str:
    """Why kinds of things could not be read at all, each reason once."""
    return "; ".join(dict.fromkeys(one.reason for one in found if one.unread))


def ripe(lease: Lease, now: datetime) -> bool:
    """Whether an open lease is old enough for the absence of its workflow to mean anything (case B23)."""
    return not lease.final and now - lease.requested_at >= SETTLING


def braked(part: int, whole: int, what: str) -> str:
    """Why nothing should be done about `part` of `whole` leases at once; empty when it may be."""
    if part < BRAKE_LEAST or part <= whole * BRAKE_SHARE:
        return ""
    return f"{part} of {whole} leases {what}; nothing was done about them, an administrator has to look at this"


def _judged(
    lease: Lease, shown: Mapping[str, Tagged], missing: Mapping[str, int], at: datetime
) -> tuple[Away | None, dict[str, int]]:
    """Whether the lease is away, and how often each of its machines that is not shown has been missed by now."""
    machines = [one for one in lease.resources if one.kind in COMPUTE]
    absent = {one.ref: missing.get(one.ref, 0) + 1 for one in machines if one.ref not in shown}
    states = [shown.get(one.ref) or _unseen(lease, one, absent[one.ref], at) for one in machines]
    away = GONE if rests_since(lease) else AWAY
    if not states or any(one.condition not in away for one in states):
        return None, absent
    last = max(states, key=lambda one: one.changed_at or at)
    return Away(lease.id, last.id, last.condition, last.reason, min(last.changed_at or at, at)), absent


def _awake(lease: Lease, shown: Mapping[str, Tagged], at: datetime) -> Away | None:
    """The machine of a resting lease that runs, and since when, unless that was before it was stopped."""
    since = rests_since(lease)
    if since is None:
        return None
    known = (shown[one.ref] for one in lease.resources if one.kind in COMPUTE and one.ref in shown)
    running = [one for one in known if one.condition is Condition.RUNNING and (one.changed_at or at) > since]
    if not running:
        return None
    first = min(running, key=lambda one: one.changed_at or at)
    return Away(lease.id, first.id, first.condition, first.reason, min(first.changed_at or at, at))


def _unseen(lease: Lease, machine: Resource, readings: int, at: datetime) -> Tagged:
    since = machine.created_at or lease.ready_at
    believed = readings >= READINGS and since is not None and at - since >= SETTLING
    condition = Condition.GONE if believed else Condition.UNKNOWN
    why = f"not shown by {lease.request.place.provider} in {readings} readings in a row"
    return Tagged(machine.kind, machine.id, condition, reason=why)
