"""Who belongs to the user groups of Slack that the configuration names. What cannot be read stays as it was (law 1)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.slack_client import SlackClient

KEPT_SECONDS = 300.0

log = structlog.get_logger(__name__)


class UserGroups:
    """Groups by handle or id. `names` are those that the configuration uses now."""

    def __init__(
        self, slack: SlackClient, names: Callable[[], Iterable[str]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._slack = slack
        self._names = names
        self._now = now
        self._kept: dict[str, tuple[float, Any]] = {}

    def forget(self) -> None:
        """Ask Slack anew from now on, and keep what was known if it does not answer."""
        self._kept = {key: (float("-inf"), known) for key, (_, known) in self._kept.items()}

    async def of(self, ids: frozenset[str]) -> tuple[str, ...]:
        """The groups of the configuration, as it spells them, to which somebody with any of these ids belongs."""
        found = [(name, await self.members(name)) for name in dict.fromkeys(self._names())]
        return tuple(name for name, members in found if members and not ids.isdisjoint(members))

    async def members(self, name: str) -> tuple[str, ...] | None:
        """The user ids in a group; `None` when that has never been read. A group that does not exist has nobody."""
        groups: dict[str, str] | None = await self._read("groups", self._groups)
        if groups is None:
            return None
        group = groups.get(name.strip().removeprefix("@").casefold())
        if group is None:
            log.warning("slack user group unknown", group=name)
            return ()
        members: tuple[str, ...] | None = await self._read(group, lambda: self._users(group))
        return members

    async def _read(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
        at, known = self._kept.get(key, (float("-inf"), None))
        if self._now() - at < KEPT_SECONDS:
            return known
        try:
            found = await call()
        except SlackApiError as error:
            log.warning("slack user groups unread", what=key, error=slack_errors.code(error))
            return known
        except slack_errors.UNREACHABLE as error:
            log.warning("slack user groups unread", what=key, error=str(error))
            return known
        self._kept[key] = (self._now(), found)
        return found

    async def _groups(self) -> dict[str, str]:
        """Ids by handle and by id, both in lower case."""
        listed = (await self._slack.usergroups_list(include_disabled=False))["usergroups"]
        by_id = {group["id"].casefold(): group["id"] for group in listed}
        return by_id | {group["handle"].casefold(): group["id"] for group in listed if group.get("handle")}

    async def _users(self, group: str) -> tuple[str, ...]:
        return tuple((await self._slack.usergroups_users_list(usergroup=group))["users"])
