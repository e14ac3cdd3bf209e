"""Tells tidings to whom they concern, by every channel that works, and keeps count of what nobody heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lessor.config import Config
from lessor.directory import ConfigDirectory
from lessor.domain.people import Person
from lessor.guarding.channels import Audience, Channel, tell_all
from lessor.guarding.notebook import Notebook
from lessor.guarding.tidings import Kind, Tiding

TOLD_LATER = frozenset({Kind.STOPPED})
"""What is told as soon as a channel works, however late; everything else comes up again by itself while it lasts."""

AT_ONCE = 8


@dataclass
class Teller:
    """`channels` are all that are configured; `audience` says whom a tiding concerns. One look at a time."""

    channels: tuple[Channel, ...]
    audience: Callable[[Tiding], Audience]
    notebook: Notebook
    told: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)

    async def tell(self, tiding: Tiding) -> bool:
        """Whether anybody has heard it, now or in an earlier try. What nobody heard and is told later is kept."""
        before = self.notebook.confirmed(tiding.key)
        heard = await tell_all(self.channels, tiding, self.audience(tiding), tiding.at)
        if self.notebook.confirmed(tiding.key) > before:
            self.told.append(f"{tiding.kind} {tiding.subject} ({', '.join(heard.via) or 'webhook'})")
        if heard.via:
            self.notebook.page.untold.pop(tiding.key, None)
            return True
        why = "; ".join(heard.problems) or "no channel is configured that reaches people"
        self.untold.append(f"{tiding.kind} {tiding.subject}: {why}")
        if tiding.kind in TOLD_LATER:
            self.notebook.page.untold[tiding.key] = tiding
        return False

    async def tell_each(self, tidings: Iterable[Tiding]) -> list[bool]:
        """Some at a time, in order; whether anybody heard each."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(tiding: Tiding) -> bool:
            async with slots:
                return await self.tell(tiding)

        return list(await asyncio.gather(*map(one, tidings)))


def audience(config: Callable[[], Config]) -> Callable[[Tiding], Audience]:
    """Owner and co-owning team of a lease by the configuration alone: its owner, else its team's lead; and admins."""

    def concerned(tiding: Tiding) -> Audience:
        current = config()
        people = {one.id: one for one in ConfigDirectory(current).people}
        admins = _active(people, map(current.person_id, current.organisation.admins))
        team = current.organisation.teams.get(tiding.team)
        owners = _active(people, [current.person_id(tiding.owner)]) if tiding.owner else ()
        if not owners and team is not None:
            owners = _active(people, [current.person_id(team.lead)])
        return Audience(owners, admins, {one.id: one.name for one in people.values() if one.name})

    return concerned


def _active(people: dict[str, Person], ids: Iterable[str | None]) -> tuple[Person, ...]:
    return tuple(people[one] for one in ids if one and one in people and people[one].active)
