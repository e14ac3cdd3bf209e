"""Stopped before its end, until somebody starts it: for being idle, because somebody asked, or for want of money.

What is on its disks stays, and so does its end date: it is warned and ended as if it ran. Its quota stays taken.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from lessor.domain.errors import Refused
from lessor.domain.ladder import Pause, Spared, Why, untold
from lessor.domain.lease import IN_USE, Announced, Change, Event, Lease, State, changed, minute, require_state

LESSOR = "lessor"
LEFT_ALONE = timedelta(days=1)
"""How long it is not tried again to stop machines that are not to be stopped one by one."""

_EVENTS = {Why.IDLE: "idle-stopped", Why.ASKED: "pause-asked", Why.BUDGET: "budget-stopped"}

PAUSED = frozenset(_EVENTS.values())
"""Events with which a lease begins to be stopped until somebody starts it."""


def pause(lease: Lease, why: Why, by: str, words: str, now: datetime, data: dict[str, str] | None = None) -> Change:
    """From here on its machines are being stopped, and nothing starts them again but a person.

    `words` say to people why; `data` goes on record besides. Raises `Refused`: wrong-state, paused, not-stoppable.
    """
    require_state(lease, *IN_USE)
    if lease.pause is not None:
        raise Refused("paused", f"{lease.id} is stopped already, since {minute(lease.pause.at)}: {lease.pause.words}")
    if not lease.stoppable:
        market = lease.request.market.value
        raise Refused(
            "not-stoppable",
            f"{market} machines cannot be stopped and started again; {lease.id} runs on, release it to give it back",
        )
    event = Event(_EVENTS[why], now, by, {"why": words, **(data or {})})
    fields: dict[str, object] = {"pause": Pause(why, by, now, words), "snooze": None, "capacity": None}
    fields |= {"idle": untold(lease.idle)}
    if lease.state is State.ACTIVE:
        stopping = {"state": State.SUSPENDED, "suspended_at": None, "announced": Announced(now, now), "problem": ""}
        fields |= {**stopping, "next_try": None}
    return changed(lease, event, **fields)


def runs_on(lease: Lease, problem: str, now: datetime) -> Change:
    """Its machines are not to be stopped one by one: it runs on, and is left alone for a day where it is idle.

    By then they may have been taken out of their group. Raises `Refused` ("wrong-state") once it was seen stopped.
    """
    require_state(lease, State.SUSPENDED)
    if lease.pause is None or lease.suspended_at is not None:
        raise Refused("wrong-state", f"{lease.id} is not being stopped")
    fields: dict[str, object] = {"state": State.ACTIVE, "pause": None, "announced": None, "problem": problem}
    if lease.pause.why is Why.IDLE:
        fields["spared"] = Spared(LESSOR, now, problem, now + LEFT_ALONE)
    return changed(lease, Event("stop-failed", now, LESSOR, {"problem": problem}), **fields)


def ask_stop(lease: Lease, by: str, typed: str, now: datetime) -> Change:
    """Somebody whose it is stops it and keeps its disks. What a stop would lose has to be typed out.

    Raises `Refused` as `pause`, and needs-confirmation.
    """
    if lease.volatile and typed.strip().casefold() != lease.id.casefold():
        wrong = f", not '{typed.strip()[:40]}'" if typed.strip() else ""
        raise Refused(
            "needs-confirmation",
            f"a stop of {lease.id} loses what is on its local disks, for good: type {lease.id} to stop it all the "
            f"same{wrong}; nothing was stopped",
        )
    return pause(lease, Why.ASKED, by, f"{by} asked for it", now)


def start(lease: Lease, by: str, now: datetime) -> Change:
    """It may run again, with its hours if it has any. Raises `Refused`: wrong-state, not-paused."""
    require_state(lease, *IN_USE)
    if lease.pause is None:
        if lease.state is State.SUSPENDED:
            already = "is being started already, or starts with its working hours; nothing was changed"
            raise Refused("not-paused", f"{lease.id} {already}")
        raise Refused("not-paused", f"{lease.id} is {lease.state.value}; there is nothing to start")
    event = Event("start-asked", now, by, {"stopped": lease.pause.why.value, "since": lease.pause.at.isoformat()})
    return changed(lease, event, pause=None, idle=None, snooze=None, snoozes=0, capacity=None)
