"""What happens around a request that waits: reminders, the next level, questions and answers, other terms."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from slack_sdk.models.blocks import ButtonElement

from bot.around import Around, Surroundings
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.cards import Cards
from bot.facts import asked, facts
from bot.reaching import Reach, Recipient
from bot.telling import heard
from bot.threads import Threads, stamp
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import Lease, State
from lessor.domain.pending import Question
from lessor.domain.verdicts import verdict
from lessor.domain.worktime import is_open
from lessor.rendering import Renderer


class Chasing:
    """Pings those who are asked without writing new cards to them, and carries words between them and the requester."""

    def __init__(self, cards: Cards, threads: Threads, reach: Reach, around: Surroundings, wording: Renderer) -> None:
        self._cards = cards
        self._threads = threads
        self._reach = reach
        self._around = around
        self._wording = wording
        self._buttons = Buttons(wording)

    async def remind(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw the cards, then reply under them to those who can decide and have not."""
        told = await self._cards.ask(lease, now)
        if lease.state is not State.AWAITING_APPROVAL:
            return told
        return await self._under(lease, Notice.REMINDER, f"reminder-{_round(lease)}", told, now)

    async def escalated(self, lease: Lease, now: datetime) -> Delivery:
        """Put the card before the next level too, and tell the requester and those asked before who that is."""
        told = await self._cards.ask(lease, now)
        if lease.state is not State.AWAITING_APPROVAL:
            return told
        occasion = f"{Notice.ESCALATED.value}-{_round(lease)}"
        told = await self._under(lease, Notice.ESCALATED, f"thread-{occasion}", told, now)
        around = await self._asked(lease, now)
        row = [self._buttons.withdraw(lease.id), self._buttons.details(lease.id)]
        await self._reach.first(
            lease, occasion, lambda r: self._write(lease, Notice.ESCALATED, around, now, r, row), now
        )
        return told

    async def decided(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw the cards and tell the requester; that nobody decided in time, everybody hears who was asked."""
        told = await self._cards.decided(lease, now)
        if verdict(lease) is State.LAPSED:
            people = {recipient.name for recipient in await self._threads.holders(lease, "request")}
            await self._threads.under_cards(
                lease,
                "request",
                "thread-lapsed",
                lambda r: compose(self._wording.parts("lapsed.j2", zone=r.zone, **facts(lease, now))),
                people,
            )
        return told

    async def countered(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw the cards with the other terms, and ask the requester whether they take them."""
        await self._cards.ask(lease, now)
        if lease.counter is None or lease.state is not State.AWAITING_APPROVAL:
            return Delivery(True, "slack:dm", "the proposal was answered before it could be told")
        occasion = f"{Notice.COUNTERED.value}-{stamp(lease.counter.at)}"
        return await self._reach.first(lease, occasion, lambda r: self.terms(lease, now, r), now)

    async def question(self, lease: Lease, now: datetime) -> Delivery:
        """Ask the requester, and show the question under the card; several that came meanwhile, each by itself."""
        await self._cards.ask(lease, now)
        told = Delivery(True, "slack:dm", "the question was answered before it could be told")
        for number, one in enumerate(lease.questions, start=1):
            if one.answer or lease.state is not State.AWAITING_APPROVAL:
                continue
            occasion = f"{Notice.QUESTION.value}-{number}"

            def write(recipient: Recipient, one: Question = one, *, buttons: bool = True) -> Message:
                return self.asking(lease, one, now, recipient, buttons=buttons)

            under = partial(write, buttons=False)
            await self._threads.under_cards(lease, "request", f"thread-{occasion}", under)
            told = await self._reach.first(lease, occasion, write, now)
        return told

    async def answered(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw the cards with the answers, and tell whoever asked, under their card where they have one."""
        await self._cards.ask(lease, now)
        told = Delivery(False, problem="no question has an answer")
        for number, one in enumerate(lease.questions, start=1):
            if one.answer:
                told = await self._answer(lease, one, f"{Notice.ANSWERED.value}-{number}", now)
        return told

    async def _answer(self, lease: Lease, found: Question, occasion: str, now: datetime) -> Delivery:
        asker = await self._around.person(found.by)
        if asker is None:
            return Delivery(False, problem=f"{found.by} is no person who could be told")
        person = Recipient(asker.id, asker)

        def write(recipient: Recipient) -> Message:
            values = {**facts(lease, now), **asked(found), "zone": recipient.zone}
            return compose(self._wording.parts("answered.j2", **values))

        under = await self._threads.under_cards(lease, "request", f"thread-{occasion}", write, (person.name,))
        if person.name in under:
            return Delivery(True, person.via)
        return heard([await self._reach.reach(lease, f"{lease.id}/{occasion}/{person.name}", person, write, now)])

    def terms(self, lease: Lease, now: datetime, recipient: Recipient) -> Message:
        """The other terms as they stand, with what to press while they wait for an answer."""
        parts = self._wording.parts("countered.j2", zone=recipient.zone, **facts(lease, now))
        waiting = lease.counter is not None and lease.state is State.AWAITING_APPROVAL
        return compose(parts, self._buttons.countered(lease.id) if waiting else ())

    def asking(
        self, lease: Lease, found: Question | None, now: datetime, recipient: Recipient, *, buttons: bool = True
    ) -> Message:
        """One question as it stands, with the answer once there is one."""
        parts = self._wording.parts("question.j2", **{**facts(lease, now), **asked(found), "zone": recipient.zone})
        waiting = found is not None and not found.answer and lease.state is State.AWAITING_APPROVAL
        return compose(parts, [self._buttons.reply(lease.id, found.by)] if found and waiting and buttons else ())

    async def _under(self, lease: Lease, notice: Notice, occasion: str, told: Delivery, now: datetime) -> Delivery:
        """The same words under the card in the channel and under the card of everybody who can decide.

        Nobody is reminded outside their working hours: who works now is, and the others when they do.
        """
        deciders = await self._around.deciders(lease, lease.steps, now)
        around = await self._around.of(lease, lease.steps, deciders, now)
        people = {one.id for one in deciders if notice is not Notice.REMINDER or is_open(one.hours, now)}
        await self._threads.under_cards(
            lease, "request", occasion, lambda r: self._write(lease, notice, around, now, r, ()), people
        )
        return told

    async def _asked(self, lease: Lease, now: datetime) -> Around:
        deciders = await self._around.deciders(lease, lease.steps, now)
        return await self._around.of(lease, lease.steps, deciders, now)

    def _write(
        self,
        lease: Lease,
        notice: Notice,
        around: Around,
        now: datetime,
        recipient: Recipient,
        row: tuple[ButtonElement, ...] | list[ButtonElement],
    ) -> Message:
        parts = self._wording.parts(f"{notice.value}.j2", zone=recipient.zone, **facts(lease, now, around))
        return compose(parts, row)


def _round(lease: Lease) -> str:
    """Which reminder this is: they count anew whenever the request is asked anew."""
    counts = (sum(step.reminders for step in lease.steps), sum(len(step.approvers) for step in lease.steps))
    return f"{stamp(lease.asked_at)}-{counts[0]}-{counts[1]}"
