"""Deciding: approve at once, deny with a reason, and look at the whole request first."""

from __future__ import annotations

import asyncio
from typing import Any

from slack_sdk.models.blocks import InputBlock, PlainTextInputElement
from slack_sdk.models.views import View

from bot import words
from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks.message import plain_text, sections
from bot.desk import Desk
from bot.details import details
from bot.ids import Form
from bot.modals import Modals
from lessor.contracts import Verb
from lessor.domain import approval
from lessor.domain.errors import Refused
from lessor.domain.lease import State

REASON_MOST = 2_000


class Deciding:
    """The buttons of the request card."""

    def __init__(self, desk: Desk, modals: Modals, acting: Acting) -> None:
        self._desk = desk
        self._modals = modals
        self._acting = acting

    async def approve(self, ask: Ask) -> None:
        await self._acting.button(ask, Verb.APPROVE)

    async def ask_reason(self, ask: Ask) -> None:
        """Open the form that asks why, unless it is clear already that this person cannot decide."""
        said = self._desk.wording.parts("deny_form.j2", lease_id=ask.value)
        opened = await self._modals.open(ask, Form.DENY, lease=ask.value, ts=ask.ts)
        if opened is None:
            return
        try:
            await self._require_decider(ask)
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, "not_done", self._desk.refusal(refused))
            return
        await self._modals.show(opened, self._deny_form(said, opened.metadata))

    async def deny(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says."""
        form = metadata(ask.view)
        value = (ask.view["state"]["values"]["reason"]["reason"]["value"] or "").strip()
        if not words.clean(value).strip():
            return {"response_action": "errors", "errors": {"reason": self._desk.say("deny_empty.j2")}}
        told = await self._acting.act(ask, Verb.DENY, form.get("lease", ""), reason=value)
        if told.ok:
            return {"response_action": "clear"}
        return {"response_action": "update", "view": self._modals.words(Form.DETAILS, "deny", told.message.blocks)}

    async def show(self, ask: Ask) -> None:
        """Everything about one request or lease, in a view."""
        opened = await self._modals.open(ask, Form.DETAILS)
        if opened is None:
            return
        try:
            person = await self._desk.person(ask)
            lease, events = await asyncio.gather(
                self._desk.gateway.lease(ask.value), self._desk.gateway.events(ask.value)
            )
            deciders = await self._desk.gateway.eligible(lease)
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, "details", self._desk.refusal(refused))
            return
        blocks = details(self._desk.wording, lease, events, deciders, self._desk.now(), person)
        await self._modals.show(opened, self._modals.words(Form.DETAILS, lease.id, blocks))

    async def _require_decider(self, ask: Ask) -> None:
        """Raise `Refused` with the reason; what was decided meanwhile is said when the form is sent."""
        person, lease = await self._desk.person(ask), await self._desk.gateway.lease(ask.value)
        people = await self._desk.gateway.eligible(lease)
        if lease.state is State.AWAITING_APPROVAL and not any(person.is_same(one.all_ids) for one in people):
            approval.check(lease.steps, person, lease.requester_ids)

    def _deny_form(self, said: dict[str, str], remembered: dict[str, str]) -> View:
        reason = InputBlock(
            block_id="reason",
            label=plain_text(said["label"]),
            element=PlainTextInputElement(action_id="reason", multiline=True, max_length=REASON_MOST),
            hint=plain_text(said["hint"]),
        )
        blocks = [*sections(said["title"]), reason]
        return self._modals.views.form(Form.DENY, remembered, said["heading"], blocks, said["submit"])
