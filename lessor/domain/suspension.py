"""Working hours of a lease: outside of them its machines are stopped, and nobody loses what is on them.

While it is suspended a lease is still in use: its end comes as if it ran, its quota stays taken, people may act on it.
It is announced before every stop (law 4); what is stopped is only said to be so once it was seen (law 2).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import billing
from lessor.domain.errors import Refused, instant
from lessor.domain.lease import IN_USE, Announced, Capacity, Change, Event, Lease, State, changed, minute, require_state
from lessor.domain.pending import Exemption
from lessor.domain.request import Market
from lessor.domain.resource import Condition
from lessor.domain.resting import machines
from lessor.domain.worktime import WEEK, Hours, is_open, next_close, next_open

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
STOPPABLE = frozenset({Market.ON_DEMAND})
"""Markets whose machines can be stopped and started again; the others run round the clock, whatever their schedule."""


def given(lease: Lease, schedule: Hours | None, awake: Hours | None) -> Lease:
    """The lease with when it is to run and when its owner is awake, before it is assessed."""
    return replace(lease, schedule=schedule, owner_hours=awake)


def on_record(lease: Lease) -> dict[str, str]:
    """What is said of the hours of a lease when it is assessed; nothing when none were asked for."""
    name = lease.request.schedule
    if lease.schedule is None:
        return {"schedule": not_applied(lease)} if name else {}
    return {"schedule": f"{name or 'of the team'}: {spelled(lease.schedule)}"}


def spelled(hours: Hours) -> str:
    """`mon tue wed thu fri 08:00 to 19:00 Europe/Berlin`."""
    days = "daily" if set(hours.days) == set(WEEK) else " ".join(DAYS[day] for day in hours.days)
    return f"{days} {_clock_time(hours.opens)} to {_clock_time(hours.closes)} {hours.zone}"


def not_applied(lease: Lease) -> str:
    """Why a lease runs round the clock although hours were asked for; empty when it does not, or they were not."""
    name, market = lease.request.schedule, lease.request.market
    if not name or (lease.schedule is not None and lease.stoppable):
        return ""
    return f"the hours '{name}' do not apply: {market.value} machines cannot be stopped and started again"


def wanted(lease: Lease, at: datetime) -> bool:
    """Whether the machines should run at `at`: always, inside the schedule, or while an exemption holds.

    Never while it is stopped until somebody starts it.
    """
    if lease.pause is not None:
        return False
    exempt = lease.exemption is not None and at < lease.exemption.until
    return exempt or is_open(lease.schedule, at)


def runs_again(lease: Lease, now: datetime) -> datetime:
    """When the machines should run: now, or from the next opening on."""
    return now if wanted(lease, now) else next_open(lease.schedule, now)


def stops_next(lease: Lease, now: datetime) -> datetime | None:
    """When the schedule wants it stopped next, now included; `None` for a lease that is never suspended."""
    if lease.schedule is None or not lease.stoppable:
        return None
    since = max(now, lease.exemption.until) if lease.exemption else now
    return next_close(lease.schedule, since) if is_open(lease.schedule, since) else since


def stop_to_announce(lease: Lease, now: datetime) -> datetime | None:
    """When the stop comes that has to be announced next, with room for the notice after an announcement made now."""
    planned = stops_next(lease, now)
    if planned is None:
        return None
    soonest = now + (lease.terms.notice if planned > now else lease.terms.suspend_notice)
    if planned >= soonest:
        return planned
    return stops_next(lease, soonest) if wanted(lease, soonest) else soonest


def announcement(lease: Lease, now: datetime) -> Announced | None:
    """What was announced, unless the hours have opened since: then it is about a stop that never came."""
    made = lease.announced
    if made is None or (made.stops_at <= now and next_open(lease.schedule, made.stops_at) <= now):
        return None
    return made


def may_suspend(lease: Lease, now: datetime) -> bool:
    """Whether it may be stopped now: outside its hours, told so in time, and it can be started again."""
    told = announcement(lease, now)
    return told is not None and now >= told.stops_at and lease.stoppable and not wanted(lease, now)


def stopping(lease: Lease) -> bool:
    """Whether it is suspended and has not been seen stopped yet."""
    return lease.state is State.SUSPENDED and lease.suspended_at is None


def announced(lease: Lease, via: str, now: datetime) -> Change:
    """The coming stop was announced. It comes no earlier than its notice after that, however late that is (law 4)."""
    require_state(lease, State.ACTIVE)
    stops_at = stop_to_announce(lease, now)
    if stops_at is None:
        raise Refused("not-due", f"{lease.id} has no working hours; it is not suspended")
    data = {"stops": stops_at.isoformat(), "runs_again": next_open(lease.schedule, stops_at).isoformat(), "via": via}
    event = Event("suspend-warned", now, "lessor", data)
    return changed(lease, event, announced=Announced(stops_at, now, via), next_try=None)


def suspend(lease: Lease, now: datetime) -> Change:
    """From here on its machines are being stopped. Raises `Refused` ("not-due") while they should run (law 2)."""
    require_state(lease, State.ACTIVE)
    told = announcement(lease, now)
    if told is None or not may_suspend(lease, now):
        when = f"not before {minute(told.stops_at)}" if told else "nobody has been told yet"
        raise Refused("not-due", f"{lease.id} is not suspended now: {when}")
    event = Event("suspending", now, "lessor", {"announced": told.at.isoformat(), "via": told.via})
    return changed(lease, event, state=State.SUSPENDED, suspended_at=None, idle=None, capacity=None, next_try=None)


def suspended(lease: Lease, stopped_at: datetime, now: datetime) -> Change:
    """Seen stopped: the compute bill rests from `stopped_at` on."""
    _require_stopping(lease)
    rests_at = min(instant("stopped_at", stopped_at), now)
    again = {} if lease.pause else {"runs_again": runs_again(lease, now).isoformat()}
    data = {"at": rests_at.isoformat(), **again}
    fields: dict[str, object] = {"spans": billing.ended(lease.spans, rests_at), "announced": None, "problem": ""}
    fields["resources"] = machines(lease, Condition.STOPPED)
    return changed(lease, Event("suspended", now, "lessor", data), suspended_at=now, **fields)


def suspend_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be stopped, or not be seen stopped: people are told, and it is tried again."""
    _require_stopping(lease)
    made = lease.announced or Announced(now, now)
    next_try = now + lease.terms.blocked_retry
    event = Event("stop-failed", now, "lessor", {"problem": problem, "next_try": next_try.isoformat()})
    return changed(lease, event, problem=problem, announced=replace(made, next_try=next_try))


