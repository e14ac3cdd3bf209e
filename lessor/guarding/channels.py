"""The ways by which the guard tells people. Each works or fails by itself, and none needs the ledger.

What was told stands in the guard's own notebook, so that each of them tells each recipient once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import aiohttp
from jinja2 import TemplateError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.domain.people import Person
from lessor.guarding.tidings import Tiding
from lessor.guarding.words import SlackWords, event, letter
from lessor.notify import Hook, Mailer, PostponedError, Reader, UndeliverableError, Webhook
from lessor.ports import MessageBook, MessageRef

KEY = "slack/"
SLACK_SECONDS = 10


@dataclass(frozen=True)
class Audience:
    """Whom a tiding concerns: those whose it is, and administrators. `names` are by id."""

    owners: tuple[Person, ...] = ()
    admins: tuple[Person, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def people(self) -> tuple[Person, ...]:
        """Each once."""
        return tuple({one.id: one for one in (*self.owners, *self.admins)}.values())

    def named(self, someone: str) -> str:
        return self.names.get(someone) or someone


@dataclass(frozen=True)
class Heard:
    """Who heard it, by channel (`slack:U0MANAGER`, `email:U0MANAGER`), and what failed."""

    via: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Channel(Protocol):
    """One way. `tell` never raises."""

    name: str

    async def tell(self, tiding: Tiding, audience: Audience, now: datetime) -> Heard: ...


class SlackChannel:
    """Plain posts: direct messages to owners, and the administrators' channel, or each of them where there is none."""

    name = "slack"

    def __init__(self, token: str, base_url: str, admins_channel: str, words: SlackWords, book: MessageBook) -> None:
        self._token, self._base_url = token, base_url
        self._admins_channel, self._words, self._book = admins_channel, words, book

    async def tell(self, tiding: Tiding, audience: Audience, now: datetime) -> Heard:
        """Post it to everybody who has not got it yet."""
        admins = (self._admins_channel,) if self._admins_channel else tuple(one.id for one in audience.admins)
        try:
            text = self._words.write(tiding, audience.named)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            return Heard(problems=(f"template mail/guard.j2 cannot be used: {error}",))
        via: list[str] = []
        problems: list[str] = []
        async with aiohttp.ClientSession() as session:
            client = AsyncWebClient(
                self._token, base_url=self._base_url, session=session, timeout=SLACK_SECONDS, retry_handlers=[]
            )
            for where in dict.fromkeys((*(one.id for one in audience.owners), *admins)):
                problem = await self._post(client, tiding, where, text)
                if problem:
                    problems.append(f"slack:{where}: {problem}")
                else:
                    via.append(f"slack:{where}")
        return Heard(tuple(via), tuple(problems))

    async def _post(self, client: AsyncWebClient, tiding: Tiding, where: str, text: str) -> str:
        """Empty once Slack has said ok, now or before. A lost answer is no ok: it may come twice, but never not."""
        ref = MessageRef(f"{KEY}{tiding.key}/{where}", tiding.subject, where)
        known = self._book.message(ref.key)
        if known and known.ts:
            return ""
        try:
            answer = await client.chat_postMessage(
                channel=where, text=text, mrkdwn=True, unfurl_links=False, unfurl_media=False
            )
        except SlackApiError as error:
            data = error.response.data if hasattr(error.response, "data") else error.response
            return str(data.get("error")) if isinstance(data, dict) else "Slack refused it"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return f"Slack cannot be reached ({type(error).__name__})"
        self._book.save_message(MessageRef(ref.key, ref.lease_id, where, str(answer.get("ts"))))
        return ""


class MailChannel:
    """A mail to everybody concerned who has an address."""

    name = "email"

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    async def tell(self, tiding: Tiding, audience: Audience, now: datetime) -> Heard:
        """Mail it to everybody who has not got it yet."""
        owners = {one.id for one in audience.owners}
        via: list[str] = []
        problems: list[str] = []
        for person in audience.people:
            reader = Reader(person, owns=person.id in owners, besides=True, names=audience.names)
            try:
                await self._mailer.deliver(tiding.subject, letter(tiding), reader, now)
                via.append(f"email:{person.id}")
            except (UndeliverableError, PostponedError) as error:
                problems.append(f"email:{person.id}: {error}")
        return Heard(tuple(via), tuple(problems))


class HookChannel:
    """An event for an organisation's program. Programs are no people: that it was taken is no warning."""

    name = "webhook"

    def __init__(self, hook: Hook, book: MessageBook, clock: Callable[[], datetime]) -> None:
        self._hook, self._book, self._clock = hook, book, clock

    async def tell(self, tiding: Tiding, audience: Audience, now: datetime) -> Heard:
        """Post it unless it was taken before."""
        async with aiohttp.ClientSession() as session:
            hook = Webhook(self._hook, session, self._book, clock=self._clock)
            problem = await hook.post(event(tiding, self._hook.source, now), tiding.subject)
        return Heard(problems=(f"webhook: {problem}",)) if problem else Heard()


CHANNEL_SECONDS = 60.0
"""How long one channel may take over one tiding."""


async def tell_all(channels: tuple[Channel, ...], tiding: Tiding, audience: Audience, now: datetime) -> Heard:
    """By every channel beside each other; one that fails or hangs holds up no other (law 11)."""
    heard = await asyncio.gather(*(_within(one, tiding, audience, now) for one in channels))
    via = tuple(one for each in heard for one in each.via)
    return Heard(via, tuple(one for each in heard for one in each.problems))


async def _within(channel: Channel, tiding: Tiding, audience: Audience, now: datetime) -> Heard:
    try:
        async with asyncio.timeout(CHANNEL_SECONDS):
            return await channel.tell(tiding, audience, now)
    except TimeoutError:
        return Heard(problems=(f"{channel.name}: no answer within {CHANNEL_SECONDS:g} s",))
    except Exception as error:
        return Heard(problems=(f"{channel.name}: {type(error).__name__}",))
