"""Deciding on a later end that a running lease's owner wishes for: grant, by typing it out where it is dear, reject."""

from __future__ import annotations

from typing import Any

from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.deciding import check, send_typed
from bot.desk import Desk
from bot.forms import Forms, Sheet, confirmation, reason
from bot.ids import Form
from lessor.contracts import Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person


class Granting:
    """The buttons of the extension card."""

    def __init__(self, desk: Desk, acting: Acting, forms: Forms) -> None:
        self._desk = desk
        self._acting = acting
        self._forms = forms
        self._rejection = Sheet(Form.REJECT, "reject_form.j2", self._require_decider, reason)
        self._typing = Sheet(Form.GRANT, "grant_form.j2", self._require_decider, confirmation)

    async def grant(self, ask: Ask) -> None:
        await self._acting.button(ask, Verb.GRANT)

    async def ask_typing(self, ask: Ask) -> None:
        """Open the form in which an expensive extension is typed out."""
        await self._forms.open(ask, self._typing)

    async def typed(self, ask: Ask) -> dict[str, Any]:
        return await send_typed(ask, Verb.GRANT, self._acting, self._forms)

    async def ask_reason(self, ask: Ask) -> None:
        """Open the form that asks why not."""
        await self._forms.open(ask, self._rejection)

    async def reject(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says."""
        why = fields.typed(ask.view, "reason")
        if not why:
            return self._forms.wrong("reason", self._desk.say("deny_empty.j2"))
        told = await self._acting.act(ask, Verb.REJECT, metadata(ask.view).get("lease", ""), reason=why)
        return self._forms.finished(told, "reason")

    async def _require_decider(self, ask: Ask, lease: Lease, person: Person) -> None:
        if lease.wish is None:
            raise Refused("already-decided", self._desk.say("wish_past.j2", lease_id=lease.id))
        await check(self._desk, lease, lease.wish.steps, person, lease.requester_ids | set(lease.wish.ids))
