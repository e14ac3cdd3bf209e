"""Acts on leases by button, form or command: one gateway call, and the answer to the person alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.ask import Ask
from bot.blocks.message import Message
from bot.cards import card
from bot.desk import Desk
from bot.facts import facts
from lessor.contracts import Act, Answer, Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease

log = structlog.get_logger(__name__)

VIA = "slack"
_KEY_MOST = 255


@dataclass(frozen=True)
class Told:
    """What the person is told; `ok` is false when nothing was changed."""

    ok: bool
    message: Message


class Acting:
    """Sends acts through the gateway. The key of the click is the key of the act: pressed twice, done once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def act(self, ask: Ask, verb: Verb, lease_id: str, reason: str = "", until: datetime | None = None) -> Told:
        """Never raises for what the domain, the directory or an unreachable workflow refuses."""
        try:
            person = await self._desk.person(ask)
            key = f"{lease_id}/{verb.value}/{ask.key}"[:_KEY_MOST]
            answer = await self._desk.gateway.act(lease_id, Act(key, verb, ask.user, reason, until, VIA))
        except Refused as refused:
            return Told(False, self._desk.refusal(refused))
        if answer.ok:
            return Told(True, self._words(answer, verb, None, person.tz))
        lease = await self._lease(lease_id)
        if lease and verb in (Verb.APPROVE, Verb.DENY):
            await self._redraw_clicked(ask, lease, person.tz)
        return Told(False, self._words(answer, verb, lease, person.tz))

    async def button(self, ask: Ask, verb: Verb) -> None:
        """A click; the answer is shown beside the message."""
        told = await self.act(ask, verb, ask.value)
        await self._desk.reply(ask, told.message)

    def _words(self, answer: Answer, verb: Verb, lease: Lease | None, zone: str) -> Message:
        values = facts(lease, self._desk.now()) if lease else {"lease": None}
        return self._desk.message("answer.j2", **{**values, "answer": answer, "verb": verb.value, "zone": zone})

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
        message = card(self._desk.wording, lease, self._desk.now(), zone if direct else "", ())
        try:
            await self._desk.slack.chat_update(channel=ask.channel, ts=ask.ts, **message.payload)
        except SlackApiError as error:
            log.info("a stale card could not be redrawn", lease=lease.id, error=slack_errors.code(error))
