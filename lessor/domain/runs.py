"""How long something is known without a break, tick by tick, in a few numbers however long the window is (case E01)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

STALE = 2
"""The newest sample may be so many intervals old; what is older breaks a run."""

COVERED = 0.9
"""The share of a window that has to be there: less breaks a run."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One step of time. `begin` is where what starts in it is counted from, `ticks` how many a window has.

    `steps` is how many ticks have gone by since the last one that was judged. `newest` is the time of the newest
    sample; `restarted` says that what was counted before is lost.
    """

    at: datetime
    begin: datetime
    every: timedelta
    window: timedelta
    ticks: int
    steps: int
    newest: datetime
    restarted: bool = False


class Run(NamedTuple):
    """The time without a break: since when, up to which sample, and a bit for each tick of the last window."""

    since: datetime
    last: datetime
    marks: int


def started(tick: Tick, whole: bool) -> Run:
    """A run that begins with this tick, or none yet."""
    if whole and not tick.restarted:
        return Run(tick.begin, tick.newest, 1)
    return Run(tick.at, tick.newest, 0)


def gone_on(run: Run, tick: Tick, whole: bool) -> Run:
    """The run after the tick: longer, begun anew after a break, or without a mark while it is broken.

    It does not matter whether a tick without samples was judged or left out.
    """
    marks = (run.marks << tick.steps) & ((1 << (tick.ticks + STALE)) - 1)
    if not marks or tick.restarted:
        return started(tick, whole)
    age = tick.at - run.last
    if whole:
        if age - tick.every > STALE * tick.every:
            return started(tick, whole)
        marks |= 1
    elif age > STALE * tick.every:
        return Run(tick.at, run.last, 0)
    if tick.at - run.since >= tick.window and covered(marks, tick.ticks) < COVERED:
        return started(tick, whole)
    return Run(run.since, tick.newest if whole else run.last, marks)


def covered(marks: int, ticks: int) -> float:
    """The share of a window of so many ticks that was seen."""
    return (marks & ((1 << ticks) - 1)).bit_count() / ticks
