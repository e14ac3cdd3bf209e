"""What may happen to a lease from approval to proven deletion."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain.errors import Refused, aware
from lessor.domain.lease import Capacity, Change, Event, Lease, Span, State, Warned, changed, require_state
from lessor.domain.money import Money
from lessor.domain.request import spell
from lessor.domain.resource import Kind, Resource, Sighting


def start_provisioning(lease: Lease, now: datetime) -> Change:
    """From here on something may exist: whoever calls this has registered the undo."""
    require_state(lease, State.APPROVED, State.WAITING_FOR_CAPACITY)
    tries = str(lease.capacity.tries + 1 if lease.capacity else 1)
    return changed(lease, Event("provisioning", now, "lessor", {"try": tries}), state=State.PROVISIONING)


def wait_for_capacity(lease: Lease, tried: tuple[str, ...], now: datetime) -> Change:
    """No capacity anywhere: wait and try again, or fail once all the waits of the terms are used up."""
    require_state(lease, State.PROVISIONING)
    before = lease.capacity
    tries = (before.tries if before else 0) + 1
    if tries > len(lease.terms.capacity_waits):
        return fail(lease, f"no capacity after {tries} tries; tried {', '.join(tried)}", now)
    next_try = now + lease.terms.capacity_waits[tries - 1]
    capacity = Capacity(tries, tried, next_try, before.first_try if before else now)
    event = Event("no-capacity", now, "lessor", {"tried": ", ".join(tried), "next_try": next_try.isoformat()})
    return changed(lease, event, state=State.WAITING_FOR_CAPACITY, capacity=capacity)


def fail(lease: Lease, problem: str, now: datetime) -> Change:
    """It cannot be provisioned; what may exist is undone before it is `failed`. The requester reads `problem`."""
    require_state(lease, State.APPROVED, State.PROVISIONING, State.WAITING_FOR_CAPACITY)
    if lease.state is State.PROVISIONING:
        event = Event("provisioning-failed", now, "lessor", {"problem": problem})
        fields = {"outcome": State.FAILED, "problem": problem, "ending_reason": problem, "deleting_at": now}
        return changed(lease, event, state=State.DELETING, **fields)
    event = Event("failed", now, "lessor", {"problem": problem})
    return changed(lease, event, state=State.FAILED, problem=problem, closed_at=now)


def ready(
    lease: Lease,
    resources: tuple[Resource, ...],
    access: str,
    launched_at: datetime,
    hourly: Money | None,
    now: datetime,
    *,
    stoppable: bool = True,
) -> Change:
    """Usable from now on: the clock of a duration starts here, the bill started at `launched_at`."""
    require_state(lease, State.PROVISIONING)
    ends_at = lease.request.until or now + (lease.request.duration or timedelta())
    data = {
        "resources": ", ".join(r.ref for r in resources),
        "ends": ends_at.isoformat(),
        "hourly": str(hourly or "unknown"),
    }
    return changed(
        lease,
        Event("ready", now, "lessor", data),
        state=State.ACTIVE,
        resources=resources,
        access=access,
        ready_at=now,
        ends_at=ends_at,
        spans=(*lease.spans, Span(launched_at, None, hourly)),
        stoppable=stoppable,
        capacity=None,
        warned=(),
        next_try=None,
    )


def warned(lease: Lease, before: timedelta, via: str, now: datetime) -> Change:
    """A warning was delivered; only delivered ones count."""
    require_state(lease, State.ACTIVE)
    event = Event("warned", now, "lessor", {"before": spell(before), "via": via, "ends": _iso(lease.ends_at)})
    return changed(lease, event, warned=(*lease.warned, Warned(before, now, via)), next_try=None)


def warning_undelivered(lease: Lease, problem: str, retry_at: datetime, now: datetime) -> Change:
    """Nobody could be reached: the lease lives on until somebody is (law 4)."""
    require_state(lease, State.ACTIVE)
    return changed(lease, Event("warning-undelivered", now, "lessor", {"problem": problem}), next_try=retry_at)


def extend(lease: Lease, until: datetime, by: str, reason: str, now: datetime) -> Change:
    """Move the end to a later instant, within the longest total that the terms allow. Raises `Refused`."""
    aware("until", until)
    require_state(lease, State.ACTIVE)
    last = lease.last_end
    if lease.ends_at is None or last is None:
        raise Refused("wrong-state", f"{lease.id} has no end yet")
    if until < now + lease.terms.min_duration:
        raise Refused("end-too-early", f"the new end must be at least {spell(lease.terms.min_duration)} from now")
    if until <= lease.ends_at:
        raise Refused(
            "end-not-later", f"the lease already runs until {lease.ends_at:%Y-%m-%d %H:%M} UTC; give a later end"
        )
    if until > last:
        left = max(last - lease.ends_at, timedelta())
        raise Refused(
            "beyond-maximum",
            f"at most {spell(lease.terms.max_total)} in total are allowed, {spell(left)} of it left "
            f"(until {last:%Y-%m-%d %H:%M} UTC); the lease still ends at {lease.ends_at:%Y-%m-%d %H:%M} UTC",
        )
    event = Event("extended", now, by, {"from": _iso(lease.ends_at), "to": _iso(until), "reason": reason})
    return changed(lease, event, ends_at=until, warned=(), next_try=None, extensions=lease.extensions + 1)


def keep(lease: Lease, by: str, now: datetime) -> Change:
    """The owner has read a warning and lets the lease run to its end."""
    require_state(lease, State.ACTIVE)
    return changed(lease, Event("kept", now, by, {"ends": _iso(lease.ends_at)}))


def release(lease: Lease, by: str, now: datetime) -> Change:
    """The owner (or an administrator) gives the resource back before its end."""
    require_state(lease, State.ACTIVE)
    return changed(
        lease, Event("released", now, by, {}), state=State.ENDING, ending_reason=f"released by {by}", ends_at=now
    )


def end(lease: Lease, now: datetime) -> Change:
    """The end has come, with a delivered warning behind it."""
    require_state(lease, State.ACTIVE)
    return changed(
        lease,
        Event("ended", now, "lessor", {"end": _iso(lease.ends_at)}),
        state=State.ENDING,
        ending_reason="its end date",
    )


def lost(lease: Lease, reason: str, seen_at: datetime, now: datetime) -> Change:
    """The provider took the resource away (spot interruption, stopped from outside): the bill ended at `seen_at`."""
    require_state(lease, State.ACTIVE)
    event = Event("interrupted", now, "lessor", {"reason": reason, "at": _iso(seen_at)})
    return changed(
        lease,
        event,
        state=State.DELETING,
        ending_reason=f"interrupted: {reason}",
        spans=_closed(lease, seen_at),
        deleting_at=now,
    )


def stopped(lease: Lease, stopped_at: datetime, now: datetime) -> Change:
    """Seen stopped; grace begins. The compute bill ended at `stopped_at`."""
    require_state(lease, State.ENDING)
    event = Event("stopped", now, "lessor", {"at": _iso(stopped_at), "deletes": _iso(now + lease.terms.grace)})
    return changed(lease, event, state=State.STOPPED, stopped_at=now, spans=_closed(lease, stopped_at))


def restore(lease: Lease, until: datetime, by: str, now: datetime) -> Change:
    """The owner asks for a stopped lease back during grace; the workflow starts it again."""
    require_state(lease, State.STOPPED)
    aware("until", until)
    if until < now + lease.terms.min_duration:
        raise Refused("end-too-early", f"the new end must be at least {spell(lease.terms.min_duration)} from now")
    if lease.last_end is not None and until > lease.last_end:
        raise Refused("beyond-maximum", f"the lease may run until {lease.last_end:%Y-%m-%d %H:%M} UTC at the latest")
    return changed(lease, Event("restore-asked", now, by, {"to": _iso(until)}), state=State.PROVISIONING, ends_at=until)


def restored(lease: Lease, started_at: datetime, now: datetime) -> Change:
    """Seen running again until the end that the owner asked for."""
    require_state(lease, State.PROVISIONING)
    hourly = lease.spans[-1].hourly if lease.spans else None
    return changed(
        lease,
        Event("restored", now, "lessor", {"ends": _iso(lease.ends_at)}),
        state=State.ACTIVE,
        stopped_at=None,
        spans=(*lease.spans, Span(started_at, None, hourly)),
        warned=(),
        next_try=None,
    )


def restore_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be started again: back to stopped with the same grace, nothing lost."""
    require_state(lease, State.PROVISIONING)
    return changed(lease, Event("restore-failed", now, "lessor", {"problem": problem}), state=State.STOPPED)


