"""`/gpu fleet`: every place at one glance, what runs without a lease, and all leases page by page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slack_sdk.models.blocks import ActionsBlock, Block, SectionBlock

from bot.ask import Ask
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, markdown, note, sections
from bot.blocks.text import cut, quoted
from bot.desk import Desk
from bot.facts import kind_words
from lessor.domain import ends
from lessor.domain.errors import Refused
from lessor.domain.fleet import Fleet, PlaceFleet, Tenant
from lessor.domain.fleet_words import EMPTY, EMPTY_CLOUD, UNNAMED, body, figures, unit, where
from lessor.domain.people import Person
from lessor.domain.pools import Holder

if TYPE_CHECKING:
    from lessor.gateway import Choices

PLACES_MOST = 12
MODELS_MOST = 10
PLACE_MOST = 2_000
OWNERLESS_MOST = 10
LEASES_PAGE = 10
LINE_MOST = 700
HOLDER_MOST = 300
PURPOSE_MOST = 150
WANTED_MOST = 40


class FleetView:
    """The same numbers as `lessor fleet`, in pages that Slack takes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buttons = Buttons(desk.wording)

    async def command(self, ask: Ask, text: str) -> None:
        """`/gpu fleet`, `/gpu fleet lab`, `/gpu fleet a100`."""
        wanted = text.strip()[:WANTED_MOST]
        try:
            person = await self._desk.person(ask)
            fleet = await self._desk.gateway.fleet.view(wanted)
            choices = await self._desk.gateway.choices(person.id)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        blocks = [*self._places(fleet, choices, person), *self._ownerless(fleet, person)]
        await self._desk.reply(ask, self._message(fleet, wanted, "", person, blocks))

    async def next_page(self, ask: Ask) -> None:
        """The leases after the one that was shown last, in place of the page that was clicked."""
        wanted, _, after = ask.value.rpartition("|")
        try:
            person = await self._desk.person(ask)
            fleet = await self._desk.gateway.fleet.view(wanted)
            message = self._message(fleet, wanted, after, person, [])
        except Refused as refused:
            message = self._desk.refusal(refused)
        await self._desk.turn_page(ask, message)

    def _message(self, fleet: Fleet, wanted: str, after: str, person: Person, before: Sequence[Block]) -> Message:
        tenants = sorted((t for one in fleet.places for t in one.tenants), key=lambda tenant: tenant.lease.id)
        shown = [tenant for tenant in tenants if tenant.lease.id > after]
        said = self._said(fleet, wanted, person, page=2 if after else 1, count=len(tenants))
        blocks = [*sections(said["title"]), *before, *sections(said["leases"])]
        blocks += [self._tenant(tenant, person) for tenant in shown[:LEASES_PAGE]]
        if len(shown) > LEASES_PAGE:
            value = f"{wanted}|{shown[LEASES_PAGE - 1].lease.id}"
            blocks.append(ActionsBlock(elements=[self._buttons.fleet_page(value)]))
        return Message(said["title"].replace("*", ""), tuple(blocks))

    def _places(self, fleet: Fleet, choices: Choices, person: Person) -> list[Block]:
        labels = {place.name: place.label for place in choices.places}
        shown = fleet.places[:PLACES_MOST]
        text = "\n".join(self._place(one, labels.get(one.place.name, one.place.name), person) for one in shown)
        more = len(fleet.places) - len(shown)
        said = self._said(fleet, "", person, more_places=more)
        return [*sections(text or said["empty"]), *([note(said["more_places"])] if more else [])]

    def _place(self, one: PlaceFleet, label: str, person: Person) -> str:
        lines = [
            {"model": line.model or UNNAMED, "on_demand": line.on_demand, **figures(line), "unit": unit(line)}
            for line in one.lines[:MODELS_MOST]
        ]
        more = len(one.lines) - len(lines)
        values = {"place": one, "label": label, "lines": lines, "more": more, "zone": person.tz}
        values |= {"empty": EMPTY_CLOUD if one.on_demand else EMPTY, "body": body(one.place)}
        return cut(self._desk.wording.parts("fleet_place.j2", **values)["title"], PLACE_MOST)

    def _ownerless(self, fleet: Fleet, person: Person) -> list[Block]:
        found = [holder for one in fleet.places for holder in one.ownerless]
        if not found:
            return []
        more = max(len(found) - OWNERLESS_MOST, 0)
        said = self._said(fleet, "", person, more_ownerless=more)
        text = "\n".join([said["ownerless"], *self._holders(found[:OWNERLESS_MOST], person)])
        return [*sections(text), *([note(said["more_ownerless"])] if more else [])]

    def _holders(self, found: Iterable[Holder], person: Person) -> list[str]:
        parts = (self._desk.wording.parts("fleet_holder.j2", holder=holder, zone=person.tz) for holder in found)
        return [cut(one["title"], HOLDER_MOST) for one in parts]

    def _tenant(self, tenant: Tenant, person: Person) -> Block:
        lease = tenant.lease
        values = {
            "tenant": tenant,
            "lease": lease,
            "kind": kind_words(lease.request.kind),
            "where": where(tenant),
            "ends_at": ends.ahead(lease),
            "flags": "; ".join(tenant.flags),
            "purpose": quoted(lease.request.purpose, PURPOSE_MOST),
            "zone": person.tz,
        }
        text = cut(self._desk.wording.parts("fleet_lease.j2", **values)["title"], LINE_MOST)
        return SectionBlock(text=markdown(text), accessory=self._buttons.details(lease.id))

    def _said(self, fleet: Fleet, wanted: str, person: Person, **values: int) -> dict[str, str]:
        numbers = {"page": 1, "count": 0, "more_places": 0, "more_ownerless": 0} | values
        return self._desk.wording.parts("fleet.j2", wanted=wanted, at=fleet.at, zone=person.tz, **numbers)
