"""What a team or a person holds and spends, and what is left of their quotas and budgets."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from slack_sdk.models.blocks import Block

from bot.around import Room, budget_room, figure, quota_room, unit
from bot.ask import Ask
from bot.blocks.message import Message, sections
from bot.desk import Desk
from lessor.domain.errors import Refused
from lessor.domain.people import Person

if TYPE_CHECKING:
    from lessor.accounting import Usage

TEAMS_MOST = 10
ROOMS_MOST = 20


class Reckoning:
    """`/gpu quota [team]`, and the same numbers for App Home."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def command(self, ask: Ask, text: str) -> None:
        """One team's numbers; without a name the person's own and those of their teams."""
        try:
            person = await self._desk.person(ask)
            blocks = await self._wanted(person, text.strip().removeprefix("team:").strip())
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        title = self._desk.say("usage_title.j2")
        await self._desk.reply(ask, Message(title.replace("*", ""), (*sections(title), *blocks)))

    async def teams(self, person: Person) -> list[Block]:
        """One section for each team of the person."""
        found: list[Block] = []
        for key in person.teams[:TEAMS_MOST]:
            found += self._blocks(await self._desk.gateway.team_usage(key), f"team {key}")
        return found

    async def _wanted(self, person: Person, name: str) -> list[Block]:
        if not name or name.casefold() in ("me", "mine"):
            own = self._blocks(await self._desk.gateway.person_usage(person), "")
            return [*own, *await self.teams(person)]
        team = self._desk.gateway.team(name) or self._desk.gateway.team(name.casefold())
        if team is None:
            mine = ", ".join(person.teams) or "none"
            raise Refused("no-team", f"'{name[:40]}' is no team; yours: {mine}. Write /gpu quota TEAM")
        if team.key not in person.teams and not person.admin and team.key not in (*person.budgets, *person.leads):
            raise Refused("not-in-team", f"only people of team {team.key} and administrators see its numbers")
        return self._blocks(await self._desk.gateway.team_usage(team.key), f"team {team.key}")

    def _blocks(self, usage: Usage, name: str) -> list[Block]:
        values = {"name": name, "gpus": usage.gpus, "rooms": rooms(usage)[:ROOMS_MOST], "spent": _spent(usage)}
        values["more"] = max(len(rooms(usage)) - ROOMS_MOST, 0)
        return [*sections(self._desk.wording.parts("usage.j2", **values)["title"])]


def rooms(usage: Usage) -> tuple[Room, ...]:
    """Every ceiling with what is left of it now: at once, then this month."""
    return (*map(quota_room, usage.rooms), *map(budget_room, usage.budgets))


def _spent(usage: Usage) -> list[dict[str, str]]:
    """What is used up and what is planned of this month, in words; the month stands before the first of them."""
    shown = [one for one in usage.totals if one.spent != 0 or one.committed != 0]
    return [
        {
            "month": one.month if number == 0 else "",
            "used": _known(one.spent),
            "planned": _known(one.committed),
            "unit": unit(one),
        }
        for number, one in enumerate(shown)
    ]


def _known(amount: Decimal | None) -> str:
    return "unknown" if amount is None else figure(amount)
