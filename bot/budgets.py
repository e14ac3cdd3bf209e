"""Tells a team, whoever answers for its budget, and at the limit administrators, that a quota or budget gets scarce."""

from __future__ import annotations

from datetime import datetime

from bot.blocks.message import compose
from bot.reaching import Reach, Recipient
from bot.telling import Told, Topic, Write, joined
from lessor.contracts import Delivery, PageInput
from lessor.ports import Directory
from lessor.rendering import Renderer


class BudgetWatch:
    """The team's channel, its budget owner or lead, and the person whose limit it is; nobody is told twice."""

    def __init__(self, reach: Reach, directory: Directory, wording: Renderer) -> None:
        self._reach = reach
        self._directory = directory
        self._wording = wording

    async def tell(self, wanted: PageInput, topic: Topic, now: datetime) -> Delivery:
        """Reach them; administrators as well if they are to hear it or nobody else did. Raises what is temporary."""
        message = compose(
            self._wording.parts("budget.j2", subject=wanted.subject, problem=wanted.problem, full=wanted.admins)
        )
        told = [await self._one(topic, recipient, lambda _: message, now) for recipient in await self._who(wanted)]
        via = next((one.via for one in told if one.via), "")
        if via and not wanted.admins:
            return Delivery(True, via, joined(told))
        admins = await self._reach.admins(topic, wanted.alarm.value, lambda _: message, now)
        problems = "; ".join(filter(None, (joined(told), admins.problem)))
        return Delivery(bool(via) or admins.delivered, via or admins.via, problems)

    async def _one(self, topic: Topic, recipient: Recipient, write: Write, now: datetime) -> Told:
        return await self._reach.reach(topic, f"{topic.id}/budget/{recipient.name}", recipient, write, now)

    async def _who(self, wanted: PageInput) -> list[Recipient]:
        team = self._directory.team(wanted.team) if wanted.team else None
        channel = [Recipient(team.channel)] if team and team.channel else []
        answering = [await self._active(one) for one in ((team.budget_owner, team.lead) if team else ())]
        people = [*[one for one in answering if one][:1], await self._active(wanted.person)]
        return [*channel, *{one.name: one for one in people if one}.values()]

    async def _active(self, person_id: str) -> Recipient | None:
        person = await self._directory.person(person_id) if person_id else None
        return Recipient(person.id, person) if person and person.active else None
