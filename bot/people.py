"""Finding a person by what somebody typed: a mention, an address, or a name that only one has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bot import words
from bot.slack_client import SlackClient
from lessor.domain.errors import Refused
from lessor.domain.people import Person

if TYPE_CHECKING:
    from bot.desk import Desk

_KEPT_SECONDS = 600.0


class People:
    """The members of the workspace, read again after ten minutes."""

    def __init__(self, slack: SlackClient, now: Callable[[], float] = time.monotonic) -> None:
        self._slack = slack
        self._now = now
        self._members: list[dict[str, Any]] = []
        self._read_at = float("-inf")

    async def named(self, word: str) -> str:
        """The id in a mention, or of the one active person called so. Raises `Refused` with a hint otherwise."""
        mentioned = words.person_in(word)
        if mentioned:
            return mentioned
        name = word.strip().removeprefix("@").lower()
        fits = {m["id"] for m in await self._everybody() if name and name in _names(m)}
        if len(fits) == 1:
            return str(fits.pop())
        who = "nobody active is" if not fits else f"{len(fits)} people are"
        hint = "choose the person from the list that Slack offers while you type @"
        raise Refused("no-person", f"{who} called '{word.strip()[:40]}'; {hint}")

    def forget(self) -> None:
        """Read the members anew from now on."""
        self._read_at = float("-inf")

    async def _everybody(self) -> list[dict[str, Any]]:
        if self._now() - self._read_at < _KEPT_SECONDS:
            return self._members
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = await self._slack.users_list(limit=500, cursor=cursor)
            found += [m for m in page["members"] if not m.get("deleted") and not m.get("is_bot")]
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        self._members, self._read_at = found, self._now()
        return found


def _names(member: dict[str, Any]) -> set[str]:
    profile = member.get("profile") or {}
    names = [profile.get(field) for field in ("display_name", "real_name", "email")]
    names += [member.get("name"), member.get("real_name")]
    return {str(name).lower() for name in names if name}


class Whom:
    """The person of the organisation whom somebody means, in any of the forms that Slack lets them type."""

    def __init__(self, desk: Desk, people: People) -> None:
        self._desk = desk
        self._people = people

    async def person(self, text: str) -> Person:
        """Raises `Refused` ("unresolved" or "no-person") with a hint for nobody, somebody unknown, and several."""
        mentioned = words.person_in(text)
        if not mentioned:
            try:
                return await self._desk.gateway.named(text.strip())
            except Refused as unresolved:
                mentioned = await self._in_slack(text, unresolved)
        found = await self._desk.gateway.person(mentioned)
        if found is None:
            raise Refused("no-person", self._desk.say("unknown_person.j2", name=text.strip()[:60], found=mentioned))
        return found

    async def _in_slack(self, text: str, unresolved: Refused) -> str:
        """A name that only Slack knows, such as a display name; several people of the configuration stay several."""
        if "may be" in str(unresolved):
            raise unresolved
        return await self._people.named(text)
