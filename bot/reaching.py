"""Somebody always hears it (law 7): owner, delegate, team lead, team channel, administrators.

Each person is tried in Slack and then by mail, before the next one is. Deactivated people are not counted on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import datetime

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.blocks.message import compose
from bot.conversations import Conversations, UnknownChannelError
from bot.posting import Postman
from bot.settings import SlackSettings
from bot.telling import FAILURES, Recipient, Told, Topic, Write, joined, telling, told_now, words
from lessor.contracts import Delivery
from lessor.domain.authority import belongs
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.notify import Mailer, PostponedError, Reader, UndeliverableError
from lessor.ports import Directory, MessageRef
from lessor.rendering import Renderer

__all__ = ["EMAIL", "Reach", "Recipient", "Told", "Topic", "Write"]

EMAIL = "email"
"""`Delivery.via` where the mail server accepted it."""

IMPATIENT_SECONDS = 20.0
"""How long Slack may take over one message that has been tried often already."""

log = structlog.get_logger(__name__)


class Reach:
    """Delivers to one recipient or along the chain. Temporary failures are raised, so that the caller tries again."""

    def __init__(
        self,
        postman: Postman,
        conversations: Conversations,
        directory: Directory,
        wording: Renderer,
        settings: SlackSettings,
        mail: Mailer | None = None,
    ) -> None:
        self._postman = postman
        self._conversations = conversations
        self._directory = directory
        self._wording = wording
        self._settings = settings
        self._mail = mail

    async def first(self, lease: Lease, occasion: str, write: Write, now: datetime) -> Delivery:
        """The first of the chain who can be reached; while the owner is away, their delegate besides.

        `occasion` tells this message from others of the lease.
        """
        failed: list[Told] = []
        async for recipient in self._chain(lease):
            told = await self.reach(lease, f"{lease.id}/{occasion}/{recipient.name}", recipient, write, now)
            if told.via:
                stand_in = await self._stand_in(lease, now)
                besides = [stand_in] if stand_in and stand_in.name != recipient.name else []
                heard = Delivery(True, told.via, joined([*failed, told]), _owns(lease, recipient))
                return await self.besides(lease, occasion, besides, write, now, heard)
            failed.append(told)
        return Delivery(False, problem=joined(failed) or "nobody is configured who could be told")

    async def besides(
        self, lease: Lease, occasion: str, others: Iterable[Recipient], write: Write, now: datetime, heard: Delivery
    ) -> Delivery:
        """Tell `others` as well. `heard` has decided whether somebody was reached; what fails here is added to it.

        One of those whose the lease is may be among them.
        """
        problems, owner = [heard.problem], heard.owner
        for recipient in others:
            # Whoever hears it besides is not worth another try for all: what Slack cannot do now, mail does.
            with telling(told_now().letter, patient=False):
                told = await self.reach(lease, f"{lease.id}/{occasion}/{recipient.name}", recipient, write, now)
            problems.append(told.problem)
            owner = owner or bool(told.via and _owns(lease, recipient))
        return replace(heard, problem="; ".join(filter(None, problems)), owner=owner and heard.delivered)

    async def co_owners(self, lease: Lease) -> list[Recipient]:
        """Those who share the lease, the owner not among them; a team by its channel, once for everybody (case F03)."""
        people = [await self._directory.person(one.id) for one in lease.co_owners]
        owner = await self._directory.person(lease.owner)
        team = self._directory.team(lease.request.team) if f"team:{lease.request.team}" in lease.holder_ids else None
        persons = [Recipient(p.id, p) for p in people if p and not (owner and p.is_same(owner.all_ids))]
        return [*persons, *([Recipient(team.channel)] if team and team.channel else [])]

    async def admins(self, topic: Topic, occasion: str, write: Write, now: datetime) -> Delivery:
        """The administrators' channel, or each administrator where it cannot be used."""
        channel = Recipient(self._settings.admins_channel)
        first = await self.reach(topic, f"{topic.id}/{occasion}/{channel.name}", channel, write, now)
        if first.via:
            return Delivery(True, first.via)
        people = [Recipient(p.id, p) for p in await self._directory.members(self._settings.admins) if p.active]
        told = [await self.reach(topic, f"{topic.id}/{occasion}/{r.name}", r, write, now) for r in people]
        via = next((one.via for one in told if one.via), "")
        return Delivery(bool(via), via, joined([first, *told]))

    async def reach(self, topic: Topic, key: str, recipient: Recipient, write: Write, now: datetime) -> Told:
        """Post or update one message, and mail its letter where Slack does not deliver it or it is always mailed.

        While there is patience, failures of Slack that may pass are raised; then they are collected.
        """
        if recipient.person and not recipient.person.active:
            return await self._departed(topic, recipient, recipient.person, now)
        current, problem = told_now(), ""
        try:
            async with asyncio.timeout(None if current.patient else IMPATIENT_SECONDS):
                problem = await self._by_slack(topic, key, recipient, write, now)
        except FAILURES as error:
            if current.patient:
                await self._by_mail(topic, recipient, now, instead=False)
                raise
            current.failures.append(error)
            problem = f"{recipient.name}: {words(error)}"
        mailed = await self._by_mail(topic, recipient, now, instead=bool(problem))
        if not problem:
            return Told(recipient.via, mailed.problem)
        return Told(mailed.via, "; ".join(filter(None, (problem, mailed.problem))))

    async def _by_slack(self, topic: Topic, key: str, recipient: Recipient, write: Write, now: datetime) -> str:
        try:
            channel = await self._channel(recipient)
            await self._postman.deliver(key, topic.id, channel, write(recipient), topic.requested_at)
        except UnknownChannelError:
            return await self._unusable(topic, recipient, recipient.name, "channel_not_found", now)
        except SlackApiError as error:
            word = slack_errors.code(error)
            if recipient.person and word in slack_errors.PERSON_PROBLEMS:
                return f"{recipient.name}: {word}"
            if not recipient.person and word in slack_errors.CHANNEL_PROBLEMS:
                return await self._unusable(topic, recipient, channel, word, now)
            raise
        return ""

    async def _by_mail(self, topic: Topic, recipient: Recipient, now: datetime, *, instead: bool) -> Told:
        """The letter of what is being told, `instead` of Slack or, for some notices, besides."""
        letter, person = told_now().letter, recipient.person
        if not (self._mail and letter and person) or not (instead or self._mail.always(letter)):
            return Told()
        owns = isinstance(topic, Lease) and person.is_same(topic.holder_ids)
        names = await self._names(letter.people)
        reader = Reader(person, owns, recipient.away_until, not instead, names)
        try:
            await self._mail.deliver(topic.id, letter, reader, now)
        except (UndeliverableError, PostponedError) as error:
            log.warning("mail not delivered", topic=topic.id, to=person.id, why=str(error))
            return Told(problem=f"{recipient.name} by mail: {error}")
        return Told(EMAIL)

    async def _names(self, ids: Iterable[str]) -> dict[str, str]:
        """What people are called, by each of their ids; in Slack the mention shows it."""
        people = [await self._directory.person(one) for one in ids]
        return {one: person.name for person in people if person and person.name for one in person.all_ids}

    async def _departed(self, topic: Topic, recipient: Recipient, person: Person, now: datetime) -> Told:
        """Somebody with a deactivated account. Mail may still get through to them, but nobody counts on that."""
        if not person.listed:
            return Told(problem=f"{recipient.name} is deactivated")
        mailed = await self._by_mail(topic, recipient, now, instead=True)
        besides = "; mailed besides, which does not count" if mailed.via else ""
        return Told(problem=f"{recipient.name} is deactivated{besides}")

    async def recipient(self, ref: MessageRef) -> Recipient:
        """Whom a message that stands was written to."""
        name = ref.key.rpartition("/")[2]
        return Recipient(name, await self._directory.person(name))

    async def _channel(self, recipient: Recipient) -> str:
        if recipient.person:
            return await self._conversations.direct(recipient.person.id)
        return await self._conversations.channel(recipient.name)

    async def _chain(self, lease: Lease) -> AsyncIterator[Recipient]:
        team = self._directory.team(lease.request.team)
        seen: set[str] = set()
        leads = (team.lead if team else "", team.delegate if team else "", lease.request.lead)
        owner = await self._directory.person(lease.owner)
        # Who has left the team that pays is not the one to ask any more (case F04); who has left altogether is skipped.
        moved = owner is not None and owner.active and not belongs(lease, owner)
        async for person in self._people(*((*leads, lease.owner) if moved else (lease.owner, *leads))):
            if person.id not in seen:
                seen.add(person.id)
                yield Recipient(person.id, person)
        for channel in (team.channel if team else "", self._settings.admins_channel):
            if channel:
                yield Recipient(channel)
        for person in await self._directory.members(self._settings.admins):
            if person.id not in seen:
                yield Recipient(person.id, person)

    async def _people(self, *ids: str) -> AsyncIterator[Person]:
        """Each person, then their delegate; nobody is looked up before somebody asks for them."""
        for one in filter(None, ids):
            person = await self._directory.person(one)
            if person:
                yield person
            delegate = await self._directory.person(person.delegate) if person and person.delegate else None
            if delegate:
                yield delegate

    async def _stand_in(self, lease: Lease, now: datetime) -> Recipient | None:
        """The delegate of an owner who is away now."""
        owner = await self._directory.person(lease.owner)
        if owner is None or not owner.delegate or owner.away_until is None or owner.away_until <= now:
            return None
        delegate = await self._directory.person(owner.delegate)
        return Recipient(delegate.id, delegate, owner.away_until) if delegate and delegate.active else None

    async def _unusable(self, topic: Topic, recipient: Recipient, channel: str, word: str, now: datetime) -> str:
        """Tell administrators once a day what is wrong with a channel and what to do; gives the problem in words."""
        log.warning("slack channel unusable", channel=channel, name=recipient.name, error=word)
        remedy = slack_errors.CHANNEL_PROBLEMS[word]
        values = {"channel": channel, "name": recipient.name, "error": word, "remedy": remedy}
        message = compose(self._wording.parts("channel_problem.j2", **values))
        key = f"channel/{channel}/{word}/{now:%Y-%m-%d}"
        places = [Recipient(self._settings.admins_channel)]
        if recipient.name == self._settings.admins_channel:
            places = [Recipient(p.id, p) for p in await self._directory.members(self._settings.admins) if p.active]
        for place in places:
            try:
                where = await self._channel(place)
                await self._postman.deliver(f"{key}/{place.name}", topic.id, where, message, topic.requested_at)
            except (SlackApiError, UnknownChannelError) as error:
                log.warning("administrators untold of an unusable channel", channel=channel, error=str(error))
        return f"{recipient.name}: {word}"


def _owns(lease: Lease, recipient: Recipient) -> bool:
    """Whether this is one of those whose the lease is, in person."""
    return recipient.person is not None and recipient.person.is_same(lease.holder_ids)
