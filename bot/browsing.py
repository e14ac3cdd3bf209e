"""Looking at leases: one, or a list in pages."""

from __future__ import annotations

from collections.abc import Sequence

from slack_sdk.models.blocks import ActionsBlock, Block, ButtonElement, SectionBlock

from bot import words
from bot.around import Around, asked_now
from bot.ask import Ask
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose, markdown
from bot.blocks.text import cut
from bot.desk import Desk
from bot.details import history
from bot.evidence import in_force
from bot.facts import facts
from bot.pending import decides_wish
from bot.people import People
from lessor.contracts import Verb
from lessor.domain import transitions
from lessor.domain.authority import may_enter, require_steward
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import OPEN, Lease, State
from lessor.domain.people import Person
from lessor.ports import LeaseQuery

PAGE = 20
LINE_MOST = 400
EVENTS_MOST = 10

Row = list[ButtonElement]


class Browsing:
    """`list`, `show`, and the questions that `release`, `withdraw` and `stop` ask first."""

    def __init__(self, desk: Desk, people: People) -> None:
        self._desk = desk
        self._people = people
        self._buttons = Buttons(desk.wording)

    async def list(self, ask: Ask, text: str) -> None:
        """Open leases: one's own, those of a person who is named, or of a team."""
        try:
            person = await self._desk.person(ask)
            scope = await self._scope(text.strip(), person)
            message = await self._page(person, scope, after="")
        except Refused as refused:
            message = self._desk.refusal(refused)
        await self._desk.reply(ask, message)

    async def next_page(self, ask: Ask) -> None:
        """The page after the one that was clicked, in its place."""
        scope, _, after = ask.value.partition("|")
        try:
            message = await self._page(await self._desk.person(ask), scope, after)
        except Refused as refused:
            message = self._desk.refusal(refused)
        await self._desk.turn_page(ask, message)

    async def show(self, ask: Ask, text: str) -> None:
        """One lease, with the buttons that the viewer may use."""
        try:
            person, lease = await self._wanted(ask, text, "show")
            around = await asked_now(self._desk.gateway, lease)
            events = await self._desk.gateway.events(lease.id)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        now = self._desk.now()
        enter = may_enter(lease, person)
        values = {**facts(lease, now, around), "zone": person.tz, "may_enter": enter, **history(events, EVENTS_MOST)}
        values |= in_force(self._desk.gateway.meter.terms(lease), lease)
        parts = self._desk.wording.parts("details.j2", **values)
        await self._desk.reply(
            ask, compose(parts, [*self._row(lease, person, around), self._buttons.details(lease.id)])
        )

    def _row(self, lease: Lease, person: Person, around: Around) -> Row:
        """What this person may do with the lease now."""
        now, mine = self._desk.now(), person.is_same(lease.requester_ids)
        decides = any(one.id == person.id for step in around.steps for one in step.deciders)
        row: Row = self._buttons.verdict(lease, now) if decides else []
        row += self._buttons.wish_verdict(lease) if decides_wish(lease, person) else []
        if lease.transfer and not person.refs.isdisjoint(lease.transfer.to):
            row += self._buttons.take_or_decline(lease.id)
        if mine and lease.state is State.AWAITING_APPROVAL:
            asked = next((one for one in lease.questions if not one.answer), None)
            row += self._buttons.answer_terms(lease.id) if lease.counter else []
            row += [self._buttons.reply(lease.id, asked.by)] if asked else []
        if mine:
            return row + self._buttons.requester(lease, now)
        return row + self._buttons.owner(lease, now) if may_enter(lease, person) else row

    async def confirm(self, ask: Ask, text: str, verb: Verb) -> None:
        """Ask before a lease is released, withdrawn or stopped by command."""
        try:
            person, lease = await self._wanted(ask, text, verb.value)
            _require_hold(lease, person, verb)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        if verb is Verb.STOP:
            press = self._buttons.stop(lease, asked=True)
        else:
            ask_for = self._buttons.release if verb is Verb.RELEASE else self._buttons.withdraw
            press = ask_for(lease.id, asked=True)
        values = {**facts(lease, self._desk.now()), "zone": person.tz, "verb": verb.value}
        row = [press, self._buttons.details(lease.id)]
        await self._desk.reply(ask, self._desk.message("confirm.j2", row, **values))

    async def _wanted(self, ask: Ask, text: str, verb: str) -> tuple[Person, Lease]:
        word = text.split(maxsplit=1)[0] if text.split() else ""
        lease_id = parse_lease_id(word)
        if lease_id is None:
            what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
            raise Refused("no-lease", f"{what}; write /gpu {verb} ID, and see your leases with /gpu list")
        return await self._desk.person(ask), await self._desk.gateway.lease(lease_id)

    async def _scope(self, text: str, person: Person) -> str:
        """`person:ID` or `team:KEY`. Raises `Refused` for what names neither."""
        if not text or text.lower() in ("mine", "me"):
            return f"person:{person.id}"
        if text.startswith(("@", "<@")):
            return f"person:{await self._people.named(text)}"
        if words.channel_in(text):
            raise Refused("not-a-team", "a channel has no leases; name a team or a person: /gpu list TEAM")
        return f"team:{text}"

    async def _page(self, person: Person, scope: str, after: str) -> Message:
        kind, _, name = scope.partition(":")
        owner = await self._desk.gateway.person(name) if kind == "person" else None
        query = LeaseQuery(
            owner_ids=tuple(owner.all_ids if owner else (name,)) if kind == "person" else (),
            teams=(name,) if kind == "team" else (),
            states=tuple(state.value for state in OPEN),
            after=after,
            limit=PAGE + 1,
        )
        found = await self._desk.gateway.leases(query)
        values = {"mine": kind == "person" and person.is_same(frozenset((name,))), "name": name, "kind": kind}
        parts = self._desk.wording.parts("list.j2", count=len(found), after=after, zone=person.tz, **values)
        blocks: list[Block] = list(compose(parts).blocks)
        blocks += lines(self._desk, found[:PAGE], person)
        if len(found) > PAGE:
            blocks.append(ActionsBlock(elements=[self._buttons.next_page(f"{scope}|{found[PAGE - 1].id}")]))
        return Message(parts["title"], tuple(blocks))


def lines(desk: Desk, leases: Sequence[Lease], person: Person) -> list[Block]:
    """One section for each lease, with a button to look at it."""
    blocks: list[Block] = []
    for lease in leases:
        parts = desk.wording.parts("line.j2", zone=person.tz, **facts(lease, desk.now()))
        text = markdown(cut(parts["title"], LINE_MOST))
        blocks.append(SectionBlock(text=text, accessory=Buttons(desk.wording).details(lease.id)))
    return blocks


def _require_hold(lease: Lease, person: Person, verb: Verb) -> None:
    """Raise `Refused` ("not-owner") rather than ask somebody whose answer the workflow would refuse."""
    if verb is not Verb.WITHDRAW:
        require_steward(lease, person)
    elif not person.is_same(lease.requester_ids):
        raise Refused("not-owner", f"{lease.id} belongs to somebody else; only its requester can withdraw it")
    elif lease.wish is None:
        transitions.require_request(lease)
