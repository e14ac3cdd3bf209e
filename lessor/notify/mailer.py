"""Sends each letter to each reader once: intended in the ledger before, confirmed after.

SMTP has no idempotency. What is intended and not confirmed may have been accepted: it is sent again, since a warning
that came twice does less harm than one that never came; both copies have the same Message-ID.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Protocol
from weakref import WeakValueDictionary

from lessor.contracts import Notice
from lessor.notify.envelope import addressed
from lessor.notify.failures import UndeliverableError
from lessor.notify.letters import Letter, LetterWriter, Reader
from lessor.ports import MessageBook, MessageRef

KEY = "email/"
"""How the keys of mail begin in the book of messages: nothing of Slack's looks at them."""


class Sender(Protocol):
    """Hands one mail in; see `SmtpSender`."""

    @property
    def sender(self) -> str: ...

    async def send(self, message: EmailMessage) -> None: ...


class Mailer:
    """Mail as a channel. Raises `UndeliverableError` and `PostponedError`."""

    def __init__(
        self, sender: Sender, writer: LetterWriter, book: MessageBook, always_for: frozenset[Notice] = frozenset()
    ) -> None:
        self._sender = sender
        self._writer = writer
        self._book = book
        self._always = frozenset(notice.value for notice in always_for)
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def always(self, letter: Letter) -> bool:
        """Whether such a letter is sent besides Slack."""
        return letter.template in self._always

    async def deliver(self, topic: str, letter: Letter, reader: Reader, now: datetime) -> None:
        """Return once the mail server has accepted the letter for this reader, now or in an earlier try."""
        if not reader.person.email:
            raise UndeliverableError(f"{reader.person.id} has no e-mail address in lessor.yaml")
        key = f"{KEY}{topic}/{letter.occasion}/{reader.person.id}"
        async with self._busy.setdefault(key, asyncio.Lock()):
            known = await asyncio.to_thread(self._book.message, key)
            if known and known.ts:
                return
            written = self._writer.write(letter, reader)
            message = addressed(written, self._sender.sender, reader.person, key, topic, now)
            ref = MessageRef(key, topic, channel=reader.person.email)
            await asyncio.to_thread(self._book.save_message, ref)
            await self._sender.send(message)
            await asyncio.to_thread(self._book.save_message, replace(ref, ts=_stamp(now)))


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="seconds")
