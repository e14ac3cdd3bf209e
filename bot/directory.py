"""People as Slack knows them now, laid over people as the organisation configured them.

Slack says in which zone somebody lives and whether the account still works; only the configuration says what somebody
may do. A person of another organisation is nobody, whatever e-mail address their profile shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.slack_client import SlackClient
from lessor.domain.people import Person
from lessor.ports import Directory, Team

KEPT_SECONDS = 300.0
KEPT_AT_MOST = 10_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Profile:
    """The part of `users.info` that we use. `foreign` people belong to another organisation."""

    id: str
    ids: tuple[str, ...]
    name: str
    email: str
    tz: str
    active: bool
    foreign: bool


class SlackDirectory:
    """`ports.Directory` over another one; profiles are cached for five minutes, and missing ones change nothing."""

    def __init__(self, inner: Directory, slack: SlackClient, now: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._slack = slack
        self._now = now
        self._profiles: dict[str, tuple[float, Profile | None]] = {}
        self._home: tuple[str, str] | None = None

    async def person(self, any_id: str) -> Person | None:
        """By any id of either form, or an e-mail address; a configured person wins, then one with the same address."""
        known = await self._inner.person(any_id)
        profile = await self._profile(known.id if known else any_id)
        if known is None:
            known = await self._by_profile(profile)
        return _overlaid(known, profile) if known else None

    async def members(self, ref: str) -> tuple[Person, ...]:
        """The people behind a reference, each with what Slack says of them."""
        people = await self._inner.members(ref)
        return tuple([_overlaid(person, await self._profile(person.id)) for person in people])

    def team(self, key: str) -> Team | None:
        return self._inner.team(key)

    def forget(self) -> None:
        """Ask Slack anew from now on."""
        self._profiles.clear()

    async def _by_profile(self, profile: Profile | None) -> Person | None:
        if profile is None or profile.foreign:
            return None
        for name in (*profile.ids, profile.email):
            person = await self._inner.person(name) if name else None
            if person is not None:
                return person
        return None

    async def _profile(self, user_id: str) -> Profile | None:
        if user_id[:1] not in ("U", "W") or not user_id.isalnum():
            return None
        at, kept = self._profiles.get(user_id, (float("-inf"), None))
        if self._now() - at < KEPT_SECONDS:
            return kept
        try:
            found = _profile((await self._slack.users_info(user=user_id))["user"], await self._whose())
        except SlackApiError as error:
            if slack_errors.code(error) not in slack_errors.PERSON_PROBLEMS:
                log.warning("slack profile unread", user=user_id, error=slack_errors.code(error))
                return kept
            found = None
        except slack_errors.UNREACHABLE as error:
            log.warning("slack profile unread", user=user_id, error=str(error))
            return kept
        if len(self._profiles) >= KEPT_AT_MOST:
            self._profiles.clear()
        self._profiles[user_id] = (self._now(), found)
        return found

    async def _whose(self) -> tuple[str, str]:
        """Our own team and enterprise."""
        if self._home is None:
            who = await self._slack.auth_test()
            self._home = (str(who.get("team_id") or ""), str(who.get("enterprise_id") or ""))
        return self._home


def _profile(user: dict[str, Any], home: tuple[str, str]) -> Profile:
    enterprise = user.get("enterprise_user") or {}
    ids = tuple(dict.fromkeys(i for i in (user["id"], enterprise.get("id")) if i))
    team, organisation = home
    ours = user.get("team_id") in ("", None, team)
    ours = ours or bool(organisation and organisation in (enterprise.get("enterprise_id"), user.get("team_id")))
    profile = user.get("profile") or {}
    return Profile(
        id=user["id"],
        ids=ids,
        name=profile.get("display_name") or user.get("real_name") or user.get("name") or "",
        email=profile.get("email") or "",
        tz=user.get("tz") or "",
        active=not user.get("deleted", False),
        foreign=bool(user.get("is_stranger")) or not ours,
    )


def _overlaid(person: Person, profile: Profile | None) -> Person:
    if profile is None:
        return person
    ids = tuple(dict.fromkeys((*person.ids, person.id, *profile.ids)))
    return replace(
        person,
        ids=ids,
        name=person.name or profile.name,
        tz=profile.tz or person.tz,
        active=person.active and profile.active,
    )
