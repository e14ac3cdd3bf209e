"""An idle lease on its way from the first sign to its stop, and back as soon as it is seen to work.

Nothing but a verdict of idle leads on: what is unknown leads back to the beginning (law 1). A stop is decided by the
lease as it is when the last look has come back, so that what people said meanwhile comes first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain import rungs
from lessor.domain.errors import Refused
from lessor.domain.figures import figures
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Dispute, Ladder, Rung, Told, Why
from lessor.domain.lease import Change, Event, Lease, State, changed, minute, require_state
from lessor.domain.pausing import pause, start
from lessor.domain.worktime import Hours

__all__ = [
    "anew",
    "deliverable",
    "found",
    "held_back",
    "metered",
    "pause",
    "start",
    "still_on",
    "stop",
    "undelivered",
    "warned",
]

LESSOR = "lessor"
RETRY = timedelta(minutes=5)
"""The pause before a warning that reached nobody, or a stop that was held back, is tried again for the first time."""

RETRY_LATER = timedelta(minutes=30)
"""The pauses after that, while nothing else is in the way: each try asks the telemetry again."""

LOOK_SELDOM = timedelta(days=1)
"""The longest time between two looks of a lease of which the meter says nothing any more."""

ON_RECORD_EVERY = timedelta(hours=1)
"""How often what is seen goes on record while a warning is tried again and again."""


def metered(lease: Lease, evidence: Evidence, terms: IdleTerms, now: datetime, hours: Hours | None = None) -> Change:
    """The meter tells that its verdict changed. Only a lease that runs takes notice.

    `hours` is when the owner works, where that is known.
    """
    if lease.state is not State.ACTIVE or not _usable(lease, evidence):
        return Change(lease, ())
    if evidence.verdict not in rungs.IDLE:
        return _busy_or_unknown(lease, evidence, now, None)
    if _said_wrong(lease, now):
        return Change(lease, ())
    return _idle(lease, Ladder(evidence, terms, hours=hours), now)


def found(
    lease: Lease,
    evidence: Evidence,
    terms: IdleTerms,
    now: datetime,
    hours: Hours | None = None,
    *,
    on_record: bool = False,
) -> Change:
    """The lease itself had another look. As `metered`, but the meter does not know of it, and tells only changes.

    So whatever is not idle is looked at once more after a whole window, then ever more seldom, until the meter tells
    something. That it is still idle goes on record only if that is wanted: before a warning, which is made from that.
    """
    if lease.state is not State.ACTIVE:
        return Change(lease, ())
    if evidence.verdict in rungs.IDLE:
        if _said_wrong(lease, now):
            return Change(lease, ())
        return _idle(lease, Ladder(evidence, terms, hours=hours), now, on_record=on_record)
    why = evidence.problem or f"another look found it {evidence.verdict.value}"
    doubt = Dispute(now + _until_next_look(lease, terms), LESSOR, now, why)
    return _busy_or_unknown(lease, evidence, now, doubt)


def still_on(before: Lease, lease: Lease) -> bool:
    """Whether nothing has come between since `before`: it is idle since the same time, and nobody has answered."""
    if lease.state is not State.ACTIVE or lease.idle is None or before.idle is None:
        return False
    same = lease.idle.evidence.since == before.idle.evidence.since and lease.idle.told == before.idle.told
    return same and (lease.snooze, lease.owner) == (before.snooze, before.owner)


def warned(lease: Lease, rung: Rung, via: str, now: datetime, *, owner: bool) -> Change:
    """A warning was delivered; only delivered ones count. What announced no stop leads to none; a snooze is over."""
    ladder = _ladder(lease)
    why_not = rungs.barred(lease, now)
    told = Told(rung, now, via, owner, bool(why_not))
    after = replace(ladder, told=(*ladder.told, told), next_try=None, held_back="")
    stops = rungs.stops_at(replace(lease, idle=after), now)
    if rung is Rung.FINAL:
        after = replace(after, told=(*ladder.told, replace(told, stops=stops)))
    data = {"via": via, "owner": "reached" if owner else "not reached", **figures(ladder.evidence)}
    data |= {"not_stopped": why_not} if why_not else {"stops": stops.isoformat() if stops else ""}
    event = Event("idle-final-warned" if rung is Rung.FINAL else "idle-warned", now, LESSOR, data)
    return changed(lease, event, idle=after, snooze=None)


def undelivered(lease: Lease, problem: str, now: datetime) -> Change:
    """Nobody could be reached: it is neither warned nor stopped until somebody is (law 4)."""
    return _tried(lease, "idle-warning-undelivered", problem, now)


def held_back(lease: Lease, why: str, now: datetime) -> Change:
    """The stop is due, and something outside the lease stands against it: `why` says what, on record once."""
    return _tried(lease, "idle-held-back", why, now)


def anew(lease: Lease, now: datetime) -> Change:
    """The stop that was announced is long overdue: the last warning is given once more before it."""
    ladder = _ladder(lease)
    told = tuple(one for one in ladder.told if one.rung is not Rung.FINAL)
    return Change(replace(lease, idle=replace(ladder, told=told, next_try=None)), ())


def stop(lease: Lease, evidence: Evidence, now: datetime) -> Change:
    """Stop what is idle, was warned, and has just been seen idle again (laws 1, 2, 4). Raises `Refused` ("not-due")."""
    ladder, step = _ladder(lease), rungs.next_step(lease, now)
    if step is None or step.rung is not Rung.STOP or step.at > now or evidence.verdict not in rungs.IDLE:
        when = f"the next step is to {step.rung.value}, at {minute(step.at)}" if step else "nothing leads to a stop"
        raise Refused("not-due", f"{lease.id} is not stopped now: {when}")
    told = ", ".join(f"{one.rung.value} at {minute(one.at)} by {one.via}" for one in rungs.counted(ladder))
    words = f"idle since {minute(evidence.since)}, and nobody said that it is used"
    data = {"warned": told, **figures(evidence)}
    return pause(replace(lease, idle=replace(ladder, evidence=evidence)), Why.IDLE, LESSOR, words, now, data)


def deliverable(lease: Lease, rung: Rung, now: datetime) -> bool:
    """Whether this is still the step to take now."""
    step = rungs.next_step(lease, now)
    return step is not None and step.rung is rung and step.at <= now


def _idle(lease: Lease, fresh: Ladder, now: datetime, *, on_record: bool = False) -> Change:
    ladder = lease.idle
    if ladder is None:
        return changed(lease, _seen(fresh, now), idle=fresh, disputed=None)
    if fresh.evidence.since > ladder.evidence.since:
        over = _over(lease, fresh.evidence, now)
        then = changed(over.lease, _seen(fresh, now), idle=fresh, disputed=None)
        return Change(then.lease, (*over.events, *then.events))
    kept = replace(ladder, evidence=fresh.evidence, terms=fresh.terms, hours=fresh.hours or ladder.hours)
    if (fresh.evidence.verdict, fresh.terms) == (ladder.evidence.verdict, ladder.terms):
        if not on_record:
            return Change(replace(lease, idle=kept, disputed=None), ())
        if ladder.next_try and fresh.evidence.at - ladder.evidence.at < ON_RECORD_EVERY:
            return Change(replace(lease, disputed=None), ())
    return changed(lease, _seen(kept, now), idle=kept, disputed=None)


def _busy_or_unknown(lease: Lease, evidence: Evidence, now: datetime, doubt: Dispute | None) -> Change:
    """The ladder ends. A person's word against the verdict ends only with work that was seen."""
    busy = evidence.verdict is Verdict.BUSY
    said = lease.disputed if _said_wrong(lease, now) else None
    kept = doubt if busy else said or doubt
    over = _over(lease, evidence, now) if lease.idle or (busy and said) else Change(lease, ())
    after = replace(over.lease, disputed=kept, snoozes=0 if busy else lease.snoozes)
    partly_held = evidence.unheld > 0 and not evidence.awaited
    if not (busy or partly_held) or not 0 < evidence.idle_gpus < evidence.gpus:
        return Change(after, over.events)
    partly = changed(after, Event("partly-idle", now, LESSOR, figures(evidence)))
    return Change(partly.lease, (*over.events, *partly.events))


