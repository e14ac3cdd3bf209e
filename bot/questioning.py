"""Questions before a decision: an approver asks, the requester answers, and both stand under the card."""

from __future__ import annotations

from typing import Any

from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.blocks.fields import Words
from bot.deciding import Deciding
from bot.desk import Desk
from bot.forms import Forms, Sheet
from bot.ids import Form
from lessor.contracts import Verb
from lessor.domain.authority import require_steward
from lessor.domain.lease import Lease
from lessor.domain.people import Person


class Questioning:
    """The forms behind Ask and Answer."""

    def __init__(self, desk: Desk, acting: Acting, forms: Forms, deciding: Deciding) -> None:
        self._desk = desk
        self._acting = acting
        self._forms = forms
        self._asking = Sheet(Form.ASK, "ask_form.j2", deciding.require_decider, _text)
        self._replying = Sheet(Form.REPLY, "reply_form.j2", _steward, _text)

    async def ask(self, ask: Ask) -> None:
        """Open the form that takes a question."""
        await self._forms.open(ask, self._asking)

    async def reply(self, ask: Ask) -> None:
        """Open the form that takes the answer."""
        await self._forms.open(ask, self._replying)

    async def sent(self, ask: Ask, verb: Verb) -> dict[str, Any]:
        """What the acknowledgement of the sent form says."""
        text = fields.typed(ask.view, "text")
        if not text:
            return self._forms.wrong("text", self._desk.say("text_empty.j2"))
        form = metadata(ask.view)
        told = await self._acting.act(ask, verb, form.get("lease", ""), reason=text, to=form.get("about", ""))
        return self._forms.finished(told, "text")


async def _steward(ask: Ask, lease: Lease, person: Person) -> None:
    require_steward(lease, person)


async def _text(said: Words, lease: Lease, person: Person) -> list[Any]:
    return [fields.text(said, "text", long=True)]
