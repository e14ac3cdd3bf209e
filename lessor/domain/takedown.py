"""How a lease comes to its proven end: lost, cancelled, deleted, looked at until nothing is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lessor.domain import billing, costing, disks, resting, storage
from lessor.domain.errors import Refused, instant
from lessor.domain.lease import (
    IN_USE,
    OPEN,
    TERMINATED,
    Change,
    Event,
    Lease,
    State,
    changed,
    minute,
    require_state,
)
from lessor.domain.money import Money
from lessor.domain.resource import COMPUTE, Condition, Kind, Resource, Sighting

HOLDS_DISKS = COMPUTE - {Kind.NAMESPACE, Kind.WORKLOAD} | {Kind.VOLUME, Kind.CLAIM}
"""Kinds that show disks of the launch to be there, running or not. A namespace is there without any."""

BILLED = frozenset({Condition.PENDING, Condition.RUNNING, Condition.UNKNOWN})

SETTLING = timedelta(minutes=10)
"""How long a fresh resource may be missing from a look before its absence means anything (case C08)."""


KEPT_LOOK = timedelta(hours=6)
"""How often it is looked whether what is kept on purpose is gone before its time."""

OVER: dict[str, object] = {
    **dict.fromkeys(("next_try", "wish", "announced", "suspended_at", "idle", "disputed", "snooze", "pause")),
    "snoozes": 0,
}
"""What no longer waits for anything once a lease is over for its owner."""


def start_deleting(lease: Lease, now: datetime, reason: str = "") -> Change:
    """From here on the resources are taken down; only a clean look closes the lease.

    Raises `Refused`: wrong-state (a lease in use ends first, so that its owner was warned), not-due (grace runs).
    """
    require_state(lease, State.ENDING, State.STOPPED)
    if lease.state is State.STOPPED and lease.stopped_at and now < lease.stopped_at + lease.terms.grace:
        raise Refused("not-due", f"{lease.id} is kept until {minute(lease.stopped_at + lease.terms.grace)}")
    why = reason or lease.ending_reason
    return deleting(lease, Event("deleting", now, "lessor", {"why": why}), now, ending_reason=why)


def deleting(lease: Lease, event: Event, now: datetime, **fields: object) -> Change:
    """`lease` in `deleting`, with nothing left over from earlier waits, retries or looks."""
    fresh: dict[str, object] = {"deleting_at": now, "clean_passes": 0, "left": (), "held": "", **OVER}
    return changed(lease, event, state=State.DELETING, **(fresh | fields))


def lost(lease: Lease, reason: str, seen_at: datetime, now: datetime, *, gone: bool = True) -> Change:
    """The provider or somebody outside took the resource away: the bill ended at `seen_at`.

    What is `gone` is cleaned up after. What was only stopped goes to grace, since its data is still there.
    """
    require_state(lease, State.ACTIVE, State.ENDING, *((State.SUSPENDED, State.STOPPED) if gone else ()))
    ended_at = min(instant("seen_at", seen_at), now)
    event = Event("interrupted", now, "lessor", {"reason": reason, "at": ended_at.isoformat()})
    fields = {"ending_reason": f"interrupted: {reason}", "spans": billing.ended(lease.spans, ended_at)}
    if gone:
        return deleting(lease, event, now, **fields)
    return changed(lease, event, state=State.STOPPED, stopped_at=now, **(OVER | fields))


def observed(lease: Lease, sighting: Sighting, reason: str, seen_at: datetime, now: datetime) -> Change:
    """Judge a second look at a lease that was reported gone, stopped, or running though it rests (law 2).

    Nothing changes unless the look showed all that there is of its kinds, and none of the lease's compute can still be
    running. A lease with some of several machines left goes on: its owner decides. One that rests is stopped by
    intention.
    """
    known = [r for r in lease.resources if r.kind in COMPUTE]
    if lease.state not in (*IN_USE, State.STOPPED) or not known or not sighting.knows(*(r.kind for r in known)):
        return Change(lease, ())
    seen = {r.ref: r for r in sighting.resources}
    settled = lease.ready_at is not None and now - lease.ready_at >= SETTLING
    absent = Condition.GONE if settled else Condition.UNKNOWN
    conditions = {seen[r.ref].condition if r.ref in seen else absent for r in known}
    if conditions <= {Condition.GONE, Condition.DELETING}:
        return lost(lease, reason, seen_at, now)
    if resting.rests_since(lease) and Condition.RUNNING in conditions:
        return resting.found_running(lease, seen_at, now)
    if lease.state is State.ACTIVE and conditions <= {Condition.GONE, Condition.DELETING, Condition.STOPPED}:
        return lost(lease, reason, seen_at, now, gone=False)
    return Change(lease, ())


def cancel(lease: Lease, by: str, now: datetime, reason: str = "") -> Change:
    """An operator's order to end the lease, in any state that is not final; what may exist is taken down first.

    While it is already taken down only the order is put on record: nothing cuts a clean-up short.
    """
    require_state(lease, *(s for s in State if s in OPEN))
    event = Event("cancelled", now, by, {"reason": reason, "state": lease.state.value})
    why = f"cancelled by {by}" + (f": {reason}" if reason else "")
    if lease.untouched:
        decided = {"decided_by": by, "decided_at": now, "decided_reason": why}
        fields = {"ending_reason": why, "cancelled_by": by, "closed_at": now, **decided}
        return changed(lease, event, state=State.WITHDRAWN, **fields)
    if lease.state in (State.DELETING, State.BLOCKED):
        return changed(lease, event)
    outcome = State.CLOSED if lease.ready_at else State.WITHDRAWN
    return deleting(lease, event, now, ending_reason=why, cancelled_by=by, outcome=outcome)


def resumed(lease: Lease, why: str, now: datetime) -> Change:
    """Go on with a lease whose workflow has ended: take down what may exist of it, or close it if nothing can.

    An open lease ends as `terminated: why`. A final one, of which something was found, is deleted once more.
    """
    if lease.final:
        found = Event("left-over-found", now, "lessor", {"why": why, "state": lease.state.value})
        return deleting(lease, found, now, outcome=lease.state, closed_at=None, proof="")
    reason = f"{TERMINATED}: {why}"
    event = Event("terminated", now, "lessor", {"why": why, "state": lease.state.value})
    if lease.untouched:
        return changed(lease, event, state=State.CLOSED, ending_reason=reason, closed_at=now)
    outcome = lease.outcome if lease.state in (State.DELETING, State.BLOCKED) else State.CLOSED
    return deleting(lease, event, now, ending_reason=reason, outcome=outcome)


def launched_late(
    lease: Lease,
    resources: tuple[Resource, ...],
    launched_at: datetime,
    hourly: Money | None,
    now: datetime,
    *,
    disk_gib: int = 0,
    disk_monthly: Money | None = None,
) -> Change:
    """It came into being although the lease had been taken back or failed: it is billed and looked for until gone."""
    require_state(lease, State.DELETING, State.BLOCKED)
    event = Event("launched-late", now, "lessor", {"resources": ", ".join(r.ref for r in resources)})
    since = instant("launched_at", launched_at)
    billed = {
        "spans": billing.opened(lease.spans, since, hourly),
        "storage": storage.opened(lease.storage, since, disk_gib, disk_monthly),
    }
    return changed(lease, event, resources=(*lease.resources, *resources), clean_passes=0, next_try=None, **billed)


def looked(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    """One look for left-overs. Enough clean looks in a row close the lease; too long without one blocks it.

    The compute bill ends when a complete look shows that nothing is running, that of the disks when it shows that
    neither they nor their machines are there any more, whatever else is still left. What is only kept on purpose for
    a time blocks nothing before that: people are told of it once, and it is waited for (case D08).
    """
    require_state(lease, State.DELETING, State.BLOCKED)
    seen = disks.judged(lease, sighting, now)
    change = _looked(_billed(seen.lease, sighting, now), sighting, now)
    return Change(change.lease, (*seen.events, *change.events))


def _looked(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    left = tuple(r.ref for r in sighting.left if not _kept(lease, r))
    left += (f"and {sighting.unnamed} more",) if sighting.unnamed else ()
    if sighting.complete and not left:
        return _clean_look(lease, sighting, now)
    left = left or (f"unknown: {sighting.problem}",)
    if sighting.complete and not sighting.foreign and sighting.kept_until is not None and now < sighting.kept_until:
        return _kept_for_now(lease, sighting, left, sighting.kept_until, now)
    late = lease.deleting_at is not None and now - lease.deleting_at >= lease.terms.cleanup_limit
    pause = lease.terms.blocked_retry if late else lease.terms.verify_interval
    fields: dict[str, object] = {"clean_passes": 0, "left": left, "next_try": now + pause}
    if late and lease.state is not State.BLOCKED:
        event = Event("blocked", now, "lessor", {"left": ", ".join(left), "problem": sighting.problem})
        return changed(lease, event, state=State.BLOCKED, problem=sighting.problem, held="", **fields)
    if sighting.complete and sighting.problem and lease.state is State.DELETING:
        return _held_up(lease, sighting.problem, fields, now)
    return Change(replace(lease, **fields), ())  # type: ignore[arg-type]


def _held_up(lease: Lease, problem: str, fields: dict[str, object], now: datetime) -> Change:
    """Something keeps it from going that more tries alone will not mend: its owner hears of it, once, and at once."""
    found = replace(lease, held=problem, **fields)  # type: ignore[arg-type]
    if lease.held:
        return Change(found, ())
    return changed(found, Event("held-up", now, "lessor", {"left": ", ".join(found.left), "problem": problem}))


def _kept_for_now(lease: Lease, sighting: Sighting, left: tuple[str, ...], until: datetime, now: datetime) -> Change:
    fields: dict[str, object] = {"clean_passes": 0, "left": left, "next_try": min(until, now + KEPT_LOOK)}
    if lease.state is State.DELETING and lease.left == left:
        return Change(replace(lease, **fields), ())  # type: ignore[arg-type]
    data = {"left": ", ".join(left), "until": until.isoformat(), "what": sighting.problem}
    event = Event("kept", now, "lessor", data)
    return changed(lease, event, state=State.DELETING, problem=sighting.problem, **fields)


def _billed(lease: Lease, sighting: Sighting, now: datetime) -> Lease:
    """The lease without what a look shows to cost nothing any more; an incomplete one shows nothing (law 1).

    Others' things that carry its mark are not on its bill.
    """
    ours = [r for r in sighting.left if r.ref not in sighting.foreign]
    if sighting.knows(*COMPUTE) and not any(r.kind in COMPUTE and r.condition in BILLED for r in ours):
        lease = replace(lease, spans=billing.ended(lease.spans, now))
    known = sighting.knows(*HOLDS_DISKS) and not sighting.unnamed
    if known and not any(r.kind in HOLDS_DISKS and r.disk is None for r in ours):
        lease = replace(lease, storage=_launched_ended(lease.storage, now))
    return lease


def _launched_ended(kept: storage.Kept, now: datetime) -> storage.Kept:
    """Those of the launch ended; what people added ends when it is seen gone itself."""
    return tuple(billing.ended((one,), now)[0] if not one.disk else one for one in kept)


def _clean_look(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    passes = lease.clean_passes + 1
    if passes < lease.terms.verify_passes:
        waiting = replace(lease, clean_passes=passes, left=(), next_try=now + lease.terms.verify_interval)
        return Change(waiting, ())
    everything = {r.ref: r for r in (*lease.resources, *sighting.resources)}
    seen = {r.ref for r in sighting.resources}
    ends = [f"{ref} {'gone' if ref in seen else 'absent'}" for ref, r in everything.items() if not _kept(lease, r)]
    proof = f"{passes} clean looks, the last at {sighting.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: "
    proof += ", ".join(ends) or "nothing carries the lease's tag"
    kept = ", ".join(r.id for r in everything.values() if _kept(lease, r))
    what = {"proof": proof, "kept": kept, "reason": lease.ending_reason}
    return changed(
        lease,
        Event(lease.outcome.value, now, "lessor", {**what, **_cost(lease, now)}),
        state=lease.outcome,
        resources=tuple(r if _kept(lease, r) else replace(r, condition=Condition.GONE) for r in lease.resources),
        proof=proof,
        closed_at=now,
        left=(),
        held="",
        next_try=None,
    )


def _cost(lease: Lease, now: datetime) -> dict[str, str]:
    """What a lease has cost in all, line by line, for the record; nothing for one that never cost anything."""
    if not lease.spans and not lease.storage:
        return {}
    lines = {
        "cost": lease.cost(now),
        "compute": costing.compute_cost(lease, now),
        "storage": costing.storage_cost(lease, now),
    }
    return {name: str(amount) if amount else "unknown" for name, amount in lines.items()}


def _kept(lease: Lease, resource: Resource) -> bool:
    """A snapshot that the requester asked for stays by intention; any other one is a left-over."""
    return resource.kind is Kind.SNAPSHOT and lease.request.snapshot and resource.condition is not Condition.GONE
