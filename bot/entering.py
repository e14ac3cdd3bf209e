"""`/gpu access`: how to get into a lease, for those who may."""

from __future__ import annotations

from bot.ask import Ask
from bot.blocks.message import Message, compose
from bot.desk import Desk
from bot.facts import kind_words
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease, State, describe
from lessor.domain.people import Person
from lessor.domain.request import LeaseKind

CLUSTER = frozenset({LeaseKind.NAMESPACE, LeaseKind.WORKSPACE})


class Entering:
    """Says the way in; nothing secret stands in it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def command(self, ask: Ask, text: str) -> None:
        """`/gpu access ID`."""
        word = text.strip().partition(" ")[0]
        try:
            person, lease = await self._wanted(ask, word)
            message = self._way_in(lease, person)
        except Refused as refused:
            message = self._desk.refusal(refused)
        await self._desk.reply(ask, message)

    async def _wanted(self, ask: Ask, word: str) -> tuple[Person, Lease]:
        lease_id = parse_lease_id(word)
        if lease_id is None:
            what = f"'{word[:40]}' is no lease id" if word else "the lease id is missing"
            raise Refused("no-lease", f"{what}; write /gpu access ID, and see your leases with /gpu list")
        person, lease = await self._desk.person(ask), await self._desk.gateway.lease(lease_id)
        require_steward(lease, person)
        if lease.state is not State.ACTIVE:
            raise Refused("wrong-state", f"{lease.id} is {describe(lease)}; there is nothing to get into")
        return person, lease

    def _way_in(self, lease: Lease, person: Person) -> Message:
        kind = lease.request.kind
        values = {"lease": lease, "kind": kind_words(kind), "cluster": kind in CLUSTER, "zone": person.tz}
        return compose(self._desk.wording.parts("access.j2", **values))
