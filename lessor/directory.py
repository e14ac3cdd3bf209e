"""Who people are, as the configuration has it: several ids and addresses may mean one person."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lessor.config.configuration import Config
from lessor.config.model import PersonConfig
from lessor.domain.people import Person, Presence
from lessor.ports import Team


class ConfigDirectory:
    """The people, teams and groups of a configuration. Implements `ports.Directory`; nothing here does I/O."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._people = {person.id: _person(config, person) for person in config.organisation.people}

    async def person(self, any_id: str) -> Person | None:
        """By any id or e-mail address, whatever its letter case; unknown people are `None`."""
        return self._people.get(self._config.person_id(any_id) or "")

    async def members(self, ref: str) -> tuple[Person, ...]:
        """The people behind a reference; empty for one that the configuration does not have, as groups of Slack.

        Deactivated people are among them: whoever asks has to look at `Person.active`.
        """
        organisation = self._config.organisation
        kind, _, name = ref.partition(":")
        if ref == "admins":
            return self._resolved(organisation.admins)
        if kind == "group":
            return self._resolved(organisation.groups.get(name, ()))
        team = organisation.teams.get(name)
        if kind == "lead":
            return self._resolved((team.lead,) if team else ())
        if kind == "budget-owner":
            return self._resolved((team.budget_owner,) if team else ())
        if kind == "team":
            return self._resolved((team.lead, *team.members) if team else ())
        return self._resolved((name,) if kind == "person" else ())

    def team(self, key: str) -> Team | None:
        """The team with this key."""
        return self._config.team(key) if key in self._config.organisation.teams else None

    async def everybody(self) -> tuple[Person, ...]:
        return self.people

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        known = {one: await self.person(one) for one in ids}
        return {one: presence(person) for one, person in known.items()}

    @property
    def people(self) -> tuple[Person, ...]:
        """Everybody, in the order of the file."""
        return tuple(self._people.values())

    def _resolved(self, refs: Iterable[str]) -> tuple[Person, ...]:
        ids = dict.fromkeys(self._config.person_id(ref) or "" for ref in refs)
        return tuple(self._people[one] for one in ids if one)


def presence(person: Person | None) -> Presence:
    """What the configuration alone says: somebody it does not know may have been taken out of it, or have left."""
    if person is None:
        return Presence.UNKNOWN
    return Presence.HERE if person.active else Presence.GONE


def _person(config: Config, person: PersonConfig) -> Person:
    organisation = config.organisation
    leads = tuple(key for key, team in organisation.teams.items() if config.person_id(team.lead) == person.id)
    return Person(
        id=person.id,
        ids=tuple(
            dict.fromkeys((person.id, *(_alias(a) for a in person.aliases), *filter(None, [_alias(person.email)])))
        ),
        name=person.name,
        email=person.email.casefold(),
        tz=person.tz,
        teams=tuple(
            key for key, team in organisation.teams.items() if key in leads or _among(config, person.id, team.members)
        ),
        leads=leads,
        groups=tuple(key for key, refs in organisation.groups.items() if _among(config, person.id, refs)),
        admin=_among(config, person.id, organisation.admins),
        active=person.active,
        listed=person.active,
        budgets=tuple(key for key, team in organisation.teams.items() if _is(config, person.id, team.budget_owner)),
        delegate=config.person_id(person.delegate) or "",
    )


def _is(config: Config, person_id: str, ref: str) -> bool:
    return bool(ref) and config.person_id(ref) == person_id


def _alias(ref: str) -> str:
    """E-mail addresses in lower case, Slack ids as they are."""
    return ref.casefold() if "@" in ref else ref


def _among(config: Config, person_id: str, refs: Iterable[str]) -> bool:
    return any(config.person_id(ref) == person_id for ref in refs)
