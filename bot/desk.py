"""What every handler has at hand, and how it answers: where the person is, visible to them alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot import slack_errors
from bot.ask import Ask
from bot.background import Background
from bot.blocks.message import Message, compose, split
from bot.conversations import Conversations
from bot.seen import Seen
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.rendering import Renderer

if TYPE_CHECKING:
    from lessor.gateway import Gateway

log = structlog.get_logger(__name__)

_REPLIES_MOST = 5
"""Uses of one `response_url`."""


@dataclass
class Desk:
    """The parts that handlers share. `patience` is how many seconds an acknowledgement may wait for an answer."""

    gateway: Gateway
    slack: SlackClient
    wording: Renderer
    settings: SlackSettings
    now: Callable[[], datetime]
    background: Background = field(default_factory=Background)
    seen: Seen = field(default_factory=Seen)
    patience: float = 1.8
    home: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.conversations = Conversations(self.slack)

    async def person(self, ask: Ask) -> Person:
        """Who asks. Raises `Refused` ("unknown-person") with words for people of other organisations too."""
        person = await self.gateway.person(ask.user)
        if person is None or not person.active:
            raise Refused("unknown-person", self.say("stranger.j2", outside=self.outside(ask)))
        return person

    def outside(self, ask: Ask) -> bool:
        """Whether the person comes from another organisation; ids of our own are known since the start."""
        return bool(self.home and ask.home and self.home.isdisjoint({ask.home}))

    def say(self, template: str, **values: object) -> str:
        """The words of a template without markup, for places that take plain text."""
        return self.wording.parts(template, **values)["title"]

    def message(self, template: str, buttons: Any = (), **values: object) -> Message:
        return compose(self.wording.parts(template, **values), buttons)

    def refusal(self, refused: Refused) -> Message:
        """A refusal in its own words, shown as characters only, with its times in the reader's zone."""
        return self.message("refusal.j2", message=str(refused), zone="")

    async def in_time(self, task: asyncio.Future[Any]) -> bool:
        """Whether the work is done before an acknowledgement must leave; it goes on when it is not."""
        await asyncio.wait({task}, timeout=self.patience)
        return task.done()

    async def reply(self, ask: Ask, message: Message) -> None:
        """Answer where the person is; by direct message when nothing can be shown there."""
        for page in split(message)[:_REPLIES_MOST]:
            if not (await self._by_url(ask, page) or await self._there(ask, page)):
                await self._directly(ask, page)

    async def whisper(self, ask: Ask, message: Message) -> bool:
        """Answer the one person who asked, in a message that Slack does not keep; false where that cannot be."""
        return await self._by_url(ask, message)

    async def _by_url(self, ask: Ask, page: Message, *, replace: bool = False) -> bool:
        if not ask.response_url:
            return False
        # The webhook client makes a session of its own per call; the address came in a payload that was verified.
        try:
            answer = await AsyncWebhookClient(ask.response_url, session=self.slack.session, timeout=10).send_dict(
                {**page.payload, "response_type": "ephemeral", "replace_original": replace}
            )
        except slack_errors.UNREACHABLE as error:
            log.warning("a response url did not answer", error=str(error))
            return False
        return answer.status_code == 200

    async def _there(self, ask: Ask, page: Message) -> bool:
        if not ask.channel:
            return False
        try:
            if ask.written:
                await self.slack.chat_postMessage(
                    channel=ask.channel, thread_ts=ask.ts or None, unfurl_links=False, **page.payload
                )
            else:
                await self.slack.chat_postEphemeral(channel=ask.channel, user=ask.user, **page.payload)
        except SlackApiError as error:
            log.info("could not answer in the channel", channel=ask.channel, error=slack_errors.code(error))
            return False
        return True

    async def _directly(self, ask: Ask, page: Message) -> None:
        channel = await self.conversations.direct(ask.user)
        await self.slack.chat_postMessage(channel=channel, unfurl_links=False, **page.payload)

    async def turn_page(self, ask: Ask, message: Message) -> None:
        """Show something else in place of the answer that was clicked."""
        if not await self._by_url(ask, split(message)[0], replace=True):
            await self.reply(ask, message)
