"""Who somebody is, whatever id they came with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lessor.domain.worktime import Hours


class Presence(StrEnum):
    """Whether somebody's account still works. What could not be read is unknown, and unknown is not gone (law 1)."""

    HERE = "here"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StandIn:
    """Somebody for whom a person decides while they are away: their ids, and the references that mean them."""

    id: str
    ids: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Person:
    """One human being.

    `id` is the primary Slack user id; `ids` are all ids of the same person (U- and W-forms, e-mail aliases); `email`
    counts as one of them. Ids are compared without regard to case, and an empty one is nobody's. `teams` are the team
    keys that the person belongs to, `leads` the teams they lead, `groups` the approver groups of the configuration.
    `tz` is an IANA zone name, `hours` when the person works. `budgets` are the teams whose budget they own,
    `delegate` is the id of who stands in for them, `away_until` is set while they are out of office, and `stands_in`
    are those for whom they decide meanwhile. `slack_groups` are the user groups of Slack they belong to, spelled as the
    configuration does. `listed` is false for those whom the configuration itself calls inactive, whatever Slack says.
    """

    id: str
    ids: tuple[str, ...] = ()
    name: str = ""
    email: str = ""
    tz: str = "UTC"
    teams: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    admin: bool = False
    active: bool = True
    budgets: tuple[str, ...] = ()
    delegate: str = ""
    away_until: datetime | None = None
    stands_in: tuple[StandIn, ...] = ()
    hours: Hours | None = None
    slack_groups: tuple[str, ...] = ()
    listed: bool = True

    @property
    def all_ids(self) -> frozenset[str]:
        return frozenset(i for i in (self.id, *self.ids, self.email.lower()) if i)

    @property
    def refs(self) -> frozenset[str]:
        """The references that mean this person: `person:ID`, `group:NAME`, `slack-group:HANDLE`, `team:KEY`,
        `lead:TEAM`, `budget-owner:TEAM`, `admins`.
        """
        refs = {f"person:{i}" for i in self.all_ids} | {f"team:{t}" for t in self.teams}
        refs |= {f"group:{g}" for g in self.groups} | {f"lead:{t}" for t in self.leads}
        refs |= {f"slack-group:{g}" for g in self.slack_groups} | {f"budget-owner:{t}" for t in self.budgets}
        return frozenset(refs | {"admins"} if self.admin else refs)

    def is_same(self, ids: frozenset[str]) -> bool:
        mine = {i.casefold() for i in self.all_ids}
        return not mine.isdisjoint(i.casefold() for i in ids)


@dataclass(frozen=True)
class Team:
    """A team of the configuration; `lead`, `delegate` and `budget_owner` are people's ids, `channel` one of Slack."""

    key: str
    name: str = ""
    lead: str = ""
    channel: str = ""
    cost_center: str = ""
    delegate: str = ""
    budget_owner: str = ""
    schedule: str = ""