def _over(lease: Lease, evidence: Evidence, now: datetime) -> Change:
    """It is over; `told` counts the warnings that were given, whose readers want to know."""
    told = len(lease.idle.told) if lease.idle else 0
    unknown = evidence.verdict is Verdict.UNKNOWN
    event = Event("idle-unknown" if unknown else "idle-cleared", now, LESSOR, {"told": str(told), **figures(evidence)})
    return changed(lease, event, idle=None)


def _until_next_look(lease: Lease, terms: IdleTerms) -> timedelta:
    before = lease.disputed
    if before is None or before.by != LESSOR:
        return max(terms.window, RETRY)
    return min(2 * (before.until - before.at), LOOK_SELDOM)


def _said_wrong(lease: Lease, now: datetime) -> bool:
    """Whether a person called the verdict wrong not long ago."""
    return lease.disputed is not None and lease.disputed.by != LESSOR and now < lease.disputed.until


def _usable(lease: Lease, evidence: Evidence) -> bool:
    """Whether the word is about instants, and nothing newer is known: it may wait while the lease looks for itself."""
    if evidence.at.tzinfo is None or evidence.since.tzinfo is None:
        return False
    return lease.idle is None or evidence.at >= lease.idle.evidence.at


def _tried(lease: Lease, event: str, why: str, now: datetime) -> Change:
    ladder = _ladder(lease)
    if ladder.held_back == why:
        return Change(replace(lease, idle=replace(ladder, next_try=now + RETRY_LATER)), ())
    waiting = replace(ladder, next_try=now + RETRY, held_back=why)
    return changed(lease, Event(event, now, LESSOR, {"why": why}), idle=waiting)


def _ladder(lease: Lease) -> Ladder:
    require_state(lease, State.ACTIVE)
    if lease.idle is None:
        raise Refused("not-idle", f"{lease.id} is not seen idle now")
    return lease.idle


def _seen(ladder: Ladder, now: datetime) -> Event:
    return Event("idle-seen", now, LESSOR, figures(ladder.evidence))
