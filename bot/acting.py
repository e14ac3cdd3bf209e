"""Acts on leases by button, form or command: one gateway call, and the answer to the person alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import ButtonElement

from bot import slack_errors
from bot.around import NOTHING
from bot.ask import Ask
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message
from bot.cards import card
from bot.desk import Desk
from bot.facts import facts
from lessor.contracts import Act, Answer, Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, State

log = structlog.get_logger(__name__)

VIA = "slack"
NEEDS_CONFIRMATION = "needs-confirmation"
_KEY_MOST = 255


@dataclass(frozen=True)
class Told:
    """What the person is told; `ok` is false when nothing was changed, and `code` says why."""

    ok: bool
    message: Message
    code: str = ""


class Acting:
    """Sends acts through the gateway. The key of the click is the key of the act: pressed twice, done once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def act(self, ask: Ask, verb: Verb, lease_id: str, **fields: Any) -> Told:
        """`fields` are those of `Act`. Never raises for what the domain, the directory or the workflow refuses."""
        try:
            person = await self._desk.person(ask)
            key = f"{lease_id}/{verb.value}/{ask.key}"[:_KEY_MOST]
            act = replace(Act(key, verb, ask.user, via=VIA), **fields)
            answer = await self._desk.gateway.act(lease_id, act)
        except Refused as refused:
            return Told(False, self._desk.refusal(refused), refused.code)
        lease = await self._lease(lease_id)
        if answer.ok:
            return Told(True, self._words(answer, act, lease, person.tz))
        if lease and verb in (Verb.APPROVE, Verb.DENY):
            await self._redraw_clicked(ask, lease, person.tz)
        return Told(False, self._words(answer, act, lease, person.tz), answer.code)

    async def button(self, ask: Ask, verb: Verb) -> None:
        """A click; the answer is shown beside the message."""
        told = await self.act(ask, verb, ask.value)
        await self._desk.reply(ask, told.message)

    def _words(self, answer: Answer, act: Act, lease: Lease | None, zone: str) -> Message:
        values: dict[str, Any] = facts(lease, self._desk.now()) if lease else {"lease": None}
        values |= {"answer": answer, "verb": act.verb.value, "to": act.to, "until": act.until, "zone": zone}
        return self._desk.message("answer.j2", self._next(answer, act), **values)

    def _next(self, answer: Answer, act: Act) -> list[ButtonElement]:
        """What to press instead of what was refused."""
        if answer.code != NEEDS_CONFIRMATION:
            return []
        buttons = Buttons(self._desk.wording)
        if act.verb is Verb.STOP:
            return [buttons.stop_typed(answer.lease_id)]
        waiting = answer.state == State.AWAITING_APPROVAL
        return [buttons.approve_typed(answer.lease_id) if waiting else buttons.grant_typed(answer.lease_id)]

    async def _lease(self, lease_id: str) -> Lease | None:
        try:
            return await self._desk.gateway.lease(lease_id)
        except Refused:
            return None

    async def _redraw_clicked(self, ask: Ask, lease: Lease, zone: str) -> None:
        """A card that still had buttons after the decision is shown as it should be."""
        if lease.steps and not lease.decided_at and not lease.final:
            return
        if not ask.ts or ask.ephemeral:
            return
        direct = ask.channel.startswith("D")
        message = card(self._desk.wording, lease, self._desk.now(), zone if direct else "", NOTHING)
        try:
            await self._desk.slack.chat_update(channel=ask.channel, ts=ask.ts, **message.payload)
        except SlackApiError as error:
            log.info("a stale card could not be redrawn", lease=lease.id, error=slack_errors.code(error))
