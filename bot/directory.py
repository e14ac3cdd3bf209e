"""People as Slack knows them now, laid over people as the organisation configured them.

Slack says in which zone somebody lives, whether they are away, whether the account still works, and who is in its user
groups; only the configuration says what somebody may do. A person of another organisation is nobody, whatever e-mail
address their profile shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.profiles import Profile, Profiles
from bot.slack_client import SlackClient
from bot.usergroups import UserGroups
from lessor.config import Config
from lessor.domain.people import Person, Presence
from lessor.overlay import Overlay
from lessor.ports import Directory, DirectoryUnavailableError

SLACK_GROUP = "slack-group:"

WITHOUT_END = timedelta(days=1)
"""How long somebody counts as away whose status has no end: it is read again long before."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SlackDirectory(Overlay):
    """`ports.Directory` over another one; what Slack says is cached for five minutes, and what it does not say changes
    nothing. `groups` are the user groups that the configuration names.
    """

    def __init__(
        self,
        inner: Directory,
        slack: SlackClient,
        now: Callable[[], float] = time.monotonic,
        *,
        groups: Callable[[], Iterable[str]] = tuple,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        super().__init__(inner)
        self._clock = clock
        self._profiles = Profiles(slack, now)
        self._groups = UserGroups(slack, groups, now)

    async def person(self, any_id: str) -> Person | None:
        """By any id of either form, or an e-mail address; a configured person wins, then one with the same address."""
        known = await self._inner.person(any_id)
        profile = await self._profiles.of(known.id if known else any_id)
        if known is None:
            known = await self._by_profile(profile)
        return await self._grouped(self._overlaid(known, profile)) if known else None

    async def members(self, ref: str) -> tuple[Person, ...]:
        """The people behind a reference, each with what Slack says of them.

        Raises `DirectoryUnavailableError` for a user group that could not be read yet.
        """
        if ref.startswith(SLACK_GROUP):
            return await self._members_of_group(ref.removeprefix(SLACK_GROUP))
        people = await self._inner.members(ref)
        profiles = await self._profiles.all_of([person.id for person in people])
        return tuple([await self._grouped(self._overlaid(person, profiles[person.id])) for person in people])

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        """Gone is whom the configuration or Slack calls deactivated; whom Slack does not speak of now is unknown."""
        configured = await self._inner.presences(ids)
        primary = {one: (person.id if (person := await self._inner.person(one)) else one) for one in ids}
        profiles = await self._profiles.read(set(primary.values()))
        return {one: _presence(configured[one], profiles[primary[one]]) for one in ids}

    def forget(self) -> None:
        """Ask Slack anew from now on."""
        self._profiles.forget()
        self._groups.forget()

    async def _by_profile(self, profile: Profile | None) -> Person | None:
        if profile is None or profile.foreign:
            return None
        for name in (*profile.ids, profile.email):
            person = await self._inner.person(name) if name else None
            if person is not None:
                return person
        return None

    async def _members_of_group(self, name: str) -> tuple[Person, ...]:
        ids = await self._groups.members(name)
        if ids is None:
            raise DirectoryUnavailableError(
                f"who is in the Slack user group {name} could not be read; it is tried again"
            )
        await self._profiles.all_of(ids)
        people = [await self.person(one) for one in ids]
        return tuple({person.id: person for person in people if person is not None}.values())

    async def _grouped(self, person: Person) -> Person:
        return replace(person, slack_groups=await self._groups.of(person.all_ids))

    def _overlaid(self, person: Person, profile: Profile | None) -> Person:
        if profile is None:
            return person
        return replace(
            person,
            ids=tuple(dict.fromkeys((*person.ids, person.id, *profile.ids))),
            name=person.name or profile.name,
            tz=profile.tz or person.tz,
            active=person.active and profile.active,
            away_until=self._away_until(profile) or person.away_until,
        )

    def _away_until(self, profile: Profile) -> datetime | None:
        now = self._clock()
        if not profile.away or (profile.away_until is not None and profile.away_until <= now):
            return None
        return profile.away_until or now + WITHOUT_END


def slack_directory(configured: Directory, slack: SlackClient, config: Callable[[], Config]) -> SlackDirectory:
    """The directory of an entry point, with the user groups that the configuration in force names."""
    return SlackDirectory(configured, slack, groups=lambda: config().slack_groups)


def _presence(configured: Presence, profile: Profile | None) -> Presence:
    if configured is Presence.GONE:
        return Presence.GONE
    if profile is None or profile.foreign:
        return Presence.UNKNOWN
    return Presence.HERE if profile.active else Presence.GONE