def started_again(lease: Lease, started_at: datetime, now: datetime) -> Change:
    """Seen running again: the bill goes on at the rate that it had.

    Whoever had it stopped while it was starting gets their will: it is stopped anew.
    """
    require_state(lease, State.SUSPENDED)
    hourly = lease.spans[-1].hourly if lease.spans else None
    fields: dict[str, object] = {
        "suspended_at": None,
        "capacity": None,
        "problem": "",
        "spans": billing.opened(lease.spans, instant("started_at", started_at), hourly),
        "resources": machines(lease, Condition.RUNNING),
    }
    data = {"at": started_at.isoformat()}
    if lease.pause is not None:
        return changed(lease, Event("started-in-vain", now, "lessor", data), announced=Announced(now, now), **fields)
    return changed(lease, Event("resumed", now, "lessor", data), state=State.ACTIVE, announced=None, **fields)


def resume_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be started again: tried anew after the waits of the terms, the last one for ever."""
    require_state(lease, State.SUSPENDED)
    before, waits = lease.capacity, lease.terms.capacity_waits or (lease.terms.blocked_retry,)
    tries = (before.tries if before else 0) + 1
    next_try = now + waits[min(tries, len(waits)) - 1]
    capacity = Capacity(tries, (), next_try, before.first_try if before else now)
    event = Event("resume-failed", now, "lessor", {"problem": problem, "next_try": next_try.isoformat()})
    return changed(lease, event, capacity=capacity, problem=problem)


def exempt(lease: Lease, until: datetime | None, by: str, reason: str, now: datetime) -> Change:
    """It runs on outside its hours until then, for a reason; without `until` over the coming (or present) pause.

    Raises `Refused`: wrong-state, paused, no-schedule, end-too-early, no-reason.
    """
    require_state(lease, *IN_USE)
    if lease.pause is not None:
        raise Refused("paused", f"{lease.id} is stopped since {minute(lease.pause.at)}: {lease.pause.words}. Start it")
    if lease.schedule is None or not lease.stoppable:
        raise Refused("no-schedule", f"{lease.id} runs round the clock; there is nothing to exempt it from")
    if until is None:
        until, reason = _over_the_pause(lease, now), reason.strip() or "runs on over the coming pause"
    until = instant("until", until)
    if until <= now:
        raise Refused("end-too-early", "an exemption ends in the future; nothing was changed")
    if not reason.strip():
        raise Refused("no-reason", "say why it has to run outside its hours: the reason goes on record")
    made = Exemption(until, by, now, reason.strip())
    event = Event("exempted", now, by, {"until": until.isoformat(), "reason": made.reason})
    return changed(lease, event, exemption=made, announced=None, capacity=None)


def _over_the_pause(lease: Lease, now: datetime) -> datetime:
    begins = stops_next(lease, now) if lease.state is State.ACTIVE else now
    if begins is None:
        raise Refused("no-schedule", f"the hours of {lease.id} never close; nothing was changed")
    return next_open(lease.schedule, begins)


def _require_stopping(lease: Lease) -> None:
    require_state(lease, State.SUSPENDED)
    if lease.suspended_at is not None:
        raise Refused("wrong-state", f"{lease.id} is stopped already, since {minute(lease.suspended_at)}")


def _clock_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
