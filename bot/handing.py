"""Handing a lease on: transfer, take over, share and unshare, by command or by button."""

from __future__ import annotations

import re

from bot.acting import Acting
from bot.ask import Ask
from bot.desk import Desk
from bot.people import Whom
from lessor.contracts import Verb
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease
from lessor.domain.ownership import WHOLE_TEAM

USAGE = {
    Verb.TRANSFER: "transfer ID @person [team:KEY]",
    Verb.TAKE: "take ID [team:KEY]",
    Verb.SHARE: "share ID @person, or share ID team",
    Verb.UNSHARE: "unshare ID @person, or unshare ID team",
}

_TEAM = re.compile(r"(?:^|\s)team[:=]\s?([\w-]+)", re.IGNORECASE)


class Handing:
    """The commands about whose a lease is; who may do it is the workflow's to say."""

    def __init__(self, desk: Desk, acting: Acting, whom: Whom) -> None:
        self._desk = desk
        self._acting = acting
        self._whom = whom

    async def command(self, ask: Ask, text: str, verb: Verb) -> None:
        """`/gpu transfer ID @person` and its like."""
        word, _, rest = text.partition(" ")
        try:
            lease_id = parse_lease_id(word)
            if lease_id is None:
                what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
                raise Refused("no-lease", f"{what}; write /gpu {USAGE[verb]}")
            await self._desk.person(ask)
            lease = await self._desk.gateway.lease(lease_id)
            fields = _paying(rest) if verb is Verb.TAKE else await self._to(rest.strip(), verb, lease)
        except Refused as refused:
            await self._desk.reply(ask, self._desk.refusal(refused))
            return
        told = await self._acting.act(ask, verb, lease_id, **fields)
        await self._desk.reply(ask, told.message)

    async def _to(self, text: str, verb: Verb, lease: Lease) -> dict[str, str]:
        """`to` and `team` of the act. Raises `Refused` for nobody, and for somebody whom lessor does not know."""
        team = _TEAM.search(text)
        name = _TEAM.sub("", text).strip()
        if verb is not Verb.TRANSFER and (key := self._team_named(team[1] if team else name, lease)):
            if key != lease.request.team:
                raise Refused("other-team", self._desk.say("other_team.j2", lease=lease, team=key))
            return {"to": WHOLE_TEAM}
        if not name:
            raise Refused("no-person", f"say who; write /gpu {USAGE[verb]}")
        person = await self._whom.person(name)
        return {"to": person.id, "team": team[1] if team else ""}

    def _team_named(self, word: str, lease: Lease) -> str:
        """The key of the team that is meant; empty when the word names no team, but perhaps a person."""
        if word.casefold() in (WHOLE_TEAM, lease.request.team.casefold()):
            return lease.request.team
        found = self._desk.gateway.team(word.casefold())
        return found.key if found else ""


def _paying(text: str) -> dict[str, str]:
    """The team that pays for what is taken over, where somebody says so."""
    team = _TEAM.search(text)
    return {"team": team[1]} if team else {}
