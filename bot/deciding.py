"""Deciding: approve at once or by typing it out, deny with a reason, and look at the whole request first."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.acting import Acting
from bot.around import asked_now
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.desk import Desk
from bot.details import details
from bot.forms import Forms, Sheet, confirmation, reason
from bot.ids import Form
from bot.modals import Modals
from lessor.contracts import Verb
from lessor.domain import approval
from lessor.domain.approval import Step
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person


class Deciding:
    """The buttons of the request card."""

    def __init__(self, desk: Desk, modals: Modals, acting: Acting, forms: Forms) -> None:
        self._desk = desk
        self._modals = modals
        self._acting = acting
        self._forms = forms
        self._denial = Sheet(Form.DENY, "deny_form.j2", self.require_decider, reason)
        self._typing = Sheet(Form.APPROVE, "approve_form.j2", self.require_decider, confirmation)

    async def approve(self, ask: Ask) -> None:
        await self._acting.button(ask, Verb.APPROVE)

    async def ask_typing(self, ask: Ask) -> None:
        """Open the form in which an expensive approval is typed out."""
        await self._forms.open(ask, self._typing)

    async def typed(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the typed approval says."""
        return await send_typed(ask, Verb.APPROVE, self._acting, self._forms)

    async def ask_reason(self, ask: Ask) -> None:
        """Open the form that asks why, unless it is clear already that this person cannot decide."""
        await self._forms.open(ask, self._denial)

    async def deny(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says."""
        why = fields.typed(ask.view, "reason")
        if not why:
            return self._forms.wrong("reason", self._desk.say("deny_empty.j2"))
        told = await self._acting.act(ask, Verb.DENY, metadata(ask.view).get("lease", ""), reason=why)
        return {"response_action": "clear"} if told.ok else self._forms.finished(told, "reason")

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
            around = await asked_now(self._desk.gateway, lease)
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, "details", self._desk.refusal(refused))
            return
        blocks = details(
            self._desk.wording, lease, events, around, self._desk.now(), person, self._desk.gateway.meter.terms(lease)
        )
        await self._modals.show(opened, self._modals.words(Form.DETAILS, lease.id, blocks))

    async def require_decider(self, ask: Ask, lease: Lease, person: Person) -> None:
        """Raise `Refused` with the reason; what was decided meanwhile is said when the form is sent."""
        people = await self._desk.gateway.eligible(lease)
        if lease.state is State.AWAITING_APPROVAL and not any(person.is_same(one.all_ids) for one in people):
            await check(self._desk, lease, lease.steps, person, lease.requester_ids)


async def check(desk: Desk, lease: Lease, steps: tuple[Step, ...], person: Person, requester: frozenset[str]) -> None:
    """As `approval.check`, and whoever may not decide reads the names of those who may."""
    try:
        approval.check(steps, person, requester)
    except Refused as refused:
        who = await desk.gateway.who_decides(lease) if refused.code == "not-approver" else ""
        raise Refused(refused.code, who or str(refused)) from refused


async def send_typed(ask: Ask, verb: Verb, acting: Acting, forms: Forms) -> dict[str, Any]:
    """A decision that was typed out; the workflow compares what was typed, whatever the form let through."""
    lease_id, typed = metadata(ask.view).get("lease", ""), fields.typed(ask.view, "confirmation")
    why = fields.typed(ask.view, "reason")
    told = await acting.act(ask, verb, lease_id, reason=why, confirmation=parse_lease_id(typed) or typed)
    return forms.finished(told, "confirmation")
