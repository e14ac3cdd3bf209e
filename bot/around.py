"""What stands around a request when people decide on it: whom each step asks, quota and budget, what is open already.

Both the gateway and the ledger itself can be asked, since cards are written by a worker, which has no gateway.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from lessor import approvers
from lessor.domain.approval import Step, stands_in_for, waiting
from lessor.domain.fleet_words import vacancy_words
from lessor.domain.lease import OPEN, Lease
from lessor.domain.lookalike import resembling
from lessor.domain.people import Person
from lessor.domain.quota import Kind
from lessor.domain.request import Need, Place
from lessor.domain.vacancy import Vacancy
from lessor.ports import Directory, LeaseQuery

if TYPE_CHECKING:
    from lessor.domain.budget import BudgetRoom
    from lessor.domain.quota import Headroom
    from lessor.gateway import Gateway

Find = Callable[[str], Awaitable[Person | None]]
"""A person by any id."""


@dataclass(frozen=True)
class Decider:
    """Somebody who can decide a step now, where `away` is set for that person, who is away until `away_until`."""

    id: str
    away: str = ""
    away_until: datetime | None = None


@dataclass(frozen=True)
class OpenStep:
    """A step that is asked now, beside the others of its stage, and who can decide it."""

    step: Step
    deciders: tuple[Decider, ...] = ()

    @property
    def further(self) -> tuple[str, ...]:
        """What it was opened to besides those first asked: ids of people, and names such as `admins`."""
        return tuple(ref.removeprefix("person:") for ref in self.step.escalated.split(", ") if ref)


@dataclass(frozen=True)
class Similar:
    """An open lease that the requester has already; `same` where it resembles what is asked for."""

    id: str
    need: Need
    state: str
    ends_at: datetime | None = None
    same: bool = False


@dataclass(frozen=True)
class Room:
    """What a ceiling would leave after the approval: `left` is `None` where a price is unknown."""

    scope: str
    what: str
    left: Decimal | None
    most: Decimal
    hard: bool = True

    @property
    def fits(self) -> bool:
        return self.left is None or self.left >= 0

    @property
    def words(self) -> str:
        """`3 of 8 A100-80GB left`, or that it is unknown."""
        most = f"{figure(self.most)} {self.what}"
        return f"unknown of {most} left" if self.left is None else f"{figure(self.left)} of {most} left"


@dataclass(frozen=True)
class Around:
    """`rooms` are quotas and budgets with what they would leave after the approval, `capacity` is what is free now."""

    steps: tuple[OpenStep, ...] = ()
    rooms: tuple[Room, ...] = ()
    similar: tuple[Similar, ...] = ()
    capacity: str = ""


NOTHING = Around()
SIMILAR_MOST = 20
_OPEN = tuple(state.value for state in OPEN)

Rooms = Callable[[Lease, datetime], Awaitable[tuple[Sequence["Headroom"], Sequence["BudgetRoom"]]]]
"""The ceilings that a lease counts against, as they are now."""


Vacancies = Callable[[Place, str], Awaitable[Vacancy]]
"""What is free of a model in a place; limited in time, since a card waits for it."""


async def on_demand(place: Place, model: str) -> Vacancy:
    """Where nobody counts what places have."""
    return Vacancy(place, model, on_demand=True)


async def no_rooms(lease: Lease, now: datetime) -> tuple[Sequence[Headroom], Sequence[BudgetRoom]]:
    """Where nobody keeps ceilings."""
    return (), ()


class Surroundings:
    """Looks around a lease for those who write its cards."""

    def __init__(
        self,
        directory: Directory,
        leases: Callable[[LeaseQuery], Awaitable[tuple[Lease, ...]]],
        rooms: Rooms,
        vacancies: Vacancies = on_demand,
    ) -> None:
        self._directory = directory
        self._leases = leases
        self._rooms = rooms
        self._vacancies = vacancies

    async def person(self, any_id: str) -> Person | None:
        return await self._directory.person(any_id)

    async def deciders(self, lease: Lease, steps: tuple[Step, ...], now: datetime) -> tuple[Person, ...]:
        """Who can decide one of `steps` now; nobody of those whose lease it is, or who asked for it."""
        known = await self._directory.person(lease.owner) or Person(lease.owner)
        requester = replace(known, ids=(*known.ids, *lease.requester_ids))
        return await approvers.able(self._directory, steps, requester, now)

    async def of(self, lease: Lease, steps: tuple[Step, ...], people: Sequence[Person], now: datetime) -> Around:
        """Everything; `people` are the deciders of `steps`."""
        asked = await open_steps(steps, people, lease.requester_ids, self._directory.person)
        held, budgets = await self._rooms(lease, now)
        rooms = after_approval(lease, held, budgets)
        query = LeaseQuery(owner_ids=tuple(sorted(lease.holder_ids)), states=_OPEN, limit=SIMILAR_MOST)
        found = await self._vacancies(lease.request.place, lease.model)
        return Around(asked, rooms, similar(await self._leases(query), lease), capacity(found, lease.gpus))


def capacity(found: Vacancy, count: int) -> str:
    """What is free now, in words; nothing where machines are made on demand."""
    return "" if found.on_demand else vacancy_words(found, count)


async def asked_now(gateway: Gateway, lease: Lease) -> Around:
    """Who can decide now, for a surface that has the gateway."""
    people = await gateway.eligible(lease)
    return Around(await open_steps(lease.steps, people, lease.requester_ids, gateway.person) if people else ())


def after_approval(lease: Lease, held: Sequence[Headroom], budgets: Sequence[BudgetRoom]) -> tuple[Room, ...]:
    """What quotas would leave once the lease holds its GPUs, and budgets, which count what it asks for already."""
    return (*(quota_room(one, lease.gpus) for one in held), *(budget_room(one) for one in budgets))


def quota_room(room: Headroom, wanted: int = 0) -> Room:
    """A ceiling for GPUs at once, with what is left of it after `wanted` more."""
    quota = room.quota
    return Room(quota.scope, quota.model or "GPUs", Decimal(room.free - wanted), Decimal(quota.gpus), quota.hard)


def budget_room(room: BudgetRoom) -> Room:
    """A monthly ceiling for GPU-hours or money."""
    what = " ".join(filter(None, (room.model, unit(room), "in", room.month)))
    return Room(room.scope, what, room.left, room.ceiling, room.hard)


def unit(room: BudgetRoom) -> str:
    """What a monthly ceiling counts in."""
    return "GPU-hours" if room.kind is Kind.GPU_HOURS else room.currency


def figure(amount: Decimal) -> str:
    """`1,250` or `12.50`."""
    return f"{amount:,.2f}".removesuffix(".00")


async def open_steps(
    steps: tuple[Step, ...], people: Sequence[Person], requester_ids: frozenset[str], find: Find
) -> tuple[OpenStep, ...]:
    """Each step that is asked now with those of `people` who can decide it, themselves or for somebody who is away."""
    found = []
    for step in waiting(steps):
        voted = frozenset(i for vote in step.votes for i in (vote.by, *vote.ids))
        open_to = [person for person in people if not person.is_same(voted)]
        deciders = [await _decider(step, person, requester_ids, find) for person in open_to]
        found.append(OpenStep(step, tuple(one for one in deciders if one)))
    return tuple(found)


def similar(leases: Sequence[Lease], lease: Lease) -> tuple[Similar, ...]:
    """The other leases among `leases`, which are open ones of the same people; those that are for the same first."""
    others = [one for one in leases if one.id != lease.id]
    alike = {one.id for one in resembling(lease, others)}
    found = (
        Similar(one.id, one.request.need, one.state.value.replace("-", " "), one.ends_at, one.id in alike)
        for one in others
    )
    return tuple(sorted(found, key=lambda one: not one.same))


async def _decider(step: Step, person: Person, requester_ids: frozenset[str], find: Find) -> Decider | None:
    if not person.refs.isdisjoint(step.approvers):
        return Decider(person.id)
    lender = stands_in_for(step, person, requester_ids)
    if lender is None:
        return None
    away = await find(lender.id)
    return Decider(person.id, lender.id, away.away_until if away else None)
