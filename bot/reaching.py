"""Somebody always hears it (law 7): owner, team lead, team channel, administrators; deactivated people are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.blocks.message import Message, compose
from bot.conversations import Conversations, UnknownChannelError
from bot.posting import Postman
from bot.settings import SlackSettings
from lessor.contracts import Delivery
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.ports import Directory, MessageRef
from lessor.rendering import Renderer

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Recipient:
    """A person or a channel. `zone` is a single reader's, empty where many read."""

    name: str
    person: Person | None = None

    @property
    def zone(self) -> str:
        return self.person.tz if self.person else ""

    @property
    def via(self) -> str:
        return "slack:dm" if self.person else "slack:channel"


class Topic(Protocol):
    """What a message is about: a lease, or another occasion. It can have been posted since `requested_at`."""

    @property
    def id(self) -> str: ...

    @property
    def requested_at(self) -> datetime: ...


Write = Callable[[Recipient], Message]
"""Builds a message for one recipient, in their zone."""


class Reach:
    """Delivers to one recipient or along the chain. Temporary failures are raised, so that the caller tries again."""

    def __init__(
        self,
        postman: Postman,
        conversations: Conversations,
        directory: Directory,
        wording: Renderer,
        settings: SlackSettings,
    ) -> None:
        self._postman = postman
        self._conversations = conversations
        self._directory = directory
        self._wording = wording
        self._settings = settings

    async def first(self, lease: Lease, occasion: str, write: Write, now: datetime) -> Delivery:
        """The first of the chain who can be reached. `occasion` tells this message from others of the lease."""
        problems: list[str] = []
        async for recipient in self._chain(lease):
            problem = await self.tell(lease, f"{lease.id}/{occasion}/{recipient.name}", recipient, write, now)
            if not problem:
                return Delivery(True, recipient.via, "; ".join(problems))
            problems.append(problem)
        return Delivery(False, problem="; ".join(problems) or "nobody is configured who could be told")

    async def admins(self, topic: Topic, occasion: str, write: Write, now: datetime) -> Delivery:
        """The administrators' channel, or each administrator where it cannot be used."""
        channel = Recipient(self._settings.admins_channel)
        problem = await self.tell(topic, f"{topic.id}/{occasion}/{channel.name}", channel, write, now)
        if not problem:
            return Delivery(True, channel.via)
        people = [Recipient(p.id, p) for p in await self._directory.members(self._settings.admins) if p.active]
        told = [(r, await self.tell(topic, f"{topic.id}/{occasion}/{r.name}", r, write, now)) for r in people]
        problems = [problem, *(trouble for _, trouble in told if trouble)]
        return Delivery(any(not trouble for _, trouble in told), "slack:dm", "; ".join(problems))

    async def tell(self, topic: Topic, key: str, recipient: Recipient, write: Write, now: datetime) -> str:
        """Post or update one message; empty, or why this recipient can never be reached."""
        if recipient.person and not recipient.person.active:
            return f"{recipient.name} is deactivated"
        try:
            channel = await self._channel(recipient)
            await self._postman.deliver(key, topic.id, channel, write(recipient), topic.requested_at)
        except UnknownChannelError:
            return await self._unusable(topic, recipient, recipient.name, "channel_not_found", now)
        except SlackApiError as error:
            word = slack_errors.code(error)
            if recipient.person and word in slack_errors.PERSON_PROBLEMS:
                return f"{recipient.name}: {word}"
            if not recipient.person and word in slack_errors.CHANNEL_PROBLEMS:
                return await self._unusable(topic, recipient, channel, word, now)
            raise
        return ""

    async def recipient(self, ref: MessageRef) -> Recipient:
        """Whom a message that stands was written to."""
        name = ref.key.rpartition("/")[2]
        return Recipient(name, await self._directory.person(name))

    async def _channel(self, recipient: Recipient) -> str:
        if recipient.person:
            return await self._conversations.direct(recipient.person.id)
        return await self._conversations.channel(recipient.name)

    async def _chain(self, lease: Lease) -> AsyncIterator[Recipient]:
        team = self._directory.team(lease.request.team)
        for person_id in dict.fromkeys((lease.owner, team.lead if team else "")):
            person = await self._directory.person(person_id) if person_id else None
            if person:
                yield Recipient(person.id, person)
        for channel in (team.channel if team else "", self._settings.admins_channel):
            if channel:
                yield Recipient(channel)
        for person in await self._directory.members(self._settings.admins):
            yield Recipient(person.id, person)

    async def _unusable(self, topic: Topic, recipient: Recipient, channel: str, word: str, now: datetime) -> str:
        """Tell administrators once a day what is wrong with a channel and what to do; gives the problem in words."""
        log.warning("slack channel unusable", channel=channel, name=recipient.name, error=word)
        remedy = slack_errors.CHANNEL_PROBLEMS[word]
        values = {"channel": channel, "name": recipient.name, "error": word, "remedy": remedy}
        message = compose(self._wording.parts("channel_problem.j2", **values))
        key = f"channel/{channel}/{word}/{now:%Y-%m-%d}"
        places = [Recipient(self._settings.admins_channel)]
        if recipient.name == self._settings.admins_channel:
            places = [Recipient(p.id, p) for p in await self._directory.members(self._settings.admins) if p.active]
        for place in places:
            try:
                where = await self._channel(place)
                await self._postman.deliver(f"{key}/{place.name}", topic.id, where, message, topic.requested_at)
            except (SlackApiError, UnknownChannelError) as error:
                log.warning("administrators untold of an unusable channel", channel=channel, error=str(error))
        return f"{recipient.name}: {word}"
