"""Away and back: who decides for somebody on leave, by command."""

from __future__ import annotations

import re

from bot.ask import Ask
from bot.desk import Desk
from bot.people import Whom
from lessor.domain.errors import Refused
from lessor.when import end_and_rest

USAGE = "/gpu away until WHEN [@delegate]"

_UNTIL = re.compile(r"(?:until|till|til)(?:\s+|$)", re.IGNORECASE)
_LEADING = re.compile(r",\s*|(?:with|delegate)[:=]?\s+", re.IGNORECASE)


class Attending:
    """`/gpu away` and `/gpu back`."""

    def __init__(self, desk: Desk, whom: Whom) -> None:
        self._desk = desk
        self._whom = whom

    async def away(self, ask: Ask, text: str) -> None:
        """`/gpu away until friday 18:00 @delegate`; without an end it asks for one."""
        try:
            person = await self._desk.person(ask)
            words = _UNTIL.sub("", text.strip(), count=1) if _UNTIL.match(text.strip()) else text.strip()
            if not words:
                raise Refused("no-end", f"say until when; write {USAGE}")
            until, rest = end_and_rest(words, self._desk.now(), person.tz)
            delegate = await self._delegate(rest.strip())
            absence = await self._desk.gateway.away(person.id, until, delegate)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        message = self._desk.message("away.j2", absence=absence, zone=person.tz, still="", delegate=absence.delegate)
        await self._desk.reply(ask, message)

    async def back(self, ask: Ask, text: str) -> None:
        """`/gpu back`; says so when the status in Slack still shows the person away."""
        try:
            person = await self._desk.person(ask)
            now = await self._desk.gateway.back(person.id)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        still = now.away_until or ""
        message = self._desk.message("away.j2", absence=None, zone=person.tz, still=still, delegate=now.delegate)
        await self._desk.reply(ask, message)

    async def _delegate(self, text: str) -> str:
        """The id of who stands in; empty where nobody is named. Raises `Refused` for nobody that is known."""
        name = _LEADING.sub("", text, count=1) if _LEADING.match(text) else text
        return (await self._whom.person(name)).id if name else ""
