"""Sending a request: one submission, and words for whatever comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from bot.around import asked_now
from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.desk import Desk
from bot.facts import facts
from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.lease import Lease, State
from lessor.domain.request import Request

if TYPE_CHECKING:
    from lessor.gateway import Submitted

_LOOKS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Pauses while the lease's workflow assesses the request; after these the person is told by its own message."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What came of a submission: errors at fields, look-alikes that are open, or words for the person.

    `repeated` says that the same interaction had made the lease before, so that nobody has to be told again.
    """

    errors: tuple[FieldError, ...] = ()
    similar: tuple[str, ...] = ()
    message: Message | None = None
    repeated: bool = False
    lease_id: str = ""


class Submitting:
    """Sends requests through the gateway and waits a moment for the first assessment."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buttons = Buttons(desk.wording)

    async def send(self, request: Request, zone: str, *, anyway: bool) -> Outcome:
        """Never raises: whatever goes wrong is in words, and says what was kept."""
        try:
            done = await self._desk.gateway.submit(request, anyway=anyway)
        except Invalid as invalid:
            return Outcome(errors=invalid.errors)
        except Refused as refused:
            return Outcome(message=self._desk.refusal(refused))
        except Exception:
            log.exception("a request could not be sent", interaction=request.interaction)
            kept = "It is not known whether the request was kept; sending the same form again cannot make a second one."
            return Outcome(message=self._desk.message("trouble.j2", problem="an error on our side", kept=kept))
        if done.similar:
            return Outcome(similar=done.similar)
        if done.existing:
            log.info("duplicate", interaction=request.interaction, lease_id=done.lease_id)
        return Outcome(message=await self._words(done, zone), repeated=done.existing, lease_id=done.lease_id)

    def similar(self, ids: Sequence[str]) -> Message:
        """Which look-alikes are open, with the choice to make another one anyway."""
        row = [self._buttons.details(ids[0]), self._buttons.again(ids[0])]
        return compose(self._desk.wording.parts("similar.j2", similar=ids, form=False), row)

    async def _words(self, done: Submitted, zone: str) -> Message:
        lease = None if done.recorded_only else await self._assessed(done.lease_id)
        values: dict[str, Any] = {"lease": None, "zone": zone, "price_known": False}
        row: list[Any] = []
        if lease:
            around = await asked_now(self._desk.gateway, lease)
            values |= facts(lease, self._desk.now(), around)
            row = [*self._buttons.requester(lease, self._desk.now()), self._buttons.details(lease.id)]
        values |= {"lease_id": done.lease_id, "recorded_only": done.recorded_only}
        return compose(self._desk.wording.parts("submitted.j2", **values), row)

    async def _assessed(self, lease_id: str) -> Lease | None:
        """The lease once quote and policy are on record; `None` when that takes longer."""
        for pause in _LOOKS:
            try:
                lease = await self._desk.gateway.lease(lease_id)
            except Refused:
                lease = None
            if lease and lease.state is not State.REQUESTED:
                return lease
            await asyncio.sleep(pause)
        return None
