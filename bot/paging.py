"""Pages administrators about what is not one lease's matter: the brake, places unread, leases without a workflow."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.blocks.message import compose
from bot.budgets import BudgetWatch
from bot.reaching import Reach
from lessor.contracts import Alarm, Delivery, PageInput
from lessor.rendering import Renderer

RETRIED_FOR = timedelta(days=1)
"""How far back a message is looked for of which nobody knows whether it was posted."""

EACH_TIME = frozenset({Alarm.SOURCE_SILENT, Alarm.FAULTY_GPU})
"""Alarms that are raised once, when something begins: with other words it is another time, on the same day as well."""


@dataclass(frozen=True)
class Occasion:
    """An alarm about a subject on one day; its message can have been posted since that day began."""

    id: str
    requested_at: datetime


class Pager:
    """Posts each occasion once, then keeps that message up to date."""

    def __init__(self, reach: Reach, wording: Renderer, budgets: BudgetWatch) -> None:
        self._reach = reach
        self._wording = wording
        self._budgets = budgets

    async def page(self, wanted: PageInput, now: datetime) -> Delivery:
        """The administrators' channel, or each administrator where it cannot be used. Raises what is temporary."""
        if wanted.alarm is Alarm.BUDGET:
            return await self._budgets.tell(wanted, _once(wanted, now), now)
        message = compose(
            self._wording.parts("page.j2", alarm=wanted.alarm.value, subject=wanted.subject, problem=wanted.problem)
        )
        return await self._reach.admins(_occasion(wanted, now), wanted.alarm.value, lambda _: message, now)


def _occasion(wanted: PageInput, now: datetime) -> Occasion:
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return Occasion(f"page-{_subject(wanted)}-{day:%Y-%m-%d}", day)


def _once(wanted: PageInput, now: datetime) -> Occasion:
    """One in all for its subject, which holds its month."""
    return Occasion(f"page-{_subject(wanted)}", now - RETRIED_FOR)


def _subject(wanted: PageInput) -> str:
    what = f"{wanted.subject} {wanted.problem}" if wanted.alarm in EACH_TIME else wanted.subject
    return hashlib.sha256(what.encode()).hexdigest()[:16]
