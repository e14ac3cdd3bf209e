"""When garbage is searched for: everything else in a process waits for a search.

Python would search among all that is alive each time that a fourth more has come to it: 0.2 seconds for what a bot has
loaded, twice that when thousands of commands wait, and one or two for a thousand leases that a worker holds; after two
Temporal's SDK takes a workflow for stuck.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from threading import Lock

QUIET_SECONDS = 2.0
"""Whoever has not been asked for anything for so long is unlikely to be while a search lasts."""

EVERY_SECONDS = 60.0
SELDOM_SECONDS = 300.0
"""Where nothing is known to have been thrown away, at a quiet moment: something always is."""

LONGEST_SECONDS = 600.0
"""One that is never quiet searches all the same, so that its memory has a bound."""

NEVER = 1_000_000_000


def settle() -> None:
    """Never search among what exists by now, and leave later searches for what is old to `Tidying`."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    gc.collect()
    gc.freeze()


class Bustle:
    """When somebody last asked for something. Any thread may tell it, and any may look."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = float("-inf")

    def stir(self) -> None:
        """Somebody asks for something now."""
        self._last = self._clock()

    def silent_for(self, seconds: float) -> bool:
        return self._clock() - self._last > seconds


class Turnover(Bustle):
    """When a workflow last had something to do, and how many have left the cache."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._thrown = 0
        self._lock = Lock()

    def seen(self, thrown: int) -> None:
        """One had something to do; so many have left by it."""
        self.stir()
        with self._lock:
            self._thrown += thrown

    def thrown(self) -> int:
        return self._thrown


class Tidying:
    """Searches for old garbage once a minute, at a quiet moment.

    `silent_for` says whether nobody has asked for anything for so many seconds. `litter` counts what has been thrown
    away so far, where that is known: without any since the last search there is hardly a reason for one, so it comes
    after five minutes; `most` of it is searched for at once. `clock` gives seconds, as `time.monotonic` does.
    """

    def __init__(
        self,
        silent_for: Callable[[float], bool],
        litter: Callable[[], int] | None = None,
        most: int = NEVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._silent_for = silent_for
        self._litter = litter
        self._most = most
        self._clock = clock
        self._searched(self._counted())

    def look(self) -> bool:
        """Search when it is due; whether it did."""
        counted = self._counted()
        if due := self._due(counted):
            gc.collect()
            self._searched(counted)
        return due

    async def keep(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            self.look()

    def _counted(self) -> int:
        return self._litter() if self._litter else 0

    def _due(self, counted: int) -> bool:
        since, thrown = self._clock() - self._last, counted - self._known
        if since >= LONGEST_SECONDS or thrown >= self._most:
            return True
        patience = EVERY_SECONDS if thrown or not self._litter else SELDOM_SECONDS
        return since >= patience and self._silent_for(QUIET_SECONDS)

    def _searched(self, counted: int) -> None:
        self._last, self._known = self._clock(), counted
