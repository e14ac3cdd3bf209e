"""Where messages go: channels by id or name, and direct conversations with people."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from bot.slack_client import SlackClient

_ID = re.compile(r"[CGD][A-Z0-9]{5,}")
_KEPT_SECONDS = 600.0


class UnknownChannelError(Exception):
    """No channel of that name is visible to the app."""


class Conversations:
    """Ids of conversations, remembered; names are looked up again after ten minutes."""

    def __init__(self, slack: SlackClient, now: Callable[[], float] = time.monotonic) -> None:
        self._slack = slack
        self._now = now
        self._directs: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._read_at = float("-inf")

    async def channel(self, name: str) -> str:
        """The id of a channel. Raises `UnknownChannelError`."""
        word = name.strip().removeprefix("#")
        if _ID.fullmatch(word):
            return word
        if word not in self._names and self._now() - self._read_at > 0:
            await self._read()
        if word not in self._names:
            raise UnknownChannelError(word)
        return self._names[word]

    async def direct(self, person_id: str) -> str:
        """The id of the direct conversation with somebody; raises `SlackApiError` when there can be none."""
        if person_id not in self._directs:
            opened = await self._slack.conversations_open(users=person_id)
            self._directs[person_id] = str(opened["channel"]["id"])
        return self._directs[person_id]

    async def _read(self) -> None:
        names: dict[str, str] = {}
        cursor = ""
        while True:
            page = await self._slack.conversations_list(
                types="public_channel,private_channel", limit=1000, cursor=cursor
            )
            names |= {channel["name"]: channel["id"] for channel in page["channels"]}
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        self._names = names
        self._read_at = self._now() + _KEPT_SECONDS
