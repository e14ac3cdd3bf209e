"""Posts events to an organisation's program: each once, signed, within a stated time, never following redirects.

A receiver that fails holds up nobody: what it did not take within the tries of one message goes on record as a problem.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog

from lessor.contracts import Notice
from lessor.domain.lease import Lease
from lessor.notify.events import CONTENT_TYPE, cloud_event, encoded
from lessor.notify.failures import PostponedError, UndeliverableError
from lessor.notify.servers import Hook
from lessor.notify.signature import signed
from lessor.ports import MessageBook, MessageRef

KEY = "webhook/"
_LATER = frozenset({408, 425, 429})
"""Client errors that another try may heal; so may every 5xx."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Tries:
    """One post takes at most `timeout` seconds; `pauses` lie between tries; all together end after `limit` seconds."""

    timeout: float = 5.0
    pauses: tuple[float, ...] = (0.5, 2.0)
    limit: float = 12.0


class Webhook:
    """One receiver of events."""

    def __init__(
        self,
        hook: Hook,
        session: aiohttp.ClientSession,
        book: MessageBook,
        tries: Tries | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._hook = hook
        self._session = session
        self._book = book
        self._tries = tries or Tries()
        self._clock = clock
        self._sleep = sleep
        self._where = f"webhook {urlsplit(hook.url).hostname or ''}"

    async def announce(self, lease: Lease, notice: Notice, occasion: str, before: timedelta, now: datetime) -> str:
        """Post the event unless it was taken before. Empty, or in words why it was not taken. Never raises."""
        if not self._hook.wants(notice):
            return ""
        return await self.post(cloud_event(lease, notice, occasion, before, self._hook.source, now), lease.id)

    async def post(self, event: dict[str, Any], topic: str) -> str:
        """Post an event unless it was taken before. Empty, or in words why it was not taken. Never raises."""
        ref = MessageRef(f"{KEY}{event['id']}", topic)
        try:
            known = await asyncio.to_thread(self._book.message, ref.key)
            if known and known.ts:
                return ""
            await asyncio.to_thread(self._book.save_message, ref)
            await self._persistently(event["id"], encoded(event))
            await asyncio.to_thread(self._book.save_message, replace(ref, channel="webhook", ts=event["time"]))
        except (UndeliverableError, PostponedError) as error:
            log.warning("event not taken", topic=topic, type=event["type"], why=str(error))
            return str(error)
        except Exception as error:
            # Whatever went wrong with the second channel, the first one goes on (law 11).
            log.exception("event not posted", topic=topic, type=event["type"])
            return f"{self._where}: {type(error).__name__}"
        return ""

    async def _persistently(self, event_id: str, body: bytes) -> None:
        deadline = time.monotonic() + self._tries.limit
        for pause in (*self._tries.pauses, None):
            try:
                return await self._post(event_id, body)
            except PostponedError:
                if pause is None or time.monotonic() + pause >= deadline:
                    raise
                await self._sleep(pause)

    async def _post(self, event_id: str, body: bytes) -> None:
        headers = {"content-type": CONTENT_TYPE, **signed(self._hook.secret, event_id, body, self._clock())}
        timeout = aiohttp.ClientTimeout(total=self._tries.timeout)
        try:
            posting = self._session.post(
                self._hook.url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            )
            async with posting as answer:
                status = answer.status
        except TimeoutError as error:
            raise PostponedError(f"{self._where} did not answer within {self._tries.timeout:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            # The library's text may hold the whole address, which may be secret.
            raise PostponedError(f"{self._where} cannot be reached ({type(error).__name__})") from None
        self._judge(status)

    def _judge(self, status: int) -> None:
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            raise UndeliverableError(f"{self._where} answered {status}; redirects are not followed, correct the url")
        said = f"{self._where} answered {status}"
        raise PostponedError(said) if status >= 500 or status in _LATER else UndeliverableError(said)
