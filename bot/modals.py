"""Opening forms in time: a loading view is the first call after a click, whatever else is slow."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot import slack_errors
from bot.ask import Ask
from bot.blocks.message import Message, sections
from bot.blocks.views import Views
from bot.desk import Desk

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Opened:
    """A view on somebody's screen; `hash` names the content that it had when we last heard of it."""

    id: str
    hash: str
    metadata: dict[str, str]


class Modals:
    """Opens views and gives them content; a view that was closed meanwhile is not missed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.views = Views(desk.wording)

    async def open(self, ask: Ask, callback: str, **remembered: str) -> Opened | None:
        """Show the loading view; `None` when Slack no longer takes the trigger, of which the person is told."""
        metadata = {"key": secrets.token_hex(8), "channel": ask.channel, **remembered}
        text = self._desk.wording.parts("loading.j2")["title"]
        try:
            answer = await self._desk.slack.views_open(
                trigger_id=ask.trigger_id, view=self.views.words(callback, metadata, "wait", sections(text))
            )
        except SlackApiError as error:
            if not slack_errors.trigger_refused(error):
                raise
            log.info("a trigger was refused", user=ask.user, error=slack_errors.code(error))
            await self._desk.reply(ask, self._desk.message("expired_trigger.j2", text=ask.text))
            return None
        return Opened(answer["view"]["id"], answer["view"]["hash"], metadata)

    async def show(self, opened: Opened, view: View) -> Opened | None:
        """Replace the content; `None` when the view is closed or shows something newer than we know of."""
        try:
            answer = await self._desk.slack.views_update(view_id=opened.id, hash=opened.hash or None, view=view)
        except SlackApiError as error:
            if slack_errors.code(error) in ("not_found", "hash_conflict", "view_not_found"):
                return None
            raise
        return Opened(opened.id, answer["view"]["hash"], opened.metadata)

    async def tell(self, opened: Opened, callback: str, title: str, message: Message) -> None:
        """Say something in the view, where nothing is left to ask."""
        await self.show(opened, self.words(callback, title, message.blocks))

    def words(self, callback: str, title: str, blocks: Sequence[Block]) -> View:
        return self.views.words(callback, {}, title, blocks)

    def sentence(self, callback: str, title: str, template: str, **values: Any) -> View:
        """A view with one sentence of a template."""
        return self.words(callback, title, sections(self._desk.wording.parts(template, **values)["title"]))
