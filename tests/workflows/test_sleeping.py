"""A timer is the server's word that a deadline has come; what happens together with it is looked at first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lessor.domain import life
from lessor.domain.deadlines import Due
from lessor.domain.lease import Lease, State
from tests.builders import ENDS, a_lease
from workflows import rhythm
from workflows.rhythm import Rhythm

WARNED = ENDS - timedelta(minutes=30)


@dataclass
class Kept:
    """Stands in for the book: the lease, and the clock that it is judged by."""

    lease: Lease
    clock: datetime = WARNED
    reached: datetime = WARNED
    changes: int = 0

    @property
    def now(self) -> datetime:
        return max(self.clock, self.reached)

    def reach(self, at: datetime) -> None:
        self.reached = at


class Sleeper(Rhythm):
    """Sleeps once over a lease whose end is all that is left to come; `while_asleep` happens just before the timer."""

    def __init__(self, lease: Lease, while_asleep: int = 0) -> None:
        self.kept = Kept(lease)
        self._more = while_asleep
        super().__init__(self.kept)  # type: ignore[arg-type]

    async def slept(self, monkeypatch: pytest.MonkeyPatch, wakes: datetime) -> Due | None:
        async def until_the_timer(*_: Any, **__: Any) -> None:
            self.kept.changes += self._more
            self.kept.clock = wakes
            raise TimeoutError

        monkeypatch.setattr(rhythm, "workflow", SimpleNamespace(wait_condition=until_the_timer))
        due = await self._sleep()
        return due.due if due else None


def fully_warned() -> Lease:
    lease = a_lease()
    for before in (timedelta(minutes=30), timedelta(minutes=15), timedelta(minutes=5)):
        lease = life.warned(lease, before, "slack:dm", WARNED).lease
    return lease


async def test_a_timer_that_fires_when_it_is_due_brings_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Sleeper(fully_warned()).slept(monkeypatch, wakes=ENDS) is Due.END


async def test_where_the_clock_is_behind_the_timer_it_is_the_time_that_the_timer_was_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another machine of the server may be behind, and a replay may have read later times than the first run."""
    sleeper = Sleeper(fully_warned())
    assert await sleeper.slept(monkeypatch, wakes=ENDS - timedelta(seconds=9)) is Due.END
    assert sleeper.kept.now == ENDS
    assert life.end(sleeper.lease, sleeper.kept.now).lease.state is State.ENDING


async def test_what_happens_together_with_the_timer_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Sleeper(fully_warned(), while_asleep=1).slept(monkeypatch, wakes=ENDS) is None
