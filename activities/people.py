"""Looks for owners and approvers whose accounts do not work any more, and tells their leases. One batch, once a day."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from temporalio import activity

from activities.batches import each, trouble
from activities.beating import beating
from lessor.contracts import OwnerLeft, PayerInput, PeopleReport
from lessor.domain import offboarding
from lessor.domain.approval import Step
from lessor.domain.lease import OPEN, Lease
from lessor.domain.offboarding import Circles, is_offered
from lessor.domain.ownership import MOVABLE
from lessor.domain.pending import Payer
from lessor.domain.people import Person, Presence, Team
from lessor.ports import Directory, DirectoryUnavailableError, LeaseQuery, LeaseRuns, Ledger
from lessor.when.calendar import Calendar

PAGE = 200
NAMED = 200
"""How many ids a report carries at most; the counts are whole."""


class PeopleActivities:
    """Holds the directory, the ledger and the workflows of leases."""

    def __init__(
        self,
        directory: Directory,
        ledger: Ledger,
        runs: LeaseRuns,
        clock: Callable[[], datetime],
        calendar: Calendar | None = None,
    ) -> None:
        self._directory = directory
        self._ledger = ledger
        self._runs = runs
        self._clock = clock
        self._calendar = calendar or Calendar()

    @activity.defn
    async def payer(self, wanted: PayerInput) -> Payer:
        """What is copied into a lease that comes to another owner or team; of a team that is no more, its key."""
        found = self._directory.team(wanted.team) or Team(wanted.team)
        awake = self._calendar.awake(wanted.tz, self._clock(), wanted.life)
        return Payer(found.key, found.cost_center, found.lead, awake)

    @activity.defn
    async def sweep_people(self) -> PeopleReport:
        """Tell leases whose owner has left, and those that wait for somebody who has. Unknown is not gone (law 1)."""
        async with beating():
            leases = await asyncio.to_thread(self._open)
            owners = {lease.owner for lease in leases}
            seen = await self._directory.presences(owners)
            gone = {one for one in owners if seen.get(one) is Presence.GONE}
            brake = offboarding.braked(len(gone - await self._marked()), len(owners))
            if brake:
                return PeopleReport(len(leases), len(owners), _unknown(seen, owners), brake=brake)
            told = await each(self._abandoned(leases, gone), self._tell)
            asked = await each(self._waiting(leases), self._restaff)
        return PeopleReport(
            len(leases),
            len(owners),
            _unknown(seen, owners),
            left=_ids(told),
            restaffed=_ids(asked),
            problem="; ".join(p for p in (trouble(told), trouble(asked)) if p),
        )

    def _open(self) -> list[Lease]:
        found: list[Lease] = []
        while page := self._ledger.leases(
            LeaseQuery(states=tuple(OPEN), after=found[-1].id if found else "", limit=PAGE)
        ):
            found += page
        return found

    async def _marked(self) -> set[str]:
        """Ids of those whom the configuration itself calls inactive: nobody mistakes that for a fault of Slack."""
        return {i for person in await self._directory.everybody() if not person.active for i in person.all_ids}

    def _abandoned(self, leases: Iterable[Lease], gone: Collection[str]) -> list[Lease]:
        known = (lease for lease in leases if lease.owner in gone and lease.state in MOVABLE)
        return [lease for lease in known if not is_offered(lease) or (lease.transfer and lease.transfer.held)]

    def _waiting(self, leases: Iterable[Lease]) -> list[Lease]:
        return [lease for lease in leases if _open_steps(lease)]

    async def _tell(self, lease: Lease) -> bool:
        circles, held = await self._circles(lease)
        if is_offered(lease) and held:
            return False
        return await self._runs.owner_left(lease.id, OwnerLeft(lease.owner, circles, held))

    async def _circles(self, lease: Lease) -> tuple[Circles, bool]:
        """Whom to ask, and whether others hold the lease too. Nobody inactive is among them."""
        team = lease.request.team
        holders = await self._active(one.id for one in lease.co_owners if not one.id.startswith("team:"))
        found = self._directory.team(team)
        leads = await self._active((lease.request.lead, found.lead if found else ""))
        stand_ins = await self._active(lead.delegate for lead in leads)
        owner = frozenset((lease.owner, *lease.owner_ids))
        members = any(p.active and not p.is_same(owner) for p in await self._directory.members(f"team:{team}"))
        admins = any(p.active for p in await self._directory.members("admins"))
        held = bool(holders) or (f"team:{team}" in lease.holder_ids and members)
        near = [p for p in (*leads, *stand_ins) if not p.is_same(owner)]
        return offboarding.circles(lease, holders, near, members, admins), held

    async def _active(self, ids: Iterable[str]) -> list[Person]:
        people = [await self._directory.person(one) for one in dict.fromkeys(ids) if one]
        return [person for person in people if person is not None and person.active]

    async def _restaff(self, lease: Lease) -> bool:
        """Tell it if one of those who are asked has left; a group that cannot be read has not changed (law 1)."""
        try:
            members = {ref: await self._directory.members(ref) for step in _open_steps(lease) for ref in step.approvers}
        except DirectoryUnavailableError:
            return False
        return _changed(_open_steps(lease), members) and await self._runs.restaff(lease.id)


def _open_steps(lease: Lease) -> Sequence[Step]:
    """The steps that still wait for somebody: of the request, or of a wish for a later end."""
    asked = lease.steps if lease.asked_at and lease.decided_at is None else ()
    return [step for step in (*asked, *(lease.wish.steps if lease.wish else ())) if not step.done]


def _changed(steps: Iterable[Step], members: Mapping[str, Sequence[Person]]) -> bool:
    """Whether somebody who is asked has left, or nobody is behind a reference any more."""
    refs = {ref for step in steps for ref in step.approvers}
    return any(not members[ref] or any(not person.active for person in members[ref]) for ref in refs)


def _unknown(seen: Mapping[str, Presence], owners: Collection[str]) -> int:
    return sum(seen.get(one, Presence.UNKNOWN) is Presence.UNKNOWN for one in owners)


def _ids(answers: Iterable[tuple[Lease, object]]) -> tuple[str, ...]:
    return tuple(lease.id for lease, answer in answers if answer is True)[:NAMED]
