"""How long something is known without a break, tick by tick, in a few numbers however long the window is (case E01)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

STALE = 2
"""The newest sample may be so many intervals old; what is older breaks a run."""

COVERED = 0.9
"""The share of a window that has to be there: less breaks a run."""

MOST = 4_096
"""So many ticks are remembered at most. Where a window has more, each part of it as long as these has to be there."""


def ticks_of(window: timedelta, every: timedelta) -> int:
    """How many ticks of a window are remembered."""
    return min(max(window // every, 1), MOST)


@dataclass(frozen=True, slots=True)
class Tick:
    """One step of time. `begin` is where what starts in it is counted from, `ticks` how many are remembered.

    `steps` is how many ticks have gone by since the last one that was judged. `newest` is the time of the newest
    sample; `restarted` says that what was counted before is lost.
    """

    at: datetime
    begin: datetime
    every: timedelta
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

    It does not matter whether ticks without samples were judged or left out.
    """
    left_out = _shifted(run.marks, tick, tick.steps - 1)
    marks = _shifted(run.marks, tick, tick.steps)
    if not marks or tick.restarted or _thin(run, left_out, tick, tick.at - tick.every):
        return started(tick, whole)
    age = tick.at - run.last
    if whole:
        if age - tick.every > STALE * tick.every:
            return started(tick, whole)
        marks |= 1
    elif age > STALE * tick.every:
        return Run(tick.at, run.last, 0)
    if _thin(run, marks, tick, tick.at):
        return started(tick, whole)
    return Run(run.since, tick.newest if whole else run.last, marks)


def _shifted(marks: int, tick: Tick, steps: int) -> int:
    return (marks << max(steps, 0)) & ((1 << (tick.ticks + STALE)) - 1)


def _thin(run: Run, marks: int, tick: Tick, at: datetime) -> bool:
    """Whether too little was seen of the ticks before `at`; of a run that is shorter nothing is said yet."""
    return at - run.since >= tick.ticks * tick.every and covered(marks, tick.ticks) < COVERED


def covered(marks: int, ticks: int) -> float:
    """The share of a window of so many ticks that was seen."""
    return (marks & ((1 << ticks) - 1)).bit_count() / ticks
