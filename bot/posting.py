"""Posting once: a message is intended in the ledger, posted with its key, confirmed; and found again after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.blocks.message import Message, halves, pictured, plain, split, without_pictures
from bot.slack_client import SlackClient
from bot.telling import passing_over
from lessor.ports import MessageBook, MessageRef

EVENT_TYPE = "lessor_notice"

PICTURE_PAUSES = (0.5, 1.0, 2.0)
"""How long a picture that was uploaded just now is waited for, before the message goes out without it."""

_TOO_LONG = frozenset({"msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format"})
_UNSEEN = frozenset({"invalid_blocks"})
"""What Slack says of a picture that it has not looked at yet."""

_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
_SEARCH_PAGES = 5
_SLACK = timedelta(minutes=2)
"""Clocks may differ by this much between us and Slack."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Postman:
    """Delivers messages to conversations, each key once. Raises `SlackApiError` for what cannot be posted there."""

    def __init__(self, slack: SlackClient, book: MessageBook, pauses: Sequence[float] = PICTURE_PAUSES) -> None:
        self._pauses = pauses
        self._slack = slack
        self._book = book
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def deliver(
        self, key: str, lease_id: str, channel: str, message: Message, since: datetime, thread: str = ""
    ) -> None:
        """Post the message, or update it where it stands. `since` is the earliest time it can have been posted.

        With `thread`, the timestamp of another message, it is a reply to that one.
        """
        async with self._busy.setdefault(key, asyncio.Lock()):
            pages = split(message)
            for number, page in enumerate(pages, start=1):
                name = key if number == 1 else f"{key}#{number}"
                await self._place(MessageRef(name, lease_id, channel), page, since, thread)
            await self._remove(key, lease_id, beyond=len(pages))

    async def standing(self, lease_id: str, prefix: str) -> list[MessageRef]:
        """Messages of a lease that are posted, by the beginning of their keys; follow-up pages left out."""
        refs = await asyncio.to_thread(self._book.messages, lease_id)
        return [ref for ref in refs if _stands(ref) and ref.key.startswith(prefix) and "#" not in ref.key]

    async def ever(self, lease_id: str, prefix: str) -> list[MessageRef]:
        """Messages of a lease that were posted at some time, by the beginning of their keys."""
        refs = await asyncio.to_thread(self._book.messages, lease_id)
        return [ref for ref in refs if ref.ts and ref.key.startswith(prefix)]

    async def redraw(self, ref: MessageRef, message: Message, since: datetime) -> None:
        """New content for a message that stands somewhere; where it was deleted a new one is posted."""
        with passing_over(ref.key):
            await self.deliver(ref.key, ref.lease_id, ref.channel, message, since)

    async def rewrite(self, ref: MessageRef, message: Message) -> None:
        """Other words for a message that may have to say something else later; where it was deleted none is posted."""
        with passing_over(ref.key):
            await self._updated(ref, message)

    async def settle(self, ref: MessageRef, message: Message) -> None:
        """Last words for a message that is of no use any more; where it was deleted nothing is posted."""
        with passing_over(ref.key):
            await self._updated(ref, message)
            await self._strike(ref)

    async def _place(self, ref: MessageRef, page: Message, since: datetime, thread: str) -> None:
        known = await asyncio.to_thread(self._book.message, ref.key)
        if known and not known.ts:
            found = await self._search(known, since, thread)
            known = replace(known, ts=found) if found else known
            if found:
                await asyncio.to_thread(self._book.save_message, known)
        if known and _stands(known) and await self._updated(known, page):
            return
        await asyncio.to_thread(self._book.save_message, ref)
        posted = await self._post(ref, page, since, thread)
        await asyncio.to_thread(self._book.save_message, replace(ref, ts=posted))

    async def _updated(self, ref: MessageRef, page: Message) -> bool:
        """Whether the message took the new content; false when it is gone and has to be posted anew."""
        try:
            await self._shown(page, lambda: self._slack.chat_update(channel=ref.channel, ts=ref.ts, **page.payload))
        except SlackApiError as error:
            word = slack_errors.code(error)
            if word in _GONE:
                return False
            if word not in _TOO_LONG:
                raise
            smaller = _smaller(page)
            await self._updated(ref, smaller[0])
            for rest in smaller[1:]:
                await self._send(ref.channel, rest, {}, thread_ts=ref.ts)
        return True

    async def _post(self, ref: MessageRef, page: Message, since: datetime, thread: str) -> str:
        """Post under the key; the timestamp of the first part where Slack takes it only in parts."""
        metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": ref.key}}
        try:
            return await self._shown(page, lambda: self._send(ref.channel, page, metadata, thread))
        except SlackApiError as error:
            if slack_errors.code(error) not in _TOO_LONG or not page.blocks:
                raise
        except slack_errors.UNREACHABLE:
            # The answer may be lost although the message stands: only its absence permits another try.
            found = await self._search(ref, since, thread)
            if found:
                return found
            raise
        first, *others = _smaller(page)
        posted = await self._post(ref, first, since, thread)
        for number, part in enumerate(others, start=1):
            await self._post(replace(ref, key=f"{ref.key}#part{number}"), part, since, thread)
        return posted

    async def _shown(self, page: Message, call: Callable[[], Awaitable[Result]]) -> Result:
        """The answer of the call, tried again while Slack has not looked at an uploaded picture yet."""
        for pause in self._pauses if pictured(page) else ():
            try:
                return await call()
            except SlackApiError as error:
                if slack_errors.code(error) not in _UNSEEN:
                    raise
            await asyncio.sleep(pause)
        return await call()

    async def _send(self, channel: str, page: Message, metadata: dict[str, Any], thread_ts: str = "") -> str:
        answer = await self._slack.chat_postMessage(
            channel=channel,
            **page.payload,
            metadata=metadata or None,
            thread_ts=thread_ts or None,
            unfurl_links=False,
        )
        return str(answer["ts"])

    async def _search(self, ref: MessageRef, since: datetime, thread: str) -> str:
        """The timestamp of the message with this key in its conversation or thread, empty when it is not there."""
        oldest, cursor = f"{(since - _SLACK).timestamp():.6f}", ""
        for _ in range(_SEARCH_PAGES):
            wanted: dict[str, Any] = {"channel": ref.channel, "include_all_metadata": True, "limit": 200}
            if thread:
                page = await self._slack.conversations_replies(ts=thread, cursor=cursor, **wanted)
            else:
                page = await self._slack.conversations_history(oldest=oldest, cursor=cursor, **wanted)
            for message in page["messages"]:
                metadata = message.get("metadata") or {}
                if metadata.get("event_type") == EVENT_TYPE and metadata["event_payload"].get("key") == ref.key:
                    log.info("found a message that was posted before a crash", key=ref.key)
                    return str(message["ts"])
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        return ""

    async def _remove(self, key: str, lease_id: str, beyond: int) -> None:
        """Take away follow-up pages that the message no longer has."""
        for ref in await asyncio.to_thread(self._book.messages, lease_id):
            number = ref.key.removeprefix(f"{key}#")
            if ref.key != number and number.isdigit() and int(number) > beyond and _stands(ref):
                try:
                    await self._slack.chat_delete(channel=ref.channel, ts=ref.ts)
                except SlackApiError as error:
                    log.info("a page to remove was gone", key=ref.key, error=slack_errors.code(error))
                await self._strike(ref)

    async def _strike(self, ref: MessageRef) -> None:
        await asyncio.to_thread(self._book.save_message, replace(ref, channel=""))


def _stands(ref: MessageRef) -> bool:
    """Posted and still of use; what was settled or taken away keeps its timestamp and loses its channel."""
    return bool(ref.ts and ref.channel)


def _smaller(page: Message) -> list[Message]:
    """What Slack may take instead: the same without pictures first, then in parts, then as text alone."""
    if pictured(page):
        return [without_pictures(page)]
    return halves(page) if len(page.blocks) > 1 else plain(page)
