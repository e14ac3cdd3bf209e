"""People with the hours in which they work, in the zone where they are now. Laid over any directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfoNotFoundError

import structlog

from lessor.domain.people import Person
from lessor.domain.worktime import Hours
from lessor.overlay import Overlay
from lessor.ports import Directory
from lessor.when.hours import Week, written

log = structlog.get_logger(__name__)


class HoursAware(Overlay):
    """`ports.Directory` over another one. `week` says when the person with a primary id works; `None` for any time."""

    def __init__(self, inner: Directory, week: Callable[[str], Week | None], clock: Callable[[], datetime]) -> None:
        super().__init__(inner)
        self._week = week
        self._clock = clock

    async def person(self, any_id: str) -> Person | None:
        person = await self._inner.person(any_id)
        return None if person is None else self._with_hours(person)

    async def members(self, ref: str) -> tuple[Person, ...]:
        return tuple(self._with_hours(person) for person in await self._inner.members(ref))

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
