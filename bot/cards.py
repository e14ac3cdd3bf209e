"""The request card: in the approvers' channel and with everybody who can decide now; redrawn wherever it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import structlog
from slack_sdk.errors import SlackApiError

from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.facts import facts
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.settings import SlackSettings
from lessor.contracts import Delivery
from lessor.domain import approval
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person
from lessor.ports import Directory, MessageRef
from lessor.rendering import Renderer

log = structlog.get_logger(__name__)

Item = TypeVar("Item")


class Cards:
    """Posts and redraws the cards of requests, and tells the requester who can decide."""

    def __init__(
        self, postman: Postman, reach: Reach, directory: Directory, wording: Renderer, settings: SlackSettings
    ) -> None:
        self._postman = postman
        self._reach = reach
        self._directory = directory
        self._wording = wording
        self._buttons = Buttons(wording)
        self._settings = settings

    async def ask(self, lease: Lease, now: datetime) -> Delivery:
        """Put the request before those who can decide now. One approver who cannot be reached spoils nothing."""
        if lease.state is not State.AWAITING_APPROVAL:
            return await self.decided(lease, now)
        deciders = await self.deciders(lease)
        channel = Recipient(self._settings.approvals_channel)
        people = [Recipient(person.id, person) for person in deciders]

        def write(recipient: Recipient) -> Message:
            return card(self._wording, lease, now, recipient.zone, deciders)

        told = await _all(self._reach.tell(lease, _key(lease, r), r, write, now) for r in (channel, *people))
        if told[0] or not deciders:
            told.append((await self._reach.admins(lease, "request", write, now)).problem)
        await self._withdraw_buttons(lease, now, deciders)
        await self._reach.first(lease, "waits", lambda r: self._waits(lease, now, r, deciders), now)
        reached = any(not problem for problem in told)
        return Delivery(reached, "slack:dm" if told[0] else channel.via, "; ".join(p for p in told if p))

    async def decided(self, lease: Lease, now: datetime) -> Delivery:
        """Redraw every card without buttons, then tell the requester."""
        standing = await self._postman.standing(lease.id, f"{lease.id}/request/")
        await _all(self._redraw(lease, ref, now, ()) for ref in standing)
        for ref in await self._postman.standing(lease.id, f"{lease.id}/waits/"):
            past = compose(self._wording.parts("waits_past.j2", **facts(lease, now)))
            await self._postman.settle(ref, past)
        return await self._reach.first(lease, "decided", lambda r: self._outcome(lease, now, r), now)

    async def deciders(self, lease: Lease) -> tuple[Person, ...]:
        """Who can decide the current step now: active people, never the requester, nobody twice."""
        step = approval.current(lease.steps)
        if step is None:
            return ()
        members = {ref: await self._directory.members(ref) for ref in step.approvers}
        requester = Person(lease.owner, tuple(lease.requester_ids))
        known = await self._directory.person(lease.owner)
        people = approval.eligible(step.approvers, lambda ref: members[ref], known or requester)
        voted = frozenset(i for vote in step.votes for i in (vote.by, *vote.ids))
        return tuple(p for p in people if not p.is_same(voted) and not p.is_same(lease.requester_ids))

    async def _withdraw_buttons(self, lease: Lease, now: datetime, deciders: Sequence[Person]) -> None:
        """Redraw the cards of those who could decide an earlier step or have voted already."""
        channels = (self._settings.approvals_channel, self._settings.admins_channel)
        current = {_key(lease, Recipient(name)) for name in (*channels, *(person.id for person in deciders))}
        standing = await self._postman.standing(lease.id, f"{lease.id}/request/")
        await _all(self._redraw(lease, ref, now, deciders) for ref in standing if ref.key not in current)

    async def _redraw(self, lease: Lease, ref: MessageRef, now: datetime, deciders: Sequence[Person]) -> str:
        zone = (await self._reach.recipient(ref)).zone
        message = card(self._wording, lease, now, zone, deciders, decidable=False)
        try:
            await self._postman.redraw(ref, message, lease.requested_at)
        except SlackApiError as error:
            # The channel was archived or left meanwhile: the decision stands, the other cards are redrawn.
            log.warning("a card could not be redrawn", key=ref.key, error=str(error))
        return ""

    def _waits(self, lease: Lease, now: datetime, recipient: Recipient, deciders: Sequence[Person]) -> Message:
        parts = self._wording.parts("waits.j2", zone=recipient.zone, **facts(lease, now, deciders))
        return compose(parts, [self._buttons.withdraw(lease.id), self._buttons.details(lease.id)])

    def _outcome(self, lease: Lease, now: datetime, recipient: Recipient) -> Message:
        return compose(self._wording.parts("decided.j2", zone=recipient.zone, **facts(lease, now)))


def card(
    wording: Renderer, lease: Lease, now: datetime, zone: str, deciders: Sequence[Person], *, decidable: bool = True
) -> Message:
    """The card as one reader, or a channel where `zone` is empty, should see it now."""
    parts = wording.parts("card.j2", zone=zone, **facts(lease, now, deciders))
    if lease.state is not State.AWAITING_APPROVAL:
        return compose(parts)
    buttons = Buttons(wording)
    return compose(parts, buttons.decide(lease) if decidable else [buttons.details(lease.id)])


def _key(lease: Lease, recipient: Recipient) -> str:
    return f"{lease.id}/request/{recipient.name}"


async def _all(work: Iterable[object]) -> list[str]:
    """Await everything; only then raise the first failure, so that one recipient never spoils the others."""
    done = await asyncio.gather(*work, return_exceptions=True)  # type: ignore[call-overload]
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(done)
