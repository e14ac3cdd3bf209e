"""Work that goes on after the acknowledgement: kept alive, its failures logged in one place, drained at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


class Background:
    """Tasks that nobody awaits; a failed one is logged with what it was doing and spoils no other."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], what: str) -> asyncio.Task[Any]:
        """Run it; the task's result is what the work gave, `None` when it failed."""
        task = asyncio.create_task(self._guarded(work, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    async def idle(self) -> None:
        """Return when all that runs now has ended."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def drain(self, seconds: float = 5.0) -> None:
        """Let running work finish for so long, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _guarded(self, work: Coroutine[Any, Any, Any], what: str) -> Any:
        try:
            return await work
        except Exception:
            log.exception("work after an acknowledgement failed", what=what)
            return None
