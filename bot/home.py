"""App Home: my leases, what waits for me, for whom I stand in, my teams' numbers, and whether I am away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from slack_sdk.models.blocks import ActionsBlock, Block, ButtonElement, SectionBlock
from slack_sdk.models.views import View

from bot.ask import Ask
from bot.blocks.buttons import Buttons
from bot.blocks.message import divider, markdown, sections
from bot.blocks.text import cut
from bot.browsing import LINE_MOST
from bot.desk import Desk
from bot.facts import facts
from bot.pending import Pending, Waiting
from bot.reckoning import Reckoning
from lessor.domain.errors import Refused
from lessor.domain.fleet_words import free_words
from lessor.domain.ladder import Brake
from lessor.domain.lease import OPEN, Lease
from lessor.domain.people import Person
from lessor.ports import LeaseQuery

MINE_MOST = 10
DECIDING_MOST = 10
OTHERS_MOST = 5
PLACES_MOST = 10
FREE_WITHIN = timedelta(seconds=1)
BLOCKS_MOST = 100


class Home:
    """Publishes the view; doing it twice shows the same."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buttons = Buttons(desk.wording)
        self._pending = Pending(desk.gateway)
        self._reckoning = Reckoning(desk)

    async def publish(self, ask: Ask) -> None:
        """Show the person's Home as it is now, from its first page on."""
        await self._show(ask, "", "")

    async def turn(self, ask: Ask) -> None:
        """Show another page of one of its lists."""
        mine, _, deciding = ask.value.partition("|")
        await self._show(ask, mine, deciding)

    async def _show(self, ask: Ask, mine: str, deciding: str) -> None:
        try:
            person = await self._desk.person(ask)
            blocks = await self._blocks(person, mine, deciding)
        except Refused as refused:
            blocks = list(self._desk.refusal(refused).blocks)
        await self._desk.slack.views_publish(user_id=ask.user, view=View(type="home", blocks=blocks[:BLOCKS_MOST]))

    async def _blocks(self, person: Person, mine_after: str, deciding_after: str) -> list[Block]:
        waiting = await self._pending.of(person, deciding_after, DECIDING_MOST)
        mine = await self._mine(person, mine_after)
        words = self._words(person, mine, waiting)
        held = await self._desk.gateway.meter.brake() if person.admin else Brake()
        return [
            *sections(words["title"]),
            *sections(words.get("absence", "")),
            *sections(words.get("stands_in", "")),
            *(self._desk.message("brake.j2", zone=person.tz, brake=held, changed=False).blocks if held.on else ()),
            ActionsBlock(elements=[self._buttons.request()]),
            *sections(words["mine"]),
            *self._my_leases(person, mine, mine_after, deciding_after),
            divider(),
            *sections(words["deciding"]),
            *self._decisions(person, waiting, mine_after, deciding_after),
            divider(),
            *sections(words["teams"]),
            *await self._reckoning.teams(person),
            *await self._free(),
        ]

    async def _free(self) -> list[Block]:
        """What is free now in places that count themselves; nobody's Home waits long for one that does not answer."""
        free = [free_words(one) for one in await self._desk.gateway.fleet.free(FREE_WITHIN)]
        shown = [{"place": place, "words": words} for place, words in free][:PLACES_MOST]
        return sections(self._desk.wording.parts("home_free.j2", free=shown)["title"]) if shown else []

    def _words(self, person: Person, mine: Sequence[Lease], waiting: Waiting) -> dict[str, str]:
        count = len(waiting.requests) + len(waiting.wishes) + len(waiting.offers)
        away = person.away_until and person.away_until > self._desk.now()
        return self._desk.wording.parts(
            "home.j2",
            zone=person.tz,
            mine_count=len(mine),
            deciding_count=count,
            away_until=person.away_until if away else None,
            delegate=person.delegate,
            stands_in=person.stands_in,
            teams=person.teams,
        )

    async def _mine(self, person: Person, after: str) -> tuple[Lease, ...]:
        states = tuple(state.value for state in OPEN)
        query = LeaseQuery(owner_ids=tuple(person.all_ids), states=states, after=after, limit=MINE_MOST + 1)
        return await self._desk.gateway.leases(query)

    def _my_leases(self, person: Person, mine: Sequence[Lease], after: str, deciding: str) -> list[Block]:
        now, shown = self._desk.now(), mine[:MINE_MOST]
        blocks: list[Block] = []
        for lease in shown:
            row = self._buttons.mine(lease, now)
            blocks += self._entry(lease, person, "line.j2", row)
        following = f"{shown[-1].id}|{deciding}" if len(mine) > MINE_MOST else ""
        return blocks + self._pages(following, f"|{deciding}" if after else "")

    def _decisions(self, person: Person, waiting: Waiting, mine: str, after: str) -> list[Block]:
        now = self._desk.now()
        blocks: list[Block] = []
        for lease in waiting.requests:
            blocks += self._entry(lease, person, "line.j2", self._buttons.decide(lease, now))
        for lease in waiting.wishes[:OTHERS_MOST]:
            blocks += self._entry(lease, person, "wish_line.j2", self._buttons.wish(lease))
        for lease in waiting.offers[:OTHERS_MOST]:
            blocks += self._entry(lease, person, "offer_line.j2", self._buttons.offered(lease.id))
        following = f"{mine}|{waiting.last}" if waiting.more else ""
        return blocks + self._pages(following, f"{mine}|" if after else "")

    def _pages(self, following: str, first: str) -> list[Block]:
        row = [self._buttons.home_page("first_page", first)] if first else []
        row += [self._buttons.home_page("next_page", following)] if following else []
        return [ActionsBlock(elements=row)] if row else []

    def _entry(self, lease: Lease, person: Person, template: str, row: Sequence[ButtonElement]) -> list[Block]:
        text = self._desk.wording.parts(template, zone=person.tz, **facts(lease, self._desk.now()))["title"]
        return [SectionBlock(text=markdown(cut(text, LINE_MOST))), ActionsBlock(elements=list(row))]
