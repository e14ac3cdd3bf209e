"""App Home: my leases with their buttons, and what waits for my decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slack_sdk.models.blocks import ActionsBlock, Block, ButtonElement, SectionBlock
from slack_sdk.models.views import View

from bot.ask import Ask
from bot.blocks.buttons import Buttons
from bot.blocks.message import divider, markdown, sections
from bot.blocks.text import cut
from bot.browsing import LINE_MOST
from bot.desk import Desk
from bot.facts import facts
from lessor.domain.errors import Refused
from lessor.domain.lease import OPEN, Lease, State
from lessor.domain.people import Person
from lessor.ports import LeaseQuery

MINE_MOST = 25
DECIDING_MOST = 15
_READ_MOST = 60


class Home:
    """Publishes the view; doing it twice shows the same."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buttons = Buttons(desk.wording)

    async def publish(self, ask: Ask) -> None:
        """Show the person's Home as it is now."""
        try:
            blocks = await self._blocks(await self._desk.person(ask))
        except Refused as refused:
            blocks = list(self._desk.refusal(refused).blocks)
        await self._desk.slack.views_publish(user_id=ask.user, view=View(type="home", blocks=blocks))

    async def _blocks(self, person: Person) -> list[Block]:
        mine = await self._desk.gateway.leases(
            LeaseQuery(owner_ids=tuple(person.all_ids), states=_names(OPEN), limit=MINE_MOST + 1)
        )
        deciding = await self._deciding(person)
        words = self._desk.wording.parts(
            "home.j2",
            zone=person.tz,
            message="",
            mine_count=len(mine),
            more_mine=len(mine) > MINE_MOST,
            deciding_count=len(deciding),
            more_deciding=len(deciding) > DECIDING_MOST,
            channel=self._desk.settings.approvals_channel,
        )
        blocks = [*sections(words["title"]), ActionsBlock(elements=[self._buttons.request()])]
        blocks += [*sections(words["mine"])]
        for lease in mine[:MINE_MOST]:
            blocks += self._entry(
                lease, person, [*self._buttons.owner(lease, self._desk.now()), self._buttons.details(lease.id)]
            )
        blocks += [*sections(words.get("more_mine", "")), divider(), *sections(words["deciding"])]
        for lease in deciding[:DECIDING_MOST]:
            blocks += self._entry(lease, person, self._buttons.decide(lease))
        return [*blocks, *sections(words.get("more_deciding", ""))]

    async def _deciding(self, person: Person) -> list[Lease]:
        waiting = await self._desk.gateway.leases(
            LeaseQuery(states=_names([State.AWAITING_APPROVAL]), limit=_READ_MOST)
        )
        found = []
        for lease in waiting:
            people = await self._desk.gateway.eligible(lease)
            if any(person.is_same(one.all_ids) for one in people):
                found.append(lease)
        return found

    def _entry(self, lease: Lease, person: Person, row: Sequence[ButtonElement]) -> list[Block]:
        text = self._desk.wording.parts("line.j2", zone=person.tz, **facts(lease, self._desk.now()))["title"]
        return [SectionBlock(text=markdown(cut(text, LINE_MOST))), ActionsBlock(elements=list(row))]


def _names(states: Iterable[State]) -> tuple[str, ...]:
    return tuple(state.value for state in states)
