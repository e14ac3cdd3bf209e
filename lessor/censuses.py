"""Reads places beside each other, each in a thread of its own and for a limited time, and keeps what was read shortly.

A place that does not answer keeps nobody waiting but those who ask for it, and never more than one thread: while an
old reading hangs no new one is begun. What was not read is a census with a problem, never an empty one (law 1).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog

from lessor.aside import aside
from lessor.domain.pools import Census
from lessor.domain.request import Place, spell
from lessor.ports import ProviderError

KEEP = timedelta(seconds=30)
"""How old a reading may be that is shown again; forms ask at every choice."""

KEEP_FAILED = timedelta(seconds=10)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Kept:
    census: Census
    until: datetime


class Censuses:
    """The latest reading of each place. `read` is called in a thread; what it raises becomes a problem."""

    def __init__(
        self,
        read: Callable[[Place], Census],
        clock: Callable[[], datetime],
        keep: timedelta = KEEP,
        keep_failed: timedelta = KEEP_FAILED,
    ) -> None:
        self._read = read
        self._clock = clock
        self._keep = keep
        self._keep_failed = keep_failed
        self._lock = threading.Lock()
        self._kept: dict[Place, _Kept] = {}
        self._reading: dict[Place, Future[Census]] = {}

    async def of(self, place: Place, within: timedelta) -> Census:
        """What the place has. One that does not answer in time is unknown, and its reading goes on for the next."""
        found = self._kept_or_begun(place)
        if isinstance(found, Census):
            return found
        reading = asyncio.wrap_future(found)
        done, _ = await asyncio.wait({reading}, timeout=within.total_seconds())
        if done:
            return reading.result()
        reading.cancel()
        return Census(place, self._clock(), problem=f"{place} did not answer within {spell(within)}")

    def reading(self, place: Place) -> bool:
        """Whether the place is being read, so that what it has is soon known."""
        with self._lock:
            return place in self._reading

    def latest(self) -> tuple[Census, ...]:
        """What was read last of each place, however long ago: for names, never for numbers."""
        with self._lock:
            return tuple(kept.census for kept in self._kept.values())

    def warm(self, place: Place) -> None:
        """Begin to read the place, so that who asks next need not wait."""
        self._kept_or_begun(place)

    def _kept_or_begun(self, place: Place) -> Census | Future[Census]:
        """What was read shortly, else the reading under way, else a new one."""
        with self._lock:
            kept = self._kept.get(place)
            if kept and self._clock() < kept.until:
                return kept.census
            running = self._reading.get(place)
            if running is None:
                running = self._reading[place] = aside(partial(self._run, place), f"census {place.name}")
            return running

    def _run(self, place: Place) -> Census:
        census = self._taken(place)
        keep = self._keep if census.complete else self._keep_failed
        with self._lock:
            self._kept[place] = _Kept(census, self._clock() + keep)
            del self._reading[place]
        return census

    def _taken(self, place: Place) -> Census:
        began = self._clock()
        try:
            return self._read(place)
        except ProviderError as error:
            return Census(place, began, problem=str(error)[:500] or f"{place} could not be read")
        except Exception as error:
            log.exception("census-failed", place=str(place))
            return Census(place, began, problem=f"{place} could not be read ({type(error).__name__})")
