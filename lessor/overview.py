"""What all open leases come to: how many, on how many GPUs, at what price, and what waits for whom.

Part of the gateway. A lease is read from the record again only when its revision has changed, so that a page that is
looked at by many costs one small query.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from lessor import approvers
from lessor.domain.awaited import Wait, waits
from lessor.domain.lease import OPEN, Lease, State
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.ports import Directory, DirectoryUnavailableError, LeaseBook, LeaseQuery

SLACK_GROUP = "slack-group:"
CHUNK = 500
"""So many leases are read at once."""


@dataclass(frozen=True)
class Sum:
    """Money by currency; `unknown` counts the leases that have no known amount, and so are in none (law 1)."""

    amounts: tuple[Money, ...] = ()
    unknown: int = 0


@dataclass(frozen=True)
class Holding:
    """What one team has: open leases, GPUs that run now, and what these cost an hour."""

    team: str
    leases: int
    gpus: int
    hourly: Sum


@dataclass(frozen=True)
class Pending:
    """What a lease waits for. `people` can answer now; `unresolved` are references whose people are not known now."""

    lease: Lease
    wait: Wait
    people: tuple[Person, ...] = ()
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overview:
    """All open leases at one instant; `cost` is what they cost so far, `pending` begins with the oldest."""

    at: datetime
    states: dict[State, int]
    leases: int
    gpus: int
    hourly: Sum
    cost: Sum
    teams: tuple[Holding, ...]
    pending: tuple[Pending, ...]


class Overlooking:
    """Looks over what is open, again and again."""

    def __init__(self, book: LeaseBook, directory: Directory, clock: Callable[[], datetime]) -> None:
        self._book = book
        self._directory = directory
        self._clock = clock
        self._known: dict[str, Lease] = {}
        self._turn = asyncio.Lock()

    async def now(self) -> Overview:
        """Everything that is open. Raises `LedgerUnavailableError`."""
        async with self._turn:
            leases = await asyncio.to_thread(self._open)
        at = self._clock()
        found = [(lease, wait) for lease in leases for wait in waits(lease)]
        found.sort(key=lambda one: (one[1].since or at, one[0].id))
        running = [lease for lease in leases if _runs(lease)]
        return Overview(
            at,
            dict(Counter(lease.state for lease in leases)),
            len(leases),
            sum(lease.gpus for lease in running),
            _sum(_hourly(lease) for lease in running),
            _sum(lease.cost(at) for lease in leases),
            tuple(_holdings(leases)),
            tuple([await self._pending(lease, wait, at) for lease, wait in found]),
        )

    def _open(self) -> tuple[Lease, ...]:
        revisions = self._book.revisions(*OPEN)
        kept = {one: lease for one, lease in self._known.items() if revisions.get(one) == lease.revision}
        missing = sorted(revisions.keys() - kept.keys())
        for start in range(0, len(missing), CHUNK):
            ids = tuple(missing[start : start + CHUNK])
            kept |= {lease.id: lease for lease in self._book.leases(LeaseQuery(ids=ids, limit=CHUNK))}
        self._known = kept
        return tuple(lease for _, lease in sorted(kept.items()) if not lease.final)

    async def _pending(self, lease: Lease, wait: Wait, at: datetime) -> Pending:
        try:
            people = await self._answering(lease, wait, at)
            return Pending(lease, wait, people, await self._unread(wait))
        except DirectoryUnavailableError:
            return Pending(lease, wait, unresolved=wait.who or wait.steps[0].approvers)

    async def _unread(self, wait: Wait) -> tuple[str, ...]:
        """Groups of Slack, whose members this directory may not know: that nobody is found is not that nobody is in."""
        refs = dict.fromkeys(ref for step in wait.steps for ref in step.approvers if ref.startswith(SLACK_GROUP))
        return tuple([ref for ref in refs if not await self._directory.members(ref)])

    async def _answering(self, lease: Lease, wait: Wait, at: datetime) -> tuple[Person, ...]:
        if wait.steps:
            known = await self._directory.person(lease.owner) or Person(lease.owner)
            requester = replace(known, ids=(*known.ids, *lease.requester_ids))
            return await approvers.able(self._directory, wait.steps, requester, at)
        found = {one.id: one for ref in wait.who for one in await self._directory.members(ref)}
        return tuple(found.values())


def _runs(lease: Lease) -> bool:
    return bool(lease.spans) and lease.spans[-1].end is None


def _hourly(lease: Lease) -> Money | None:
    return lease.spans[-1].hourly


def _sum(amounts: Iterable[Money | None]) -> Sum:
    sums: dict[str, Money] = {}
    unknown = 0
    for one in amounts:
        if one is None:
            unknown += 1
        else:
            sums[one.currency] = sums[one.currency] + one if one.currency in sums else one
    return Sum(tuple(sums[currency] for currency in sorted(sums)), unknown)


def _holdings(leases: Iterable[Lease]) -> Iterator[Holding]:
    by_team = sorted(leases, key=lambda lease: lease.request.team)
    for team, those in groupby(by_team, key=lambda lease: lease.request.team):
        held = list(those)
        running = [lease for lease in held if _runs(lease)]
        yield Holding(team, len(held), sum(one.gpus for one in running), _sum(_hourly(one) for one in running))
