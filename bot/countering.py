"""Other terms: an approver proposes them, the requester accepts them, or asks for something else by themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bot.acting import Acting
from bot.ask import Ask, metadata
from bot.blocks import fields
from bot.blocks.fields import Words
from bot.deciding import Deciding
from bot.desk import Desk
from bot.forms import Forms, Sheet
from bot.ids import Form
from bot.proposals import find
from lessor.contracts import Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.pending import Changes
from lessor.domain.people import Person
from lessor.domain.quote import Offer
from lessor.domain.request import Market
from lessor.when import parse_end


class Countering:
    """Approve with changes, and what the requester makes of them."""

    def __init__(self, desk: Desk, acting: Acting, forms: Forms, deciding: Deciding) -> None:
        self._desk = desk
        self._acting = acting
        self._forms = forms
        self._sheet = Sheet(Form.COUNTER, "counter_form.j2", deciding.require_decider, self._fields)

    async def ask(self, ask: Ask) -> None:
        """Open the form that asks under which terms it would be approved."""
        await self._forms.open(ask, self._sheet)

    async def sent(self, ask: Ask) -> dict[str, Any]:
        """What the acknowledgement of the sent form says; each field speaks for itself."""
        try:
            person = await self._desk.person(ask)
            changes = _changes(ask, self._desk.now(), person.tz)
        except _Wrong as wrong:
            return self._forms.wrong(wrong.field, str(wrong))
        except Refused as refused:
            return self._forms.wrong("end", str(refused))
        if changes == Changes():
            return self._forms.wrong("end", self._desk.say("counter_empty.j2"))
        lease_id, reason = metadata(ask.view).get("lease", ""), fields.typed(ask.view, "reason")
        told = await self._acting.act(ask, Verb.COUNTER, lease_id, reason=reason, changes=changes)
        return self._forms.finished(told, "end")

    async def revise(self, ask: Ask) -> None:
        """Take a suggestion or another offer instead: one click on what stood beside the button."""
        lease_id, _, key = ask.value.partition("|")
        try:
            await self._desk.person(ask)
            proposal = find(await self._desk.gateway.lease(lease_id), key)
            if proposal is None:
                raise Refused("no-proposal", self._desk.say("proposal_past.j2", lease_id=lease_id))
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        told = await self._acting.act(ask, Verb.REVISE, lease_id, changes=proposal.changes, reason=proposal.text)
        await self._desk.reply(ask, told.message)

    async def _fields(self, said: Words, lease: Lease, person: Person) -> list[Any]:
        places = (await self._desk.gateway.choices(person.id)).places
        place = next((one for one in places if one.name == lease.request.place.name), None)
        markets = [
            (one.value, one.value) for one in (place.markets if place else ()) if one is not lease.request.market
        ]
        return [
            fields.text(said, "end", optional=True, most=200),
            fields.text(said, "count", optional=True, most=10),
            *fields.choice(said, "type", _types(lease)),
            *fields.choice(said, "market", markets),
            fields.text(said, "reason", long=True, optional=True),
        ]


class _Wrong(Refused):
    """What is wrong with one field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__("invalid", message)
        self.field = field


def _changes(ask: Ask, now: datetime, zone: str) -> Changes:
    """What the form says would be different. Raises `Refused` for an end that is not understood, and `_Wrong`."""
    end, count = fields.typed(ask.view, "end"), fields.typed(ask.view, "count")
    market = fields.typed(ask.view, "market")
    if count and not (count.isascii() and count.isdigit() and 0 < int(count) < 10**6):
        raise _Wrong("count", f"'{count[:10]}' is not a number of GPUs")
    until = parse_end(end, now, zone) if end else None
    return Changes(
        duration=until.duration if until else None,
        until=until.until if until else None,
        count=int(count) if count else None,
        instance_type=fields.typed(ask.view, "type"),
        market=Market(market) if market else None,
    )


def _types(lease: Lease) -> list[tuple[str, str]]:
    """The types that would fill the need as well, each once, with the price where it is known."""
    if lease.quote is None:
        return []
    offers = {offer.instance_type: offer for offer in reversed(lease.quote.alternatives)}
    offers.pop(lease.quote.offer.instance_type, None)
    return [(name, f"{name}: {_worth(offer)}") for name, offer in reversed(offers.items())]


def _worth(offer: Offer) -> str:
    price = f"{offer.hourly} an hour" if offer.hourly else "price unknown"
    return f"{offer.gpu_count} x {offer.gpu_model}, {price}"
