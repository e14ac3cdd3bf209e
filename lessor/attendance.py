"""Use cases of people who go away and come back, and whom somebody means by a name. Part of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from lessor.domain.absence import Absence, announced
from lessor.domain.errors import Refused
from lessor.domain.naming import meant
from lessor.domain.people import Person
from lessor.ports import AbsenceBook, Directory

NAMED = 5
"""How many people a question of whom somebody means lists at most."""


class Attendance:
    """Holds the directory and the book of absences."""

    def __init__(self, directory: Directory, book: AbsenceBook, clock: Callable[[], datetime]) -> None:
        self._directory = directory
        self._book = book
        self._clock = clock

    async def away(self, person_id: str, until: datetime, delegate_id: str = "") -> Absence:
        """The person does not decide until then; `delegate_id` stands in, or whom the configuration names.

        What is returned names who really stands in now, if anybody does.

        Raises `Refused`: unknown-person, inactive, end-passed, too-long, own-delegate, inactive-delegate,
        delegate-away.
        """
        person = await self._known(person_id)
        delegate = await self._known(delegate_id) if delegate_id else None
        absence = announced(person, until, delegate, self._clock())
        await asyncio.to_thread(self._book.go_away, absence)
        return replace(absence, delegate=(await self._known(person.id)).delegate or absence.delegate)

    async def back(self, person_id: str) -> Person:
        """The person decides again; as they are known now, still away if their status in Slack says so.

        Raises `Refused` ("unknown-person").
        """
        person = await self._known(person_id)
        await asyncio.to_thread(self._book.come_back, person.id, self._clock())
        return await self._known(person.id)

    async def named(self, text: str) -> Person:
        """The one person of the configuration whom `text` means. Raises `Refused` ("unresolved") unless it is one."""
        people = meant(text, await self._directory.everybody())
        if len(people) == 1:
            return await self._known(people[0].id)
        known = await self._directory.person(text.strip()) if not people else None
        if known is not None:
            return known
        shown = text.strip()[:60]
        if not people:
            raise Refused("unresolved", f"nobody is '{shown}'; give an id or e-mail address of lessor.yaml")
        listed = ", ".join(f"{p.name or p.id} ({p.email or p.id})" for p in people[:NAMED])
        raise Refused("unresolved", f"'{shown}' may be {listed}; give the id or e-mail address of one of them")

    async def _known(self, any_id: str) -> Person:
        person = await self._directory.person(any_id)
        if person is None:
            raise Refused(
                "unknown-person",
                f"{any_id[:40]} is nobody of this organisation; nothing was changed. An administrator can add people "
                "in lessor.yaml under organisation.people",
            )
        return person
