"""Warnings of leases that do nothing: the evidence with its chart, and what became of it once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from slack_sdk.models.blocks import Block

from bot.blocks.message import Message, compose
from bot.facts import facts
from bot.notices import LADDER, Notices, kind_of, occasion, still_idle
from bot.pictures import Pictures
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.recorded import Events, latest
from bot.threads import stamp
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import Event, Lease, State
from lessor.ports import Directory, MessageRef
from lessor.rendering import Renderer

ENDINGS = ("idle-cleared", "idle-unknown", "snoozed", "verdict-disputed", "spared", "idle-stopped", "pause-asked")
"""Events that end a warning; the latest one says what became of it."""

NEWER = "newer"
"""What became of a warning that another one has taken the place of."""


class IdleCards:
    """Posts warnings, and takes their buttons away when they are over. `pictures` is absent where none are drawn."""

    def __init__(
        self,
        postman: Postman,
        reach: Reach,
        directory: Directory,
        wording: Renderer,
        events: Events,
        pictures: Pictures | None = None,
    ) -> None:
        self._postman = postman
        self._reach = reach
        self._directory = directory
        self._wording = wording
        self._notices = Notices(wording)
        self._events = events
        self._pictures = pictures

    async def warn(self, lease: Lease, notice: Notice, now: datetime) -> Delivery:
        """Tell the owner, and besides all who share it. Raises what is temporary; a chart that is late is left out."""
        if lease.idle is None or lease.state is not State.ACTIVE:
            return Delivery(False, problem="it is not idle any more, so nobody was warned")
        told = occasion(lease, notice, now)
        shown = await self._chart(lease, notice, told, now)

        def write(recipient: Recipient) -> Message:
            return self._notices.message(lease, notice, timedelta(), now, recipient, shown)

        heard = await self._reach.first(lease, told, write, now)
        return await self._reach.besides(lease, told, await self._reach.co_owners(lease), write, now, heard)

    async def over(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw what stands; only those who have no message in Slack are told by a new one."""
        cards = [ref for ref in await self._postman.ever(lease.id, f"{lease.id}/") if _kind(ref) in LADDER]
        for ref in await self._postman.standing(lease.id, f"{lease.id}/"):
            if _kind(ref) in LADDER:
                await self.settle(lease, ref, now)
        if cards:
            return Delivery(True, "slack:dm", "its warnings were redrawn")
        event = latest(await self._events(lease), ENDINGS)
        happened, told = event.type if event else "", f"{Notice.IDLE_OVER.value}-{stamp(event.at if event else None)}"
        return await self._reach.first(lease, told, lambda r: self._past(lease, happened, now, r), now)

    async def settle(self, lease: Lease, ref: MessageRef, now: datetime, newest: str = "") -> None:
        """Last words for a warning that is over, or that `newest` has taken the place of."""
        name = ref.key.split("/")[1]
        if name == newest or (not newest and still_idle(lease, name, now)):
            return
        happened = NEWER if newest else ended_by(await self._events(lease))
        recipient = await self._reach.recipient(ref)
        message = self._past(lease, happened, now, recipient)
        # A snooze can be made longer, and then the card has to say until when.
        snoozed = not newest and lease.idle is not None and lease.snooze is not None and lease.snooze.until > now
        await (self._postman.rewrite(ref, message) if snoozed else self._postman.settle(ref, message))

    async def _chart(self, lease: Lease, notice: Notice, told: str, now: datetime) -> Sequence[Block]:
        if self._pictures is None or lease.idle is None:
            return ()
        owner = await self._directory.person(lease.owner)
        zone = owner.tz if owner else "UTC"
        alt = self._wording.part("idle_alt.j2", "title", zone=zone, **facts(lease, now))
        picture = await self._pictures.of(lease, told, zone, alt, now)
        return [picture] if picture else ()

    def _past(self, lease: Lease, happened: str, now: datetime, recipient: Recipient) -> Message:
        return past(self._wording, lease, happened, now, recipient.zone)


def past(wording: Renderer, lease: Lease, happened: str, now: datetime, zone: str) -> Message:
    """Last words of a warning, without buttons."""
    return compose(wording.parts("idle-over.j2", happened=happened, zone=zone, **facts(lease, now)))


def ended_by(events: Sequence[Event]) -> str:
    """The type of the latest event that ends warnings; empty where there is none."""
    event = latest(events, ENDINGS)
    return event.type if event else ""


def _kind(ref: MessageRef) -> Notice | None:
    return kind_of(ref.key.split("/")[1])
