"""Later ends that people have to decide on: cards for those who decide, and words for whoever wishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from bot.around import NOTHING, Around, Surroundings
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.blocks.text import quoted
from bot.evidence import REASON_MOST
from bot.facts import facts
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.rounds import Rounds
from bot.settings import SlackSettings
from bot.telling import heard
from bot.threads import Threads, stamp
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import Event, Lease
from lessor.domain.pending import Wish
from lessor.domain.people import Person
from lessor.domain.worktime import is_open
from lessor.ports import MessageRef
from lessor.rendering import Renderer

CARD = "wish"

GRANTED = "extension-granted"
_DECISIONS = ("extension-rejected", "extension-lapsed", "extension-taken-back", GRANTED)

Events = Callable[[str], Sequence[Event]]
"""What is on record about a lease, oldest first; it may block."""


class Wishes:
    """Posts the cards of a wish, and settles them once it is decided, dropped or lapsed."""

    def __init__(
        self,
        postman: Postman,
        reach: Reach,
        around: Surroundings,
        wording: Renderer,
        settings: SlackSettings,
        threads: Threads,
    ) -> None:
        self._threads = threads
        self._postman = postman
        self._reach = reach
        self._around = around
        self._wording = wording
        self._buttons = Buttons(wording)
        self._rounds = Rounds(postman, reach, settings)

    async def ask(self, lease: Lease, now: datetime) -> Delivery:
        """Put the wish before those who can decide it now, and tell whoever wishes how long it runs on meanwhile."""
        if lease.wish is None:
            return Delivery(True, "slack:dm", "the wish was settled before it could be told")
        deciders, around = await self._asked(lease, lease.wish, now)
        return await self._put(lease, lease.wish, deciders, around, now)

    async def remind(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw the cards, then reply under them to those who can decide and work now."""
        if lease.wish is None:
            return await self.ask(lease, now)
        deciders, around = await self._asked(lease, lease.wish, now)
        told = await self._put(lease, lease.wish, deciders, around, now)
        count = sum(step.reminders for step in lease.wish.steps)

        def write(recipient: Recipient) -> Message:
            return compose(self._wording.parts("wish_reminder.j2", zone=recipient.zone, **facts(lease, now, around)))

        people = [one.id for one in deciders if is_open(one.hours, now)]
        await self._threads.under_cards(
            lease, _occasion(lease), f"thread-wish-{stamp(lease.wish.at)}-{count}", write, people
        )
        return told

    async def decided(self, lease: Lease, events: Sequence[Event], now: datetime) -> Delivery:
        """Settle the cards, and tell the owner what was decided and why; a granted wish is told as extended."""
        if lease.wish is not None:
            return await self.ask(lease, now)
        last = next((one for one in reversed(events) if one.type in _DECISIONS), None)
        if last is not None and last.type == GRANTED:
            return Delivery(True, "slack:dm", "told as extended")
        occasion = f"{Notice.EXTENSION_DECIDED.value}-{stamp(last.at if last else None)}"

        def write(recipient: Recipient) -> Message:
            reason = last.data.get("reason", "") if last else ""
            why = quoted(reason, REASON_MOST) if reason else ""
            values = {"decision": last.type if last else "", "by": last.actor if last else "", "why": why}
            parts = self._wording.parts("extension-decided.j2", zone=recipient.zone, **{**facts(lease, now), **values})
            return compose(parts, self._buttons.owner(lease, now))

        return await self._reach.first(lease, occasion, write, now)

    async def settle(self, lease: Lease, ref: MessageRef, now: datetime) -> None:
        """Last words for a card of a wish that waits no more: decided, dropped with a shorter end, or lapsed."""
        if lease.wish is not None and ref.key.split("/")[1] == _occasion(lease):
            return
        zone = (await self._reach.recipient(ref)).zone
        await self._postman.settle(ref, compose(self._wording.parts("wish_settled.j2", zone=zone, **facts(lease, now))))

    def waits(self, lease: Lease, now: datetime, recipient: Recipient, around: Around = NOTHING) -> Message:
        """To whoever wishes: who can decide, and how long it runs on meanwhile."""
        parts = self._wording.parts("extension-asked.j2", zone=recipient.zone, **facts(lease, now, around))
        back = [self._buttons.take_back(lease.id)] if lease.wish else []
        return compose(parts, [self._buttons.details(lease.id), *back])

    async def _asked(self, lease: Lease, wish: Wish, now: datetime) -> tuple[tuple[Person, ...], Around]:
        """Who can decide the wish now, and what its card says of the surroundings."""
        deciders = await self._around.deciders(lease, wish.steps, now)
        return deciders, await self._around.of(lease, wish.steps, deciders, now)

    async def _put(
        self, lease: Lease, wish: Wish, deciders: tuple[Person, ...], around: Around, now: datetime
    ) -> Delivery:
        def draw(recipient: Recipient, *, decidable: bool = True) -> Message:
            return self._card(lease, now, recipient, around, decidable=decidable)

        told = await self._rounds.put(lease, _occasion(lease), deciders, draw, now)
        occasion = f"{Notice.EXTENSION_ASKED.value}-{stamp(wish.at)}"
        await self._tell_wisher(lease, occasion, lambda r: self.waits(lease, now, r, around), now)
        return heard(told)

    async def _tell_wisher(
        self, lease: Lease, occasion: str, write: Callable[[Recipient], Message], now: datetime
    ) -> None:
        """The person who wishes, and the owner where that is somebody else."""
        await self._reach.first(lease, occasion, write, now)
        wisher = await self._around.person(lease.wish.by) if lease.wish else None
        if wisher and not wisher.is_same(lease.holder_ids):
            await self._reach.reach(
                lease, f"{lease.id}/{occasion}/{wisher.id}", Recipient(wisher.id, wisher), write, now
            )

    def _card(
        self, lease: Lease, now: datetime, recipient: Recipient, around: Around, *, decidable: bool = True
    ) -> Message:
        parts = self._wording.parts("wish_card.j2", zone=recipient.zone, **facts(lease, now, around))
        return compose(parts, self._buttons.wish(lease) if decidable else [self._buttons.details(lease.id)])


def _occasion(lease: Lease) -> str:
    return f"{CARD}-{stamp(lease.wish.at if lease.wish else None)}"
