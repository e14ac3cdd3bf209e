"""A timer that fires early, or together with something else, is no reason to act on a deadline that does not hold."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lessor.domain import life
from lessor.domain.deadlines import Due
from lessor.domain.lease import Lease
from tests.builders import ENDS, a_lease
from workflows import rhythm
from workflows.rhythm import Rhythm

WARNED = ENDS - timedelta(minutes=30)


class Sleeper(Rhythm):
    """Sleeps once over a lease whose end is all that is left to come; `while_asleep` happens just before the timer."""

    def __init__(self, lease: Lease, while_asleep: int = 0) -> None:
        self._fake = SimpleNamespace(lease=lease, changes=0)
        self._more = while_asleep
        super().__init__(self._fake)  # type: ignore[arg-type]

    async def slept(self, monkeypatch: pytest.MonkeyPatch, wakes: datetime) -> Due | None:
        clock = SimpleNamespace(now=WARNED)

        async def until_the_timer(*_: Any, **__: Any) -> None:
            self._fake.changes += self._more
            clock.now = wakes
            raise TimeoutError

        fake = SimpleNamespace(now=lambda: clock.now, wait_condition=until_the_timer)
        monkeypatch.setattr(rhythm, "workflow", fake)
        due = await self._sleep()
        return due.due if due else None


def fully_warned() -> Lease:
    lease = a_lease()
    for before in (timedelta(minutes=30), timedelta(minutes=15), timedelta(minutes=5)):
        lease = life.warned(lease, before, "slack:dm", WARNED).lease
    return lease


async def test_a_timer_that_fires_when_it_is_due_brings_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Sleeper(fully_warned()).slept(monkeypatch, wakes=ENDS) is Due.END


async def test_a_timer_that_fires_a_moment_early_brings_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    early = ENDS - timedelta(milliseconds=1)
    assert await Sleeper(fully_warned()).slept(monkeypatch, wakes=early) is None


async def test_what_happens_together_with_the_timer_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Sleeper(fully_warned(), while_asleep=1).slept(monkeypatch, wakes=ENDS) is None
