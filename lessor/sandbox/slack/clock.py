"""Time as the sandbox sees it, so that three-second rules can be tested without waiting three seconds."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Any, Protocol


class Clock(Protocol):
    """What the sandbox asks of time; `now` is seconds since the Unix epoch."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Real time."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def in_time(clock: Clock, work: asyncio.Future[Any], seconds: float) -> bool:
    """Whether `work` is done within so many seconds of the clock's time; it goes on when it is not."""
    timer: asyncio.Future[Any] = asyncio.ensure_future(clock.sleep(seconds))
    await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
    timer.cancel()
    return work.done()


class ManualClock:
    """Time that moves only when told to: `await clock.advance(3.1)` wakes whoever slept for less."""

    def __init__(self, start: float = 1_780_300_800.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, waking sleepers in the order of their deadlines."""
        target = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            deadline, _, woken = heapq.heappop(self._sleepers)
            self._now = max(self._now, deadline)
            if not woken.done():
                woken.set_result(None)
            await self._settle()
        self._now = target
        await self._settle()

    async def _settle(self) -> None:
        # A woken task may start others; several turns of the loop let the chain run before time moves again.
        for _ in range(10):
            await asyncio.sleep(0)
