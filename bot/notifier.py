"""`ports.Notifier` on Slack: one message per lease, notice and recipient, posted once and then kept true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, Protocol

from bot.around import Rooms, Surroundings, Vacancies, no_rooms, on_demand
from bot.blocks.message import Message, compose
from bot.budgets import BudgetWatch
from bot.cards import Cards
from bot.chasing import Chasing
from bot.conversations import Conversations
from bot.facts import facts
from bot.idle_cards import IdleCards
from bot.notices import LADDER, Notices, needs_hands, occasion
from bot.offers import OFFERS, Offers
from bot.paging import Pager
from bot.pictures import Pictures
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.recorded import Recorded
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from bot.threads import Threads, stamp
from bot.upkeep import Upkeep
from bot.wishes import Wishes
from lessor.contracts import Delivery, Notice, PageInput
from lessor.domain.lease import Event, Lease
from lessor.notify import Mailer
from lessor.ports import Directory, LeaseBook, LeaseQuery, MessageBook
from lessor.rendering import Renderer, slack_renderer

_FOR_ALL_OWNERS = (Notice.WARNING, Notice.SUSPENDING, Notice.PAUSED, Notice.CAP)
"""What those who share a lease hear besides its owner, whose hearing it decides."""


class Records(LeaseBook, MessageBook, Protocol):
    """What of the ledger messages are made from, and where it keeps them."""


class SlackNotifier:
    """Tells people by direct message and channel. Raises what is temporary; what can never be told is a `Delivery`."""

    def __init__(
        self,
        client: SlackClient,
        directory: Directory,
        ledger: Records,
        settings: SlackSettings,
        wording: Renderer | None = None,
        mail: Mailer | None = None,
        rooms: Rooms = no_rooms,
        pictures: Pictures | None = None,
        vacancies: Vacancies = on_demand,
    ) -> None:
        self._wording = wording or slack_renderer()
        self._directory = directory
        self._postman = Postman(client, ledger)
        conversations = Conversations(client)
        self._reach = Reach(self._postman, conversations, directory, self._wording, settings, mail)
        self._ledger = ledger
        around = Surroundings(directory, self._leases, rooms, vacancies)
        self._cards = Cards(self._postman, self._reach, around, self._wording, settings)
        threads = Threads(self._postman, self._reach)
        self._chasing = Chasing(self._cards, threads, self._reach, around, self._wording)
        self._wishes = Wishes(self._postman, self._reach, around, self._wording, settings, threads)
        self._offers = Offers(self._postman, self._reach, directory, self._wording)
        self._notices = Notices(self._wording)
        self._idle = IdleCards(self._postman, self._reach, directory, self._wording, self._events, pictures)
        self._recorded = Recorded(self._reach, self._wording, self._events)
        self._upkeep = Upkeep(
            self._postman, self._reach, self._notices, self._chasing, self._wishes, self._offers, self._idle
        )
        self._pager = Pager(self._reach, self._wording, BudgetWatch(self._reach, directory, self._wording))

    async def notify(self, lease: Lease, notice: Notice, before: timedelta, now: datetime) -> Delivery:
        """Reach somebody about `notice`, then bring what stands already up to date."""
        if notice is Notice.REFUSED:
            return await self._refused(lease, now)
        special = self._special(lease, notice, now)
        if special is not None:
            delivery = await special
            await self._upkeep.all(lease, _newest(lease, notice, now), now)
            return delivery

        def write(recipient: Recipient) -> Message:
            return self._notices.message(lease, notice, before, now, recipient)

        told = occasion(lease, notice, now, before)
        delivery = await self._reach.first(lease, told, write, now)
        if notice in _FOR_ALL_OWNERS:
            others = await self._reach.co_owners(lease)
            delivery = await self._reach.besides(lease, told, others, write, now, delivery)
        if needs_hands(lease, notice):
            delivery = await self._reach.admins(lease, told, write, now)
        if notice is not Notice.WARNING:
            await self._upkeep.all(lease, told, now)
        return delivery

    def _special(self, lease: Lease, notice: Notice, now: datetime) -> Coroutine[Any, Any, Delivery] | None:
        """What is not told to the owner alone."""
        if notice in OFFERS:
            return self._offers.offered(lease, notice, now)
        ways: dict[Notice, Callable[[Lease, datetime], Coroutine[Any, Any, Delivery]]] = {
            Notice.REQUEST: self._cards.ask,
            Notice.DECIDED: self._chasing.decided,
            Notice.REMINDER: self._wishes.remind if lease.wish else self._chasing.remind,
            Notice.ESCALATED: self._chasing.escalated,
            Notice.COUNTERED: self._chasing.countered,
            Notice.QUESTION: self._chasing.question,
            Notice.ANSWERED: self._chasing.answered,
            Notice.EXTENSION_ASKED: self._wishes.ask,
            Notice.EXTENSION_DECIDED: self._wish_decided,
            Notice.TRANSFERRED: self._offers.transferred,
            Notice.SHARED: self._offers.shared,
            Notice.IDLE_WARNING: lambda lease, now: self._idle.warn(lease, notice, now),
            Notice.IDLE_FINAL: lambda lease, now: self._idle.warn(lease, notice, now),
            Notice.IDLE_OVER: self._idle.over,
            Notice.PARTLY_IDLE: self._recorded.partly,
            Notice.OVER_BUDGET: self._recorded.over_budget,
        }
        return ways[notice](lease, now) if notice in ways else None

    async def _wish_decided(self, lease: Lease, now: datetime) -> Delivery:
        return await self._wishes.decided(lease, await self._events(lease), now)

    async def _events(self, lease: Lease) -> list[Event]:
        return [one.event for one in await asyncio.to_thread(self._ledger.events, lease.id)]

    async def _leases(self, query: LeaseQuery) -> tuple[Lease, ...]:
        return await asyncio.to_thread(self._ledger.leases, query)

    async def _refused(self, lease: Lease, now: datetime) -> Delivery:
        """Tell the one whose recorded act had no effect; nobody else was waiting for it."""
        refusal = lease.refusal
        person = await self._directory.person(refusal.by) if refusal else None
        if refusal is None or person is None:
            return Delivery(False, problem=f"{refusal.by if refusal else 'nobody'} is no person who could be told")
        key = f"{lease.id}/{occasion(lease, Notice.REFUSED, now)}/{person.id}"

        def write(recipient: Recipient) -> Message:
            return compose(self._wording.parts("refused.j2", zone=recipient.zone, **facts(lease, now)))

        told = await self._reach.reach(lease, key, Recipient(person.id, person), write, now)
        return Delivery(bool(told.via), told.via, told.problem)

    async def page(self, wanted: PageInput, now: datetime) -> Delivery:
        """Reach the administrators; once for each alarm, subject and day."""
        return await self._pager.page(wanted, now)


def _newest(lease: Lease, notice: Notice, now: datetime) -> str:
    """The occasion that has just been told where an answer is waited for: it is as it should be."""
    if notice in LADDER:
        return occasion(lease, notice, now)
    if notice is Notice.QUESTION:
        return f"{notice.value}-{len(lease.questions)}"
    return f"{notice.value}-{stamp(lease.counter.at)}" if notice is Notice.COUNTERED and lease.counter else ""