def start_deleting(lease: Lease, now: datetime, reason: str = "") -> Change:
    """From here on the resources are taken down; only a clean look closes the lease."""
    require_state(lease, State.ENDING, State.STOPPED, State.PROVISIONING, State.ACTIVE)
    why = reason or lease.ending_reason
    return changed(
        lease,
        Event("deleting", now, "lessor", {"why": why}),
        state=State.DELETING,
        deleting_at=now,
        ending_reason=why,
        next_try=None,
        clean_passes=0,
        spans=lease.spans,
    )


def looked(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    """One look for left-overs. Enough clean looks in a row close the lease; too long without one blocks it."""
    require_state(lease, State.DELETING, State.BLOCKED)
    if sighting.clean:
        return _clean_look(lease, sighting, now)
    left = tuple(r.ref for r in sighting.left) or (f"unknown: {sighting.problem}",)
    late = lease.deleting_at is not None and now - lease.deleting_at >= lease.terms.cleanup_limit
    pause = lease.terms.blocked_retry if late else lease.terms.verify_interval
    fields: dict[str, object] = {"clean_passes": 0, "left": left, "next_try": now + pause, "spans": lease.spans}
    if late and lease.state is not State.BLOCKED:
        event = Event("blocked", now, "lessor", {"left": ", ".join(left), "problem": sighting.problem})
        return changed(lease, event, state=State.BLOCKED, problem=sighting.problem, **fields)
    return Change(replace(lease, **fields), ())  # type: ignore[arg-type]


def stop_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be stopped: nothing is deleted, people are told, and it is tried again."""
    require_state(lease, State.ENDING)
    return changed(lease, Event("stop-failed", now, "lessor", {"problem": problem}), problem=problem)


def end_unwritten(lease: Lease, problem: str, now: datetime) -> Change:
    """The end date could not be written on the resources; on record, since the guard reads it there."""
    return changed(lease, Event("end-unwritten", now, "lessor", {"problem": problem}))


def _clean_look(lease: Lease, sighting: Sighting, now: datetime) -> Change:
    passes = lease.clean_passes + 1
    if passes < lease.terms.verify_passes:
        waiting = replace(lease, clean_passes=passes, left=(), next_try=now + lease.terms.verify_interval)
        return Change(waiting, ())
    gone = ", ".join(f"{r.ref} gone" for r in sighting.resources) or "nothing carries the lease's tag"
    proof = f"{passes} clean looks, the last at {sighting.at:%Y-%m-%d %H:%M:%S} UTC: {gone}"
    kept = ", ".join(r.id for r in lease.resources if r.kind is Kind.SNAPSHOT)
    data = {"proof": proof, "kept": kept, "reason": lease.ending_reason}
    return changed(
        lease,
        Event(lease.outcome.value, now, "lessor", data),
        state=lease.outcome,
        proof=proof,
        closed_at=now,
        left=(),
        next_try=None,
        spans=_closed(lease, now),
    )


def _closed(lease: Lease, at: datetime) -> tuple[Span, ...]:
    """The spans with a running one ended at `at`, never before its own start."""
    return tuple(replace(s, end=max(at, s.start)) if s.end is None else s for s in lease.spans)


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""
