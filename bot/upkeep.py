"""Keeps true what was told before: old buttons and times are redrawn, and what is over gets its last words."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from slack_sdk.errors import SlackApiError

from bot.chasing import Chasing
from bot.idle_cards import IdleCards
from bot.notices import LADDER, Notices, kind_of, occasion, still_warns
from bot.offers import OFFERS, Offers
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.threads import stamp
from bot.wishes import CARD, Wishes
from lessor.contracts import Notice
from lessor.domain.authority import may_enter
from lessor.domain.lease import IN_USE, Lease, State
from lessor.ports import MessageRef

_LIVING = (Notice.READY, Notice.WAITING, Notice.STOPPED, Notice.RESTORED, Notice.STOP_FAILED, Notice.RESERVED)
"""Messages whose buttons and times follow the lease for as long as it lives."""

_EPISODES = (
    *(Notice.SUSPENDING, Notice.SUSPENDED, Notice.RESUMED, Notice.RESUME_FAILED),
    *(Notice.PAUSED, Notice.IDLE_HELD_BACK),
)
"""Messages of one pause or one run; they may come every day, so that old ones are settled and not looked at again."""

log = structlog.get_logger(__name__)


class Upkeep:
    """Looks at every message of a lease that stands, and redraws or settles those that are not true any more."""

    def __init__(
        self,
        postman: Postman,
        reach: Reach,
        notices: Notices,
        chasing: Chasing,
        wishes: Wishes,
        offers: Offers,
        idle: IdleCards,
    ) -> None:
        self._postman = postman
        self._reach = reach
        self._notices = notices
        self._chasing = chasing
        self._wishes = wishes
        self._offers = offers
        self._idle = idle

    async def all(self, lease: Lease, told: str, now: datetime) -> None:
        """`told` is the occasion that has just been told: it is as it should be."""
        for ref in await self._postman.standing(lease.id, f"{lease.id}/"):
            name = ref.key.split("/")[1]
            kind = kind_of(name)
            try:
                if name.startswith(f"{CARD}-"):
                    await self._wishes.settle(lease, ref, now)
                elif kind in OFFERS:
                    await self._offers.settle(lease, ref, kind, now)
                elif kind in LADDER:
                    await self._idle.settle(lease, ref, now, told if kind_of(told) in LADDER else "")
                elif kind and name != told:
                    await self._one(lease, ref, name, kind, now)
            except SlackApiError as error:
                log.warning("a message could not be redrawn", key=ref.key, error=str(error))

    async def _one(self, lease: Lease, ref: MessageRef, name: str, kind: Notice, now: datetime) -> None:
        recipient = await self._reach.recipient(ref)
        lives = kind in _LIVING or (kind in _EPISODES and name == occasion(lease, kind, now))
        if lives and _may_see(lease, recipient):
            message = self._notices.message(lease, kind, timedelta(), now, recipient)
            await self._postman.redraw(ref, message, lease.requested_at)
        elif _over(lease, kind, name):
            await self._postman.settle(ref, self._notices.settled(lease, kind, now, recipient))
        elif kind in (Notice.COUNTERED, Notice.QUESTION):
            await self._answerable(lease, ref, name, kind, now, recipient)
        elif kind is Notice.EXTENSION_ASKED and (lease.wish is None or lease.state not in IN_USE):
            await self._postman.settle(ref, self._wishes.waits(lease, now, recipient))

    async def _answerable(
        self, lease: Lease, ref: MessageRef, name: str, kind: Notice, now: datetime, recipient: Recipient
    ) -> None:
        """Take the buttons from other terms and questions that nobody waits for any more."""
        found = dict(enumerate(lease.questions, start=1)).get(_number(name))
        if kind is Notice.QUESTION and (found is None or found.answer or lease.state is not State.AWAITING_APPROVAL):
            await self._postman.settle(ref, self._chasing.asking(lease, found, now, recipient, buttons=False))
        stands = lease.counter is not None and name.endswith(f"-{stamp(lease.counter.at)}")
        if kind is Notice.COUNTERED and not (stands and lease.state is State.AWAITING_APPROVAL):
            await self._postman.settle(ref, self._notices.settled(lease, kind, now, recipient))


def _over(lease: Lease, kind: Notice, name: str) -> bool:
    """Whether the message speaks of something that does not hold any more."""
    if kind is Notice.WARNING:
        return not still_warns(lease, name)
    if kind is Notice.ESCALATED:
        return lease.state is not State.AWAITING_APPROVAL
    return kind in (*_LIVING, *_EPISODES)


def _number(name: str) -> int:
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0


def _may_see(lease: Lease, recipient: Recipient) -> bool:
    """A channel, or somebody who may still get into the lease: it may belong to somebody else by now."""
    return recipient.person is None or may_enter(lease, recipient.person)
