"""The Bolt app: acknowledge first, then parse, one gateway call, render. All work after the acknowledgement is ours.

Bolt runs with `process_before_response`: a handler that acknowledges and hands its work to the background returns at
once, where Bolt would otherwise look for the acknowledgement only every 10 ms.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError

from bot import ask as asks
from bot import slack_errors
from bot.ask import Ask
from bot.desk import Desk
from bot.ids import COMMAND, Form
from bot.installation import Installation
from bot.modals import Opened
from bot.parts import Handle, Parts

Body = Mapping[str, Any]
Ack = Callable[..., Awaitable[Any]]

_MENTION = re.compile(r"^\s*<@[UW][A-Z0-9]+(?:\|[^>]*)?>\s*")

log = structlog.get_logger(__name__)


def build_app(desk: Desk, installation: Installation) -> AsyncApp:
    """The app with all its handlers. Signatures are checked in front of it (`bot.http`), not in it."""

    async def authorize(**_: Any) -> AuthorizeResult:
        return installation.authorization

    # Bolt warns that the token counts for nothing beside `authorize`, which is how it should be.
    logger = logging.getLogger("lessor.bolt")
    logger.setLevel(logging.ERROR)
    app = AsyncApp(
        logger=logger,
        client=desk.slack,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        ssl_check_enabled=False,
    )
    logger.setLevel(logging.WARNING)
    handlers = _Handlers(desk)
    app.middleware(handlers.once)
    app.command(COMMAND)(handlers.command)
    app.event("app_home_opened")(handlers.home)
    app.event("app_mention")(handlers.mention)
    app.event("message")(handlers.message)
    app.shortcut(Form.SHORTCUT)(handlers.shortcut)
    for action, handle in handlers.parts.buttons.items():
        app.action(action)(handlers.on_button(handle))
    app.action(re.compile("^wish-"))(handlers.on_button(handlers.parts.quoting.follow))
    app.view(Form.REQUEST)(handlers.request_form)
    for callback, handle in handlers.parts.forms.items():
        app.view(callback)(handlers.on_form(handle))
    return app


class _Handlers:
    """Gives each kind of payload its way in to the parts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.parts = Parts(desk)
        self._modals = self.parts.modals
        self._requesting = self.parts.requesting

    async def once(self, body: Body, next: Callable[[], Awaitable[Any]]) -> BoltResponse | None:
        """Acknowledge a redelivery without a second effect, by business key: event and envelope ids may be new."""
        try:
            key = _key(body)
        except asks.NONSENSE as error:
            log.warning("a payload that makes no sense", problem=repr(error)[:100])
            return BoltResponse(status=400, body="")
        if key and self._desk.seen.before(key):
            log.info("duplicate", key=key)
            return BoltResponse(status=200, body="")
        await next()
        return None

    async def command(self, ack: Ack, body: Body) -> None:
        await ack()
        self._start(asks.of_command(body), self.parts.commands.run)

    async def shortcut(self, ack: Ack, body: Body) -> None:
        await ack()
        self._start(asks.of_shortcut(body), self._requesting.form)

    async def home(self, body: Body) -> None:
        if body["event"].get("tab") == "home":
            self._start(asks.of_event(body), self.parts.home.publish)

    async def mention(self, body: Body) -> None:
        ask = asks.of_event(body)
        self._start(_without_mention(ask), self.parts.commands.run)

    async def message(self, body: Body) -> None:
        event = body["event"]
        spoken = not event.get("subtype") and not event.get("bot_id") and event.get("user")
        if spoken and event.get("channel_type") == "im":
            self._start(_without_mention(asks.of_event(body)), self.parts.commands.run)

    async def request_form(self, ack: Ack, body: Body) -> None:
        """Errors have to be in the acknowledgement; what takes longer is shown in the view when it is there."""
        ask = asks.of_view(body)
        work = self._desk.background.start(self._requesting.answer(ask), "send a request form", urgent=True)
        if await self._desk.in_time(work) and work.result() is not None:
            await ack(**work.result().acknowledgement)
            return
        await ack(response_action="update", view=self._recording())
        self._afterwards(work, lambda answered: self._requesting.late(ask, answered))

    def on_button(self, handle: Handle) -> Callable[..., Awaitable[None]]:
        async def clicked(ack: Ack, body: Body) -> None:
            await ack()
            self._start(asks.of_action(body), handle)

        return clicked

    def on_form(self, handle: Handle) -> Callable[..., Awaitable[None]]:
        async def sent(ack: Ack, body: Body) -> None:
            ask = asks.of_view(body)
            work = self._desk.background.start(handle(ask), "send a form", urgent=True)
            if await self._desk.in_time(work) and work.result() is not None:
                await ack(**work.result())
                return
            await ack(response_action="update", view=self._recording())
            self._afterwards(work, lambda acknowledgement: self._show_late(ask, acknowledgement))

        return sent

    def _afterwards(self, work: asyncio.Future[Any], go_on: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Go on with the result when it is there; where it is awaited is not where the work runs."""

        def go_on_with(done: asyncio.Future[Any]) -> None:
            if not done.cancelled():
                self._desk.background.start(go_on(done.result()), "finish a form")

        work.add_done_callback(go_on_with)

    async def _show_late(self, ask: Ask, done: dict[str, Any] | None) -> None:
        opened = Opened(ask.view["id"], "", {})
        if done and done.get("view"):
            await self._modals.show(opened, done["view"])
        elif done and done.get("errors"):
            text = "; ".join(done["errors"].values())
            await self._modals.tell(opened, Form.DETAILS, "not_done", self._desk.message("refusal.j2", message=text))
        elif done:
            await self._modals.show(opened, self._modals.sentence(Form.DETAILS, "done", "done.j2"))
        else:
            values = {"problem": "an error on our side", "kept": "It may not have taken effect."}
            await self._modals.show(opened, self._modals.sentence(Form.DETAILS, "not_done", "trouble.j2", **values))

    def _recording(self) -> Any:
        return self._modals.sentence(Form.DETAILS, "wait", "recording.j2")

    def _start(self, ask: Ask, handle: Handle) -> None:
        self._desk.background.start(self._guarded(ask, handle), ask.key)

    async def _guarded(self, ask: Ask, handle: Handle) -> None:
        """Whatever breaks, the person hears of it."""
        try:
            await handle(ask)
        except Exception as error:
            log.exception("a handler failed", key=ask.key)
            problem = "Slack did not answer" if _slacks_fault(error) else "an error on our side"
            kept = "What was recorded before is kept."
            await self._desk.reply(ask, self._desk.message("trouble.j2", problem=problem, kept=kept))


def _key(body: Body) -> str:
    """The business key of what must not happen twice; empty for what may: a form is sent again after its errors.

    Raises one of `asks.NONSENSE` for a payload without the parts that every payload of its kind has.
    """
    if body.get("command"):
        return asks.of_command(body).key
    kind = body.get("type")
    if kind == "view_submission":
        asks.of_view(body)
        return ""
    if kind == "block_actions":
        return asks.of_action(body).key
    if kind in ("shortcut", "message_action"):
        return asks.of_shortcut(body).key
    if kind == "event_callback" and (body.get("event") or {}).get("ts"):
        return asks.of_event(body).key
    return ""


def _without_mention(ask: Ask) -> Ask:
    return replace(ask, text=_MENTION.sub("", ask.text))


def _slacks_fault(error: Exception) -> bool:
    return isinstance(error, (SlackApiError, *slack_errors.UNREACHABLE))
