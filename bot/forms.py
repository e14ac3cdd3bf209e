"""Small forms about one lease: loading view first, then whether this person may, then the fields; errors at a field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.models.blocks import Block

from bot.acting import Told
from bot.ask import Ask
from bot.blocks import fields
from bot.blocks.fields import Words
from bot.blocks.message import sections
from bot.blocks.text import cut
from bot.desk import Desk
from bot.facts import asked, facts
from bot.ids import Form
from bot.modals import Modals
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person

ERROR_MOST = 1_000

SETTLED = frozenset(
    {"already-decided", "already-voted", "own-request", "inactive", "not-approver", "not-owner"}
    | {"wrong-state", "not-found", "unknown-person", "no-workflow"}
)
"""Refusals after which the form is of no use; any other one can be mended in it."""


@dataclass(frozen=True)
class Sheet:
    """A form: what it is called, where its words are, who may fill it in, and its fields.

    `allowed` raises `Refused` for somebody who would only be refused later; `fields` may look things up.
    """

    form: Form
    template: str
    allowed: Callable[[Ask, Lease, Person], Awaitable[None]]
    fields: Callable[[Words, Lease, Person], Awaitable[Sequence[Block]]]


class Forms:
    """Opens sheets, and says what the acknowledgement of a sent one has to be."""

    def __init__(self, desk: Desk, modals: Modals) -> None:
        self._desk = desk
        self._modals = modals

    async def open(self, ask: Ask, sheet: Sheet) -> None:
        """Show the form about the lease whose id was clicked; what follows the id is remembered as `about`."""
        lease_id, _, about = ask.value.partition("|")
        opened = await self._modals.open(ask, sheet.form, lease=lease_id, about=about)
        if opened is None:
            return
        try:
            person = await self._desk.person(ask)
            lease = await self._desk.gateway.lease(lease_id)
            await sheet.allowed(ask, lease, person)
            asked_by = next((q for q in lease.questions if not q.answer and about in ("", q.by)), None)
            values = {**facts(lease, self._desk.now()), **asked(asked_by), "zone": person.tz}
            said = self._desk.wording.parts(sheet.template, **values)
            blocks = [*sections(said["title"]), *await sheet.fields(said, lease, person)]
        except Refused as refused:
            await self._modals.tell(opened, Form.DETAILS, "not_done", self._desk.refusal(refused))
            return
        view = self._modals.views.form(sheet.form, opened.metadata, said["heading"], blocks, said["submit"])
        await self._modals.show(opened, view)

    def finished(self, told: Told, field: str) -> dict[str, Any]:
        """What became of the act: said in the view, or at `field` where the person can mend it there."""
        if not told.ok and told.code not in SETTLED:
            return self.wrong(field, told.message.text)
        title = "done" if told.ok else "not_done"
        return {"response_action": "update", "view": self._modals.words(Form.DETAILS, title, told.message.blocks)}

    def wrong(self, field: str, message: str) -> dict[str, Any]:
        """An error at a field."""
        return {"response_action": "errors", "errors": {field: cut(message, ERROR_MOST)}}


async def reason(said: Words, lease: Lease, person: Person) -> list[Block]:
    """The field of a form that asks why."""
    return [fields.text(said, "reason", long=True)]


async def confirmation(said: Words, lease: Lease, person: Person) -> list[Block]:
    """The fields of a form in which a decision is typed out."""
    return [fields.text(said, "confirmation", most=100), fields.text(said, "reason", long=True, optional=True)]
