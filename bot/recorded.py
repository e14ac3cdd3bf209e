"""Notices whose figures are in what happened, and not on the lease: some GPUs idle, money used up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from bot.blocks.buttons import Buttons
from bot.blocks.message import Message, compose
from bot.facts import facts
from bot.reaching import Reach, Recipient
from bot.telling import Write
from bot.threads import stamp
from lessor.contracts import Delivery, Notice
from lessor.domain.lease import IN_USE, Event, Lease, State
from lessor.rendering import Renderer

Events = Callable[[Lease], Awaitable[Sequence[Event]]]

PARTLY = "partly-idle"
OVER_BUDGET = "over-budget"


class Recorded:
    """Tells owners, and those who share a lease, with the figures of the latest event of its kind."""

    def __init__(self, reach: Reach, wording: Renderer, events: Events) -> None:
        self._reach = reach
        self._wording = wording
        self._buttons = Buttons(wording)
        self._events = events

    async def partly(self, lease: Lease, now: datetime) -> Delivery:
        """Some of its GPUs work and others never do; nothing is stopped for that."""
        event = latest(await self._events(lease), (PARTLY,))
        return await self._tell(lease, Notice.PARTLY_IDLE, event, lambda r: self._partly(lease, event, now, r), now)

    async def over_budget(self, lease: Lease, now: datetime) -> Delivery:
        """The money of its team, project or owner is used up, and it ends soon."""
        event = latest(await self._events(lease), (OVER_BUDGET,))
        return await self._tell(lease, Notice.OVER_BUDGET, event, lambda r: self._spent(lease, event, now, r), now)

    async def _tell(self, lease: Lease, notice: Notice, event: Event | None, write: Write, now: datetime) -> Delivery:
        told = f"{notice.value}-{stamp(event.at if event else None)}"
        heard = await self._reach.first(lease, told, write, now)
        return await self._reach.besides(lease, told, await self._reach.co_owners(lease), write, now, heard)

    def _partly(self, lease: Lease, event: Event | None, now: datetime, recipient: Recipient) -> Message:
        data = event.data if event else {}
        gpus, idle = int(data.get("gpus", 0)), int(data.get("idle_gpus", 0))
        values: dict[str, object] = {"idle_gpus": idle, "working": gpus - idle, "counted": gpus}
        values["known"] = data.get("verdict", "busy") == "busy"
        values |= {"pods_held": gpus - int(data.get("unheld", 0)), "held_since": _instant(data.get("unheld_since", ""))}
        row = [self._buttons.release(lease.id), self._buttons.details(lease.id)]
        parts = self._parts(lease, Notice.PARTLY_IDLE, now, recipient, values)
        return compose(parts, row if lease.state is State.ACTIVE else ())

    def _spent(self, lease: Lease, event: Event | None, now: datetime, recipient: Recipient) -> Message:
        data = event.data if event else {}
        values: dict[str, object] = {"budget": data.get("scope", ""), "why": data.get("why", "")}
        parts = self._parts(lease, Notice.OVER_BUDGET, now, recipient, values)
        row = [self._buttons.release(lease.id), self._buttons.details(lease.id)]
        return compose(parts, row if lease.state in IN_USE else ())

    def _parts(
        self, lease: Lease, notice: Notice, now: datetime, recipient: Recipient, values: dict[str, object]
    ) -> dict[str, str]:
        values |= {**facts(lease, now), "zone": recipient.zone, "away_until": recipient.away_until}
        parts = self._wording.parts(f"{notice.value}.j2", **values)
        if recipient.person is None or not recipient.person.is_same(lease.holder_ids):
            parts["note"] = self._wording.parts("fallback.j2", **values)["note"]
        return parts


def latest(events: Sequence[Event], types: Sequence[str]) -> Event | None:
    """The latest event of one of these types."""
    return next((one for one in reversed(events) if one.type in types), None)


def _instant(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
