"""`/gpu access`: how to get into a lease; a kubeconfig is shown to who asks, in a message that is not kept, or not."""

from __future__ import annotations

from bot.ask import Ask
from bot.blocks.message import Message, compose
from bot.blocks.text import FALLBACK_MOST
from bot.desk import Desk
from bot.facts import kind_words
from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.identity import parse_lease_id
from lessor.domain.lease import Lease, State, back_to_running, describe
from lessor.domain.people import Person
from lessor.domain.request import LeaseKind

VIA = "slack"
KUBECONFIG = "kubeconfig"
CLUSTER = frozenset({LeaseKind.NAMESPACE, LeaseKind.WORKSPACE})


class Entering:
    """Says the way in to those who may use it; what is secret goes through no message that would stay."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def command(self, ask: Ask, text: str) -> None:
        """`/gpu access ID`, and `/gpu access ID kubeconfig`."""
        word, _, rest = text.strip().partition(" ")
        try:
            person, lease = await self._wanted(ask, word)
            if rest.strip().casefold() == KUBECONFIG:
                await self._show_kubeconfig(ask, lease, person)
                return
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
            nothing = f"{lease.id} is {describe(lease)}; there is nothing to get into"
            raise Refused("wrong-state", "; ".join(filter(None, (nothing, back_to_running(lease)))))
        return person, lease

    def _way_in(self, lease: Lease, person: Person) -> Message:
        kind = lease.request.kind
        values = {"lease": lease, "kind": kind_words(kind), "cluster": kind in CLUSTER, "zone": person.tz}
        return compose(self._desk.wording.parts("access.j2", **values))

    async def _show_kubeconfig(self, ask: Ask, lease: Lease, person: Person) -> None:
        """Only in the answer to a command, which Slack shows to one person and does not keep."""
        instead = f"write lessor access {lease.id} --kubeconfig FILE"
        if ask.written or not ask.response_url:
            raise Refused(
                "not-here", f"an access is shown in no message that stays; write it as /gpu access, or {instead}"
            )
        found = await self._desk.gateway.entering.credentials(lease.id, person.id, VIA)
        values = {"lease_id": lease.id, "until": found.until, "file": found.file, "text": found.text}
        parts = self._desk.wording.parts("kubeconfig.j2", zone=person.tz, **values)
        text = "\n".join(parts.values())
        if len(text) > FALLBACK_MOST:
            raise Refused("too-long", f"this access is too long for a message and was thrown away; {instead}")
        if not await self._desk.whisper(ask, Message(text)):
            raise Refused("not-shown", f"Slack did not take the answer, so the access was thrown away; {instead}")
