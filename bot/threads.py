"""Replies under the request card: reminders, and questions with their answers. A reply pings; an update does not."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import structlog
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.blocks.message import Message
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.telling import Write, passing_over
from lessor.domain.lease import Lease
from lessor.ports import MessageRef

log = structlog.get_logger(__name__)

_UNUSABLE = slack_errors.PERSON_PROBLEMS | slack_errors.CHANNEL_PROBLEMS.keys() | {"thread_not_found"}


class Threads:
    """Writes into the threads of the cards that stand."""

    def __init__(self, postman: Postman, reach: Reach) -> None:
        self._postman = postman
        self._reach = reach

    async def under_cards(
        self, lease: Lease, card: str, occasion: str, write: Write, people: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Reply under the channel's cards of the kind `card`, and under those of `people`; the names that got one.

        A card that was deleted or cannot be written to is passed over: the card itself is posted anew elsewhere.
        """
        named = set(people)
        reached = []
        for ref in await self._postman.standing(lease.id, f"{lease.id}/{card}/"):
            recipient = await self._reach.recipient(ref)
            if recipient.person is not None and recipient.name not in named:
                continue
            if await self._replied(lease, ref, f"{lease.id}/{occasion}/{recipient.name}", write(recipient)):
                reached.append(recipient.name)
        return tuple(reached)

    async def holders(self, lease: Lease, card: str) -> tuple[Recipient, ...]:
        """Everybody and every channel with a card of this kind."""
        standing = await self._postman.standing(lease.id, f"{lease.id}/{card}/")
        return tuple([await self._reach.recipient(ref) for ref in standing])

    async def _replied(self, lease: Lease, ref: MessageRef, key: str, message: Message) -> bool:
        try:
            with passing_over(key):
                await self._postman.deliver(key, lease.id, ref.channel, message, lease.requested_at, thread=ref.ts)
                return True
        except SlackApiError as error:
            if slack_errors.code(error) not in _UNUSABLE:
                raise
            log.warning("no reply under a card", key=key, error=slack_errors.code(error))
        return False


def stamp(at: datetime | None) -> str:
    """An instant as part of a message's key."""
    return str(int(at.timestamp())) if at else "0"
