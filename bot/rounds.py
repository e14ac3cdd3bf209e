"""One card that many can decide by: in the approvers' channel, with each of them, and redrawn wherever it stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import structlog
from slack_sdk.errors import SlackApiError

from bot.blocks.message import Message
from bot.posting import Postman
from bot.reaching import Reach, Recipient
from bot.settings import SlackSettings
from bot.telling import Told, gathered, told_as
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.ports import MessageRef

log = structlog.get_logger(__name__)


class Draw(Protocol):
    """Builds the card as one reader should see it; without buttons for those who cannot decide by it any more."""

    def __call__(self, recipient: Recipient, *, decidable: bool = True) -> Message: ...


class Rounds:
    """Puts cards before people. `occasion` tells the cards of one round from others of the lease."""

    def __init__(self, postman: Postman, reach: Reach, settings: SlackSettings) -> None:
        self._postman = postman
        self._reach = reach
        self._settings = settings

    async def put(
        self, lease: Lease, occasion: str, deciders: Sequence[Person], draw: Draw, now: datetime
    ) -> list[Told]:
        """To the channel and to everybody who can decide, administrators too where that reaches nobody who could.

        The buttons are taken from everybody else who has a card. One approver who cannot be reached spoils nothing.
        """
        channel = Recipient(self._settings.approvals_channel)
        people = [Recipient(person.id, person) for person in deciders]
        told = await gathered(
            self._reach.reach(lease, _key(lease, occasion, one.name), one, draw, now) for one in (channel, *people)
        )
        if not told[0].via or not deciders:
            told.append(told_as(await self._reach.admins(lease, occasion, draw, now)))
        names = (channel.name, self._settings.admins_channel, *(one.name for one in people))
        current = {_key(lease, occasion, name) for name in names}
        standing = await self.standing(lease, occasion)
        await gathered(self.redraw(lease, ref, draw) for ref in standing if ref.key not in current)
        return told

    async def standing(self, lease: Lease, occasion: str) -> Sequence[MessageRef]:
        return await self._postman.standing(lease.id, f"{lease.id}/{occasion}/")

    async def redraw(self, lease: Lease, ref: MessageRef, draw: Draw) -> None:
        """Bring one card up to date, without the buttons by which it is decided."""
        message = draw(await self._reach.recipient(ref), decidable=False)
        try:
            await self._postman.redraw(ref, message, lease.requested_at)
        except SlackApiError as error:
            # The channel was archived or left meanwhile: the decision stands, the other cards are redrawn.
            log.warning("a card could not be redrawn", key=ref.key, error=str(error))


def _key(lease: Lease, occasion: str, name: str) -> str:
    return f"{lease.id}/{occasion}/{name}"
