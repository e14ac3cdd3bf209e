"""The clock of a step: when it is asked, reminded of, opened to the next level, and when it lapses.

All lengths count the working time of those who can decide: reminders and escalations of whoever works first, the lapse
of whoever works last. Whoever has steps to decide uses this: requests, and wishes for a later end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from lessor.domain.approval import Step, waiting
from lessor.domain.terms import Terms
from lessor.domain.worktime import FIRST, add_working

MOST_REMINDERS = 20
"""A reminder's distance doubles each time: after so many it is never."""


class Call(StrEnum):
    """What a waiting step calls for next."""

    ASK = "ask"
    LAPSE = "lapse"
    ESCALATE = "escalate"
    REMIND = "remind"


@dataclass(frozen=True)
class Told:
    """What happened to one step, for the record: the type and data of an event."""

    type: str
    data: dict[str, str]


def asked(steps: tuple[Step, ...], terms: Terms, now: datetime) -> tuple[Step, ...]:
    """`steps` with the clock started for those whose turn it is and who have not been asked yet."""
    turn = {id(step) for step in waiting(steps) if step.asked_at is None}
    return tuple(_started(step, terms, now) if id(step) in turn else step for step in steps)


def again(steps: tuple[Step, ...], terms: Terms, now: datetime) -> tuple[Step, ...]:
    """`steps` with the clock of those that wait started anew, after they had to wait for somebody else's answer."""
    turn = {id(step) for step in waiting(steps)}
    return tuple(_started(step, terms, now) if id(step) in turn else step for step in steps)


def next_call(steps: tuple[Step, ...], *, paused: bool = False) -> tuple[Call, datetime] | None:
    """What the waiting steps call for first, and when; while `paused`, others have to answer and only the lapse counts.

    Steps that were never asked call for it at once, at the time of the latest vote. `None` when no step waits.
    """
    found = [call for step in waiting(steps) for call in _calls(step, steps, paused=paused)]
    order = list(Call)
    return min(found, key=lambda call: (call[1], order.index(call[0])), default=None)


def overdue(steps: tuple[Step, ...], now: datetime) -> frozenset[int]:
    """The waiting steps, by index, that the next level is to be asked for now."""
    turn = {id(step) for step in waiting(steps)}
    late = (i for i, s in enumerate(steps) if id(s) in turn and s.escalate_at is not None and s.escalate_at <= now)
    return frozenset(late)


def staffed(
    before: tuple[Step, ...], found: tuple[Step, ...], terms: Terms, now: datetime, *, paused: bool = False
) -> tuple[Step, ...]:
    """`before` after people were looked up anew: opened as `found` says, with reminders and escalations moved on.

    `found` are the same steps as `before` was some moments ago; votes that came meanwhile are kept. While `paused`
    others have to answer first, and nobody is reminded.
    """
    if [(s.name, s.stage) for s in before] != [(s.name, s.stage) for s in found]:
        return before
    turn = {id(step) for step in waiting(before)}

    def anew(step: Step, opened: Step) -> Step:
        if id(step) not in turn:
            return step
        return opened if paused and step.asked_at else _moved_on(step, opened, terms, now)

    return tuple(anew(step, _opened(step, new)) for step, new in zip(before, found, strict=True))


def told(before: tuple[Step, ...], after: tuple[Step, ...]) -> tuple[Told, ...]:
    """What is put on record of the way from `before` to `after`: asked, escalated, reminded."""
    return tuple(event for old, new in zip(before, after, strict=True) for event in _told(old, new))


def _started(step: Step, terms: Terms, now: datetime) -> Step:
    fresh = replace(step, asked_at=now, reminders=0)
    lapses_at = max(_reached(fresh, now, terms.lapse_after))
    return replace(
        fresh, remind_at=_remind_at(fresh, terms), escalate_at=_escalate_at(fresh, terms, now), lapses_at=lapses_at
    )


def _opened(step: Step, found: Step) -> Step:
    return replace(step, approvers=found.approvers, quorum=found.quorum, escalated=found.escalated, hours=found.hours)


def _moved_on(before: Step, step: Step, terms: Terms, now: datetime) -> Step:
    """`step`, which is `before` with who decides it now, with what was due behind it."""
    if step.asked_at is None:
        return _started(step, terms, now)
    opened = len(step.approvers) > len(before.approvers)
    late = step.escalate_at is not None and step.escalate_at <= now
    step = replace(step, escalations=step.escalations + (opened and late))
    if opened or late:
        step = replace(step, escalate_at=_escalate_at(step, terms, now) if opened else None)
    while (at := _remind_at(step, terms)) is not None and at <= now:
        step = replace(step, reminders=step.reminders + 1)
    return replace(step, remind_at=at)


def _remind_at(step: Step, terms: Terms) -> datetime | None:
    """The next reminder: each comes after twice the time of the one before, counted from when the step was asked."""
    if step.asked_at is None or step.reminders >= MOST_REMINDERS or terms.remind_after <= timedelta():
        return None
    return min(_reached(step, step.asked_at, terms.remind_after * 2**step.reminders))


def _escalate_at(step: Step, terms: Terms, since: datetime) -> datetime | None:
    return min(_reached(step, since, terms.escalate_after)) if step.escalations < terms.escalations else None


def _reached(step: Step, since: datetime, length: timedelta) -> tuple[datetime, ...]:
    """When this much working time has gone by, for each kind of hours of those who can decide."""
    return tuple(add_working(hours, since, length) for hours in step.hours or (None,))


def _calls(step: Step, steps: tuple[Step, ...], *, paused: bool) -> list[tuple[Call, datetime]]:
    if step.asked_at is None:
        return [(Call.ASK, max((vote.at for one in steps for vote in one.votes), default=FIRST))]
    pairs = [(Call.LAPSE, step.lapses_at)]
    if not paused:
        pairs += [(Call.ESCALATE, step.escalate_at), (Call.REMIND, step.remind_at)]
    return [(call, at) for call, at in pairs if at is not None]


def _told(old: Step, new: Step) -> tuple[Told, ...]:
    if old.asked_at is None and new.asked_at is not None:
        return (Told("asked", _clock(new)),)
    if len(new.approvers) > len(old.approvers):
        more = ", ".join(ref for ref in new.approvers if ref not in old.approvers)
        return (Told("escalated", {"step": new.name, "to": more, **_instants(new)}),)
    if new.reminders > old.reminders:
        return (Told("reminded", {"step": new.name, "who": ", ".join(new.approvers), **_instants(new)}),)
    return ()


def _clock(step: Step) -> dict[str, str]:
    opened = {"escalated": step.escalated} if step.escalated else {}
    return {"step": step.name, "who": ", ".join(step.approvers), **opened, **_instants(step)}


def _instants(step: Step) -> dict[str, str]:
    instants = {"remind": step.remind_at, "escalate": step.escalate_at, "lapse": step.lapses_at}
    return {name: at.isoformat() if at else "" for name, at in instants.items()}
