"""People with the hours in which they work, in the zone where they are now. Laid over any directory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfoNotFoundError

import structlog

from lessor.domain.people import Person, Presence
from lessor.domain.worktime import Hours
from lessor.ports import Directory, Team
from lessor.when.hours import Week, written

log = structlog.get_logger(__name__)


class HoursAware:
    """`ports.Directory` over another one. `week` says when the person with a primary id works; `None` for any time."""

    def __init__(self, inner: Directory, week: Callable[[str], Week | None], clock: Callable[[], datetime]) -> None:
        self._inner = inner
        self._week = week
        self._clock = clock

    async def person(self, any_id: str) -> Person | None:
        person = await self._inner.person(any_id)
        return None if person is None else self._with_hours(person)

    async def members(self, ref: str) -> tuple[Person, ...]:
        return tuple(self._with_hours(person) for person in await self._inner.members(ref))

    async def everybody(self) -> tuple[Person, ...]:
        return await self._inner.everybody()

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        return await self._inner.presences(ids)

    def team(self, key: str) -> Team | None:
        return self._inner.team(key)

    def _with_hours(self, person: Person) -> Person:
        return replace(person, hours=self._hours(person))

    def _hours(self, person: Person) -> Hours | None:
        week = self._week(person.id)
        if week is None:
            return None
        try:
            return written(week, person.tz, self._clock())
        except (ZoneInfoNotFoundError, ValueError) as error:
            log.warning("hours-unknown", person=person.id, zone=person.tz[:60], why=str(error)[:200])
            return None
