"""Tells leases what changed of what they do. What was heard goes on record in small lots: the rest is told again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from activities.batches import each, trouble
from activities.fleet import Watched
from lessor import contracts
from lessor.domain import telling
from lessor.domain.idle import Standing
from lessor.domain.judging import QUIET, evidence
from lessor.domain.telling import Heard
from lessor.domain.worktime import Hours
from lessor.ports import Directory, DirectoryUnavailableError, LeaseRuns, MeterBook

LOT = 100
"""So many are told before it goes on record who has heard it; after a crash no more than these hear it twice."""

Due = tuple[Standing, Watched]


class Teller:
    """Holds the record of who has heard what, and the workflows of leases."""

    def __init__(self, book: MeterBook, runs: LeaseRuns, directory: Directory) -> None:
        self._book = book
        self._runs = runs
        self._directory = directory

    async def words(self, standing: Standing, one: Watched, every: timedelta) -> contracts.Metered:
        """What a lease is told of where it stands, with when its owner works."""
        hours = await self._hours(one.lease.owner)
        return contracts.Metered(evidence(standing, one.terms, every), one.terms, hours)

    async def tell(
        self,
        standings: Sequence[Standing],
        fleet: Mapping[str, Watched],
        at: datetime,
        every: timedelta,
        *,
        quiet: bool,
    ) -> tuple[tuple[str, ...], str]:
        """Those that were told, and what went wrong. With `quiet` no lease hears that it is idle."""
        heard = await asyncio.to_thread(self._book.heard)
        found = sorted(_due(standings, fleet, heard, quiet), key=lambda due: due[0].verdict in QUIET)
        gone = heard.keys() - {one.lease_id for one in standings}
        if gone:
            await asyncio.to_thread(self._book.hear, dict.fromkeys(gone), at)
        told: list[str] = []
        problems = []
        for first in range(0, len(found), LOT):
            answers = await each(found[first : first + LOT], lambda due: self._tell(due, every))
            done = [one for one, answer in answers if isinstance(answer, bool)]
            words = {standing.lease_id: telling.kept(standing, one.mark) for standing, one in done}
            await asyncio.to_thread(self._book.hear, words, at)
            told += words
            problems.append(trouble(answers))
        return tuple(told), "; ".join(problem for problem in problems if problem)

    async def _tell(self, due: Due, every: timedelta) -> bool:
        """False when it has no open workflow: then there is nobody to hear it, and the sweep sees to that."""
        standing, one = due
        return await self._runs.metered(standing.lease_id, await self.words(standing, one, every))

    async def _hours(self, owner: str) -> Hours | None:
        """Unknown while nobody can be asked: the lease goes by the hours that it knows."""
        try:
            person = await self._directory.person(owner)
        except DirectoryUnavailableError:
            return None
        return person.hours if person else None


def _due(
    standings: Iterable[Standing], fleet: Mapping[str, Watched], heard: Mapping[str, Heard], quiet: bool
) -> Iterator[Due]:
    for standing in standings:
        one = fleet.get(standing.lease_id)
        if one is None or (quiet and standing.verdict in QUIET):
            continue
        if telling.due(heard.get(standing.lease_id), standing, one.mark):
            yield standing, one
