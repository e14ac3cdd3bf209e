"""Asks places what pods hold of the GPUs that their leases are promised: one question for each place and tick.

A place that fails, hangs or answers nonsense is unknown for its own leases, and spoils no other's (laws 1 and 11).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from lessor.domain.request import Place, spell
from lessor.domain.usage import Held, Subject
from lessor.ports import ProviderError

log = logging.getLogger(__name__)

LIMIT = timedelta(seconds=30)
"""A look at a place that takes longer is none; its calls have limits of their own."""

AT_ONCE = 8
"""So many questions are put to one place at the same time; others wait for their turn."""

MOST_LATE = 4
"""So many questions to one place may be given up on and go on all the same: it hangs, and is asked no more."""


@runtime_checkable
class Occupancy(Protocol):
    """A provider that knows what is held of GPUs that it has promised."""

    def held(self, place: Place, since: datetime, leases: Collection[str]) -> Mapping[str, Held]:
        """By lease, what pods had of its GPUs after `since`; leases of which nobody counts that are left out."""
        ...


class Holdings:
    """The places by their kind, each in threads of its own: one that hangs keeps no other waiting."""

    def __init__(self, kinds: Mapping[str, object], limit: timedelta = LIMIT) -> None:
        self._kinds = {name: kind for name, kind in kinds.items() if isinstance(kind, Occupancy)}
        self._limit = limit
        self._threads: dict[Place, ThreadPoolExecutor] = {}
        self._late: dict[Place, set[Future[Mapping[str, Held]]]] = {}

    async def of(self, subjects: Iterable[Subject], since: datetime) -> dict[str, Held]:
        """By lease, for those that have a namespace in a place that can be asked."""
        wanted: dict[Place, list[str]] = {}
        for one in subjects:
            if one.namespace and one.provider in self._kinds:
                wanted.setdefault(Place(one.provider, one.place), []).append(one.lease_id)
        found = await asyncio.gather(*(self._ask(place, since, leases) for place, leases in wanted.items()))
        return {lease: held for answer in found for lease, held in answer.items()}

    async def _ask(self, place: Place, since: datetime, leases: list[str]) -> Mapping[str, Held]:
        late = self._late[place] = {one for one in self._late.get(place, ()) if not one.done()}
        if len(late) >= MOST_LATE:
            problem = f"{place} has left {len(late)} questions unanswered; it is asked again when it answers them"
            return {lease: Held(problem=problem) for lease in leases}
        asking = self._threads_of(place).submit(self._kinds[place.provider].held, place, since, leases)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asking), self._limit.total_seconds())
        except ProviderError as error:
            problem = str(error)[:500] or f"{place} could not be read"
        except TimeoutError:
            problem = f"{place} gave no whole answer within {spell(self._limit)}"
        except Exception as error:
            log.exception("%s cannot be counted", place)
            problem = f"{place} could not be read ({type(error).__name__}); the worker's log says why"
        finally:
            if not asking.done():
                self._late[place].add(asking)
        return {lease: Held(problem=problem) for lease in leases}

    def _threads_of(self, place: Place) -> ThreadPoolExecutor:
        if place not in self._threads:
            self._threads[place] = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"holdings-{place.name}")
        return self._threads[place]
