"""Pages administrators about what is not one lease's matter: the brake, places unread, leases without a workflow."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.blocks.message import compose
from bot.reaching import Reach
from lessor.contracts import Delivery, PageInput
from lessor.rendering import Renderer


@dataclass(frozen=True)
class Occasion:
    """An alarm about a subject on one day; its message can have been posted since that day began."""

    id: str
    requested_at: datetime


class Pager:
    """Posts each occasion once, then keeps that message up to date."""

    def __init__(self, reach: Reach, wording: Renderer) -> None:
        self._reach = reach
        self._wording = wording

    async def page(self, wanted: PageInput, now: datetime) -> Delivery:
        """The administrators' channel, or each administrator where it cannot be used. Raises what is temporary."""
        message = compose(
            self._wording.parts("page.j2", alarm=wanted.alarm.value, subject=wanted.subject, problem=wanted.problem)
        )
        return await self._reach.admins(_occasion(wanted, now), wanted.alarm.value, lambda _: message, now)


def _occasion(wanted: PageInput, now: datetime) -> Occasion:
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    subject = hashlib.sha256(wanted.subject.encode()).hexdigest()[:16]
    return Occasion(f"page-{subject}-{day:%Y-%m-%d}", day)
