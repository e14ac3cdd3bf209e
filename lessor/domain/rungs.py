"""When an idle lease is warned, and when it is stopped. Worked out anew from what is on record, each time it is asked.

A stop comes only after warnings that announced it and reached somebody (law 4). All that is counted is counted from
when the lease fell idle and from when its people were told, never from when somebody looked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lessor.domain.idle import Verdict
from lessor.domain.ladder import Ladder, Rung, Told
from lessor.domain.lease import Lease, State, minute
from lessor.domain.pausing import LESSOR
from lessor.domain.worktime import Hours, add_working, is_open, next_close

DAY = timedelta(days=1)
"""How often people are told again of an idle lease that is not stopped."""

HELD_FINAL = timedelta(hours=1)
"""How long before its stop a lease that holds memory without computing is warned the second time."""

FINAL_HOLDS = timedelta(hours=4)
"""A last warning whose stop was held back for longer is given anew: people have long stopped to expect the stop."""

LEFT_TO_END = timedelta(minutes=15)
"""What would come so shortly before the lease's own end is left to that, which has its own warnings."""

IDLE = frozenset({Verdict.IDLE, Verdict.HELD})
"""Verdicts of a lease that does nothing."""


@dataclass(frozen=True)
class Step:
    """What comes next and when; `at` may be in the past, which means now."""

    rung: Rung
    at: datetime


@dataclass(frozen=True)
class Distances:
    """How long after it fell idle each step comes; none before the one before it."""

    warn: timedelta
    final: timedelta
    stop: timedelta


def next_step(lease: Lease, now: datetime) -> Step | None:
    """The next step on the ladder; `None` while it is not idle, or nothing is made of it."""
    ladder = lease.idle
    if ladder is None or lease.state is not State.ACTIVE or lease.disputed is not None:
        return None
    step = _daily(lease, ladder) if barred(lease, now) else _towards_stop(lease, ladder)
    at = max(step.at, ladder.next_try or step.at, lease.snooze.until if lease.snooze else step.at)
    return None if _left_to_end(lease, max(at, now)) else Step(step.rung, at)


def barred(lease: Lease, now: datetime) -> str:
    """What stands against any stop of an idle lease, in words: then its people are only told. Empty if nothing does."""
    spared = lease.spared
    if spared is not None and (spared.until is None or now < spared.until):
        until = f" until {minute(spared.until)}" if spared.until else ""
        said = "it is not tried again" if spared.by == LESSOR else "an administrator spares it"
        return f"{said}{until}: {spared.reason}"
    if lease.idle is not None and not lease.idle.terms.stops:
        return "the policy for it only warns"
    if not lease.stoppable:
        return f"{lease.request.market.value} machines cannot be stopped and started again"
    if lease.volatile and lease.consent is None:
        return "a stop loses what is on its local disks, and nobody has agreed to that"
    return ""


def stops_at(lease: Lease, now: datetime) -> datetime | None:
    """When it is stopped if it stays idle and every warning still to come reaches its owner in time.

    `None` while nothing leads to a stop before its end.
    """
    step = next_step(lease, now)
    if lease.idle is None or step is None or barred(lease, now):
        return None
    ladder = lease.idle
    while step.rung is not Rung.STOP:
        told = Told(step.rung, max(step.at, now))
        ladder = replace(ladder, told=(*ladder.told, told), next_try=None)
        step = _towards_stop(lease, ladder)
    at = max(step.at, ladder.next_try or step.at)
    return None if _left_to_end(lease, at) else at


def outdated(lease: Lease, now: datetime) -> bool:
    """Whether the stop that was announced is so long overdue that it has to be announced once more."""
    if lease.idle is None or not counted(lease.idle):
        return False
    step = _towards_stop(lease, lease.idle)
    return step.rung is Rung.STOP and now > step.at + FINAL_HOLDS


def counted(ladder: Ladder) -> tuple[Told, ...]:
    """The warnings that announced the stop; those before one that announced none do not count any more."""
    void = max((index for index, told in enumerate(ladder.told) if told.barred), default=-1)
    return ladder.told[void + 1 :]


def distances(ladder: Ladder) -> Distances:
    """What holds for the verdict: memory that is held may be a model that waits for work (case E08)."""
    terms = ladder.terms
    if ladder.evidence.verdict is Verdict.HELD:
        stop = max(terms.held_stop, terms.window + HELD_FINAL)
        return Distances(terms.window, stop - HELD_FINAL, stop)
    final = max(terms.warn, terms.final)
    return Distances(terms.warn, final, max(final, terms.stop))


def working_hours(lease: Lease) -> Hours | None:
    """When its owner works, as far as it is known; `None` for round the clock."""
    return (lease.idle.hours if lease.idle else None) or lease.owner_hours


def _daily(lease: Lease, ladder: Ladder) -> Step:
    """Once a day, and at once when an administrator's word ends: then it is warned of a stop after all."""
    if ladder.told:
        last, word = ladder.told[-1].at, lease.spared.until if lease.spared else None
        return Step(Rung.WARN, min(last + DAY, word) if word and word > last else last + DAY)
    return Step(Rung.WARN, _after(lease, ladder, ladder.evidence.since, distances(ladder).warn))


def _towards_stop(lease: Lease, ladder: Ladder) -> Step:
    """Each step keeps its distance from when the lease fell idle, and from the first warning if that came late."""
    told, far, since = counted(ladder), distances(ladder), ladder.evidence.since
    if not told:
        return Step(Rung.WARN, _after(lease, ladder, since, far.warn))
    first, final = told[0].at, next((one for one in told if one.rung is Rung.FINAL), None)
    due = max(_after(lease, ladder, since, far.stop), _after(lease, ladder, first, far.stop - far.warn))
    stop = _spared(lease, ladder, max(due, _heard(lease, ladder, told)))
    if final is None:
        early = max(_after(lease, ladder, since, far.final), _after(lease, ladder, first, far.final - far.warn))
        return Step(Rung.FINAL, early if stop == due else max(early, stop - (far.stop - far.final)))
    notice = min(ladder.terms.notice, far.stop - far.final)
    return Step(Rung.STOP, max(stop, _after(lease, ladder, final.at, notice), final.stops or stop))


def _heard(lease: Lease, ladder: Ladder, told: tuple[Told, ...]) -> datetime:
    """When one of the warnings is old enough: longer where somebody else was told in the owner's place (case E24)."""
    terms = ladder.terms
    return min(_after(lease, ladder, one.at, terms.notice if one.owner else terms.fallback_notice) for one in told)


def _spared(lease: Lease, ladder: Ladder, due: datetime) -> datetime:
    """Interactive work is left alone until its owner's working day is over, but not for longer than the terms say."""
    hours = working_hours(lease)
    if ladder.terms.spare <= timedelta() or not is_open(hours, due):
        return due
    latest = ladder.evidence.since + ladder.terms.spare
    return max(due, min(next_close(hours, due) or latest, latest))


def _left_to_end(lease: Lease, at: datetime) -> bool:
    return lease.runs_until is not None and at >= lease.runs_until - LEFT_TO_END


def _after(lease: Lease, ladder: Ladder, at: datetime, length: timedelta) -> datetime:
    """When so much time has gone by that counts."""
    return add_working(working_hours(lease), at, length) if ladder.terms.working_hours_only else at + length
