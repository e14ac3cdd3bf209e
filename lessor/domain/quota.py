"""How much may be held or spent, by whom. The numbers come from the ledger, in the transaction that reserves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from lessor.domain.errors import Refused

EVERY = "*"
"""Stands for each key of its kind in a scope: `team:*` gives every team a ceiling of its own."""


class Kind(StrEnum):
    """What a ceiling counts: GPUs held at once, GPU-hours in a calendar month, or money in one."""

    GPUS = "gpus"
    GPU_HOURS = "gpu-hours"
    MONEY = "money"


class Then(StrEnum):
    """What follows when a month's money is used up: people are told, no new request is taken, or leases end as well."""

    ALERT = "alert"
    FREEZE = "freeze"
    END = "end"


@dataclass(frozen=True)
class Account:
    """Whom a lease counts for. `person` is one id for each human being, whatever id they came with."""

    team: str
    project: str = ""
    person: str = ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """`team:KEY`, `project:KEY` and `person:ID`, those that there are."""
        named = (("team", self.team), ("project", self.project), ("person", self.person))
        return tuple(f"{kind}:{key}" for kind, key in named if key)


@dataclass(frozen=True)
class Ceiling:
    """The most of one kind for one scope: `team:KEY`, `project:KEY`, `person:ID` or `cohort:NAME`.

    An empty `model` counts all GPU models together. What is not `hard` warns and never refuses. `borrow` is how far a
    team may go beyond it while its cohort has GPUs to spare; `teams` are the members of a cohort. `then` is what
    follows when money is used up.
    """

    scope: str
    most: Decimal
    kind: Kind = Kind.GPUS
    model: str = ""
    hard: bool = True
    borrow: int = 0
    teams: tuple[str, ...] = ()
    then: Then = Then.ALERT

    @property
    def gpus(self) -> int:
        return int(self.most)

    def counts(self, account: Account, model: str) -> bool:
        """Whether what `account` has of `model` counts against this."""
        mine = account.team in self.teams if self.teams else self.scope in account.scopes
        return mine and self.model in ("", model)


@dataclass(frozen=True)
class Cohort:
    """Teams that lend each other the GPUs that they do not use; `borrow` is how many each may take beyond its own."""

    name: str
    teams: tuple[str, ...]
    borrow: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reservation:
    """GPUs that one open lease counts for its team, project and person."""

    lease_id: str
    team: str
    model: str
    gpus: int
    project: str = ""
    person: str = ""

    @property
    def account(self) -> Account:
        return Account(self.team, self.project, self.person)


@dataclass(frozen=True)
class Headroom:
    """One ceiling for GPUs at once with what is used of it now; `borrow` is what others of the cohort can spare."""

    quota: Ceiling
    used: int
    borrow: int = 0

    @property
    def free(self) -> int:
        return self.quota.gpus + self.borrow - self.used


