"""People as they are now: away or not, and who stands in for whom. Laid over any directory.

Standing in never passes on: whoever stands in for somebody decides with that person's own rights, not with those that
person was lent. A stand-in who is away or deactivated is passed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from lessor.domain.absence import Absence, is_away, stands_in
from lessor.domain.people import Person, StandIn
from lessor.overlay import Overlay
from lessor.ports import AbsenceBook, Directory, LedgerUnavailableError

log = structlog.get_logger(__name__)

Roll = Mapping[str, Absence]
"""The absences on record by the person's primary id."""


class AbsenceAware(Overlay):
    """`ports.Directory` over another one. A record that cannot be read leaves the last known absences standing."""

    def __init__(self, inner: Directory, book: AbsenceBook, clock: Callable[[], datetime]) -> None:
        super().__init__(inner)
        self._book = book
        self._clock = clock
        self._last: Roll = {}

    async def person(self, any_id: str) -> Person | None:
        person = await self._inner.person(any_id)
        return None if person is None else await self._completed(person, await self._roll())

    async def members(self, ref: str) -> tuple[Person, ...]:
        people = await self._inner.members(ref)
        roll = await self._roll() if people else {}
        return tuple([await self._completed(person, roll) for person in people])

    async def _roll(self) -> Roll:
        try:
            found = await asyncio.to_thread(self._book.absences, self._clock())
        except LedgerUnavailableError as error:
            log.warning("absences unread", why=str(error)[:200])
            return self._last
        self._last = {absence.person: absence for absence in found}
        return self._last

    async def _completed(self, person: Person, roll: Roll) -> Person:
        person = self._with_absence(person, roll)
        lent = () if is_away(person, self._clock()) or not person.active else await self._lent_to(person, roll)
        return replace(person, delegate=await self._delegate(person, roll), stands_in=lent)

    def _with_absence(self, person: Person, roll: Roll) -> Person:
        now, known = self._clock(), roll.get(person.id)
        ends = [at for at in (person.away_until, known.until if known else None) if at is not None and at > now]
        return replace(person, away_until=max(ends, default=None))

    async def _delegate(self, person: Person, roll: Roll) -> str:
        """The first of those named for this person who can decide now."""
        for name in _named(person, roll):
            delegate = await self._available(name, roll)
            if delegate is not None and not delegate.is_same(person.all_ids):
                return delegate.id
        return ""

    async def _available(self, any_id: str, roll: Roll) -> Person | None:
        found = await self._inner.person(any_id)
        if found is None or not found.active or is_away(self._with_absence(found, roll), self._clock()):
            return None
        return found

    async def _lent_to(self, person: Person, roll: Roll) -> tuple[StandIn, ...]:
        lent: list[StandIn] = []
        mine = person.all_ids
        for other in await self._inner.everybody():
            teams = {f"lead:{key}" for key in other.leads if self._team_delegate(key) in mine}
            if other.id != person.id and (teams or not mine.isdisjoint(_named(other, roll))):
                lent += await self._lent_by(other.id, person, frozenset(teams), roll)
        return tuple(lent)

    async def _lent_by(self, away_id: str, person: Person, teams: frozenset[str], roll: Roll) -> list[StandIn]:
        """What somebody lends to `person` while away: everything to their own stand-in, else what a team lends."""
        found = await self._inner.person(away_id)
        away = self._with_absence(found, roll) if found else None
        if away is None or not away.active or not is_away(away, self._clock()):
            return []
        delegate = await self._delegate(away, roll)
        if delegate:
            return [stands_in(away)] if delegate == person.id else []
        return [stands_in(away, teams)] if teams else []

    def _team_delegate(self, key: str) -> str:
        team = self._inner.team(key)
        return team.delegate if team else ""


def _named(person: Person, roll: Roll) -> Iterator[str]:
    """Whom the person named when going away, then whom the configuration names."""
    absence = roll.get(person.id)
    yield from (name for name in (absence.delegate if absence else "", person.delegate) if name)
