"""When garbage is searched for: acknowledgements wait for a search as everything else does.

Python would search among all that is alive each time that a fourth more has come to it: 0.2 seconds for what a bot has
loaded, and twice that when thousands of commands wait for a ledger or a cloud that hangs.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

from bot.background import Front, Workshop

QUIET_SECONDS = 2.0
"""Whoever has not been knocked at for so long is unlikely to be while a search lasts."""

EVERY_SECONDS = 60.0
LONGEST_SECONDS = 600.0
"""One that is never quiet searches all the same, so that its memory has a bound."""

NEVER = 1_000_000_000


def begin_tidying(workshop: Workshop, front: Front) -> asyncio.Future[None]:
    """Call it once everything is put together. Searches on in the workshop until it is cancelled."""
    settle()
    return asyncio.ensure_future(workshop.do(Tidying(front, time.monotonic).keep()))


def settle() -> None:
    """Never search among what exists by now, and leave later searches for what is old to `Tidying`."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    gc.collect()
    gc.freeze()


class Tidying:
    """Searches for old garbage once a minute, at a quiet moment. `clock` gives seconds, as `time.monotonic` does."""

    def __init__(self, front: Front, clock: Callable[[], float]) -> None:
        self._front = front
        self._clock = clock
        self._last = clock()

    def look(self) -> bool:
        """Search when it is due; whether it did."""
        since = self._clock() - self._last
        due = since >= LONGEST_SECONDS or (since >= EVERY_SECONDS and self._front.silent_for(QUIET_SECONDS))
        if due:
            gc.collect()
            self._last = self._clock()
        return due

    async def keep(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            self.look()