@dataclass(frozen=True)
class QuotaPlan:
    """All ceilings of an organisation, and what belongs to counting: its currency, the zone of its months, its alerts.

    `people` leads from every known id of a person, in lower case, to the one that is counted by. `thresholds` are
    percentages of a ceiling at which people are told.
    """

    ceilings: tuple[Ceiling, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    currency: str = "USD"
    tz: str = "UTC"
    thresholds: tuple[int, ...] = (50, 80, 100)
    people: Mapping[str, str] = field(default_factory=dict)

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects that have a ceiling of their own."""
        scopes = (one.scope.partition(":") for one in self.ceilings)
        return tuple(dict.fromkeys(key for kind, _, key in scopes if kind == "project" and key not in ("", EVERY)))

    def account(self, team: str, project: str, person: str) -> Account:
        """Whom a lease of these counts for; `person` is any of the person's ids, and a project has one spelling."""
        return Account(team, project.strip().casefold(), self.people.get(person.casefold(), person))

    def of(self, account: Account, model: str = "") -> tuple[Ceiling, ...]:
        """The ceilings that a lease of `account` and `model` counts against, those of all models if `model` is empty.

        A line for one key stands instead of the line for every key of its kind, for the same count, model and hardness.
        """
        own = [c for scope in account.scopes for c in self._for(scope) if not model or c.model in ("", model)]
        cohort = next((c for c in self.cohorts if account.team in c.teams), None)
        return tuple(own) if cohort is None else self._shared(own, cohort, account.team)

    def lends(self, team: str) -> bool:
        """Whether the team has a ceiling that its cohort can count with."""
        return any(c.kind is Kind.GPUS and c.hard for c in self._for(f"team:{team}"))

    def _for(self, scope: str) -> tuple[Ceiling, ...]:
        kind = scope.partition(":")[0]
        named = [c for c in self.ceilings if c.scope == scope]
        taken = {(c.kind, c.model, c.hard) for c in named}
        rest = [c for c in self.ceilings if c.scope == f"{kind}:{EVERY}" and (c.kind, c.model, c.hard) not in taken]
        return (*named, *(replace(c, scope=scope) for c in rest))

    def _shared(self, own: list[Ceiling], cohort: Cohort, team: str) -> tuple[Ceiling, ...]:
        """With the cohort's own ceiling for each model that all of its members have one for: only that can be lent."""
        found: list[Ceiling] = []
        for one in own:
            together = None
            if one.scope == f"team:{team}" and one.kind is Kind.GPUS and one.hard:
                together = self._together(cohort, one.model)
            if together is None:
                found.append(one)
            else:
                found += [replace(one, borrow=cohort.borrow.get(team, 0)), together]
        return tuple(found)

    def _together(self, cohort: Cohort, model: str) -> Ceiling | None:
        members = [
            next((c for c in self._for(f"team:{team}") if c.kind is Kind.GPUS and c.hard and c.model == model), None)
            for team in cohort.teams
        ]
        if any(member is None for member in members):
            return None
        most = sum((member.most for member in members if member), Decimal(0))
        return Ceiling(f"cohort:{cohort.name}", most, Kind.GPUS, model, teams=cohort.teams)


def headroom(ceilings: Iterable[Ceiling], held: Iterable[Reservation]) -> tuple[Headroom, ...]:
    """The ceilings for GPUs at once, with what `held`, the open reservations, use of them."""
    known = list(held)
    rooms = [Headroom(c, _used(c, known)) for c in ceilings if c.kind is Kind.GPUS]
    spare = {(r.quota.teams, r.quota.model): r.free for r in rooms if r.quota.teams}
    return tuple(replace(room, borrow=_lent(room, spare)) if room.quota.borrow else room for room in rooms)


def check(wanted: Reservation, ceilings: Iterable[Ceiling], held: Iterable[Reservation]) -> None:
    """Raise `Refused` ("quota") with the numbers when `wanted` does not fit beside what others hold."""
    others = [r for r in held if r.lease_id != wanted.lease_id]
    for room in headroom(ceilings, others):
        if room.quota.hard and wanted.gpus > room.free and room.quota.counts(wanted.account, wanted.model):
            raise Refused("quota", _too_many(room, wanted.gpus))


def spell_scope(scope: str) -> str:
    """A scope in a sentence: `team ml`."""
    return scope.replace(":", " ", 1)


def _used(ceiling: Ceiling, held: list[Reservation]) -> int:
    return sum(r.gpus for r in held if ceiling.counts(r.account, r.model))


def _lent(room: Headroom, spare: Mapping[tuple[tuple[str, ...], str], int]) -> int:
    """How far beyond its own ceiling the team can go now: what it may borrow, as far as its cohort has it to spare."""
    own = room.quota
    team = own.scope.partition(":")[2]
    free = next((left for (teams, model), left in spare.items() if team in teams and model == own.model), 0)
    return max(min(own.borrow, room.used + free - own.gpus), 0)


def _too_many(room: Headroom, wanted: int) -> str:
    what = f"{room.quota.model} GPUs" if room.quota.model else "GPUs"
    who = spell_scope(room.quota.scope)
    kind = room.quota.scope.partition(":")[0]
    more = "1 more does" if wanted == 1 else f"{wanted} more do"
    if kind == "cohort":
        return (
            f"the teams of {who} may hold {room.quota.gpus} {what} together and hold {room.used}; {more} not fit, "
            "since they are lent to each other. Release a lease of one of them, ask a team to give back what it "
            "borrowed, or ask an administrator for more quota."
        )
    lent = f" and borrow {room.borrow} now" if room.quota.borrow else ""
    return (
        f"{who} may hold {room.quota.gpus} {what}{lent} and holds {room.used}; {more} not fit. "
        f"Release a lease of the {kind} or ask an administrator for more quota."
    )
