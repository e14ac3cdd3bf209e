"""Leases that are offered, taken over and shared: words to those who may take them, and to those who have them now."""

from __future__ import annotations

from datetime import datetime

from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.facts import facts
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.telling import Write, gathered, heard
from bot.threads import stamp
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.ports import Directory, MessageRef
from lessor.rendering import Renderer

OFFERS = (Notice.TRANSFER_OFFERED, Notice.OWNER_LEFT)


class Offers:
    """Delivers to everybody who is meant, each in their own zone; a team hears it in its channel, once."""

    def __init__(self, postman: Postman, reach: Reach, directory: Directory, wording: Renderer) -> None:
        self._postman = postman
        self._reach = reach
        self._directory = directory
        self._wording = wording
        self._buttons = Buttons(wording)

    async def offered(self, lease: Lease, notice: Notice, now: datetime) -> Delivery:
        """Ask those to whom it is offered now; administrators where none of them can be reached."""
        if lease.transfer is None:
            return Delivery(True, "slack:dm", "the offer was settled before it could be told")

        def write(recipient: Recipient) -> Message:
            parts = self._wording.parts(f"{notice.value}.j2", **_values(lease, recipient, now))
            return compose(parts, self._buttons.offered(lease.id))

        occasion = _occasion(lease, notice)
        recipients = [one for ref in lease.transfer.to for one in await self._behind(ref)]
        told = await self._all(lease, occasion, recipients, write, now)
        if told.delivered:
            return told
        paged = await self._reach.admins(lease, occasion, write, now)
        return Delivery(paged.delivered, paged.via, "; ".join(filter(None, (told.problem, paged.problem))))

    async def transferred(self, lease: Lease, now: datetime) -> Delivery:
        """Tell the new owner, and the former one if their account still works."""
        ids = (lease.owner, *lease.former_owners[-1:])
        people = [person for one in ids if (person := await self._directory.person(one))]

        def write(recipient: Recipient) -> Message:
            return compose(self._wording.parts("transferred.j2", **_values(lease, recipient, now)))

        occasion = f"{Notice.TRANSFERRED.value}-{len(lease.former_owners)}"
        return await self._all(lease, occasion, [Recipient(p.id, p) for p in people if p.active], write, now)

    async def shared(self, lease: Lease, now: datetime) -> Delivery:
        """Tell everybody with whom it is shared, each once."""
        refs = [one.id if ":" in one.id else f"person:{one.id}" for one in lease.co_owners]
        recipients = [one for ref in refs for one in await self._behind(ref)]

        def write(recipient: Recipient) -> Message:
            parts = self._wording.parts("shared.j2", **_values(lease, recipient, now))
            return compose(parts, [self._buttons.details(lease.id)])

        return await self._all(lease, Notice.SHARED.value, recipients, write, now)

    async def settle(self, lease: Lease, ref: MessageRef, kind: Notice, now: datetime) -> None:
        """Last words for an offer that does not stand any more."""
        if lease.transfer is not None and ref.key.split("/")[1] == _occasion(lease, kind):
            return
        recipient = await self._reach.recipient(ref)
        values = {**_values(lease, recipient, now), "offered": False}
        await self._postman.settle(ref, compose(self._wording.parts(f"{kind.value}.j2", **values)))

    async def _behind(self, ref: str) -> list[Recipient]:
        """The team's channel for a team that has one, and the people behind everything else."""
        kind, _, name = ref.partition(":")
        team = self._directory.team(name) if kind == "team" else None
        if team and team.channel:
            return [Recipient(team.channel)]
        people: tuple[Person, ...] = await self._directory.members(ref)
        return [Recipient(person.id, person) for person in people if person.active]

    async def _all(
        self, lease: Lease, occasion: str, recipients: list[Recipient], write: Write, now: datetime
    ) -> Delivery:
        found = {one.name: one for one in recipients}
        told = await gathered(
            self._reach.reach(lease, f"{lease.id}/{occasion}/{one.name}", one, write, now) for one in found.values()
        )
        return heard(told)


def _values(lease: Lease, recipient: Recipient, now: datetime) -> dict[str, object]:
    return {
        **facts(lease, now),
        "zone": recipient.zone,
        "owns": recipient.person is not None and recipient.person.is_same(lease.holder_ids),
    }


def _occasion(lease: Lease, notice: Notice) -> str:
    return f"{notice.value}-{stamp(lease.transfer.at if lease.transfer else None)}"
