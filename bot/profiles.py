"""What Slack says of people: their zone, their status, and whether the account still works. Kept for five minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.slack_client import SlackClient
from lessor.domain.absence import out_of_office

KEPT_SECONDS = 300.0
KEPT_AT_MOST = 10_000
ONE_BY_ONE = 20
"""Up to so many people are asked for by name; more are read from the list of everybody."""
PAGE = 500
_LONG_AGO = float("-inf")
SILENT_SECONDS = 15.0
"""How long nobody is asked for after Slack gave no answer: a message to many would wait for each of them."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Profile:
    """The part of a Slack user that we use. `foreign` people belong to another organisation.

    `away` says that the status is one of somebody out of office, until `away_until` where it has an end.
    """

    id: str
    ids: tuple[str, ...]
    name: str
    email: str
    tz: str
    active: bool
    foreign: bool
    away: bool = False
    away_until: datetime | None = None


class Profiles:
    """Reads profiles through a cache; what cannot be read is as it was, or unknown (`None`)."""

    def __init__(self, slack: SlackClient, now: Callable[[], float] = time.monotonic) -> None:
        self._slack = slack
        self._now = now
        self._kept: dict[str, tuple[float, Profile | None]] = {}
        self._home: tuple[str, str] | None = None
        self._silent_until = float("-inf")

    def forget(self) -> None:
        """Ask Slack anew from now on, and keep what was known if it does not answer."""
        self._kept = {one: (_LONG_AGO, known) for one, (_, known) in self._kept.items()}
        self._silent_until = float("-inf")

    async def of(self, user_id: str) -> Profile | None:
        """The profile of one id; `None` when Slack does not know it or has not been heard."""
        if not _is_user(user_id):
            return None
        kept = self._kept.get(user_id, (0.0, None))[1]
        if self._is_fresh(user_id) or self._now() < self._silent_until:
            return kept
        try:
            found = profile((await self._slack.users_info(user=user_id))["user"], await self._whose())
        except SlackApiError as error:
            if slack_errors.code(error) not in slack_errors.PERSON_PROBLEMS:
                return self._unread(user_id, slack_errors.code(error), kept)
            found = None
        except slack_errors.UNREACHABLE as error:
            return self._unread(user_id, str(error), kept)
        self._keep(user_id, found)
        return found

    async def read(self, user_ids: Collection[str]) -> dict[str, Profile | None]:
        """The profiles of many as Slack tells them now; what it does not tell now is `None`, whatever is kept."""
        self._kept |= {one: (_LONG_AGO, self._kept[one][1]) for one in user_ids if one in self._kept}
        found = await self.all_of(user_ids)
        return {one: known if self._is_fresh(one) else None for one, known in found.items()}

    async def all_of(self, user_ids: Collection[str]) -> dict[str, Profile | None]:
        """The profiles of many, in few calls where there are many to read."""
        stale = [one for one in user_ids if _is_user(one) and not self._is_fresh(one)]
        if len(stale) > ONE_BY_ONE:
            await self._read_everybody()
        return {one: await self.of(one) for one in user_ids}

    async def _read_everybody(self) -> None:
        """Every page of the workspace's people; a page that fails leaves the rest to be asked for by name."""
        cursor = ""
        try:
            home = await self._whose()
            while True:
                page = await self._slack.users_list(limit=PAGE, cursor=cursor)
                for user in page["members"]:
                    self._keep(user["id"], profile(user, home))
                cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
                if not cursor:
                    return
        except SlackApiError as error:
            log.warning("slack people unread", error=slack_errors.code(error))
        except slack_errors.UNREACHABLE as error:
            log.warning("slack people unread", error=str(error))

    def _unread(self, user_id: str, why: str, kept: Profile | None) -> Profile | None:
        log.warning("slack profile unread", user=user_id, error=why)
        self._silent_until = self._now() + SILENT_SECONDS
        return kept

    def _is_fresh(self, user_id: str) -> bool:
        kept = self._kept.get(user_id)
        return kept is not None and self._now() - kept[0] < KEPT_SECONDS

    def _keep(self, user_id: str, found: Profile | None) -> None:
        if len(self._kept) >= KEPT_AT_MOST:
            self._kept.clear()
        self._kept[user_id] = (self._now(), found)

    async def _whose(self) -> tuple[str, str]:
        """Our own team and enterprise."""
        if self._home is None:
            who = await self._slack.auth_test()
            self._home = (str(who.get("team_id") or ""), str(who.get("enterprise_id") or ""))
        return self._home


def profile(user: dict[str, Any], home: tuple[str, str]) -> Profile:
    """A user object of the Web API; `home` is our own team and enterprise."""
    enterprise = user.get("enterprise_user") or {}
    ids = tuple(dict.fromkeys(i for i in (user["id"], enterprise.get("id")) if i))
    team, organisation = home
    ours = user.get("team_id") in ("", None, team)
    ours = ours or bool(organisation and organisation in (enterprise.get("enterprise_id"), user.get("team_id")))
    found = user.get("profile") or {}
    ends = found.get("status_expiration") or 0
    return Profile(
        id=user["id"],
        ids=ids,
        name=found.get("display_name") or user.get("real_name") or user.get("name") or "",
        email=found.get("email") or "",
        tz=user.get("tz") or "",
        active=not user.get("deleted", False),
        foreign=bool(user.get("is_stranger")) or not ours,
        away=out_of_office(found.get("status_text") or "", found.get("status_emoji") or ""),
        away_until=datetime.fromtimestamp(ends, UTC) if ends else None,
    )


def _is_user(any_id: str) -> bool:
    return any_id[:1] in ("U", "W") and any_id.isalnum()
