"""`ports.Notifier` on all channels: Slack first, mail where it does not reach or besides, events for programs.

No channel holds up another: what a second one fails at is put on record, and repeats nothing that the first has done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.facts import facts
from bot.notices import left
from bot.notifier import SlackNotifier
from bot.telling import telling
from lessor.contracts import Delivery, Notice, PageInput
from lessor.domain import braking
from lessor.domain.lease import Lease
from lessor.notify import Letter, Webhook, occasion


class Channels:
    """Gives each notice a letter and an event, and lets Slack's chain decide who is told."""

    def __init__(self, slack: SlackNotifier, webhook: Webhook | None = None) -> None:
        self._slack = slack
        self._webhook = webhook

    async def notify(
        self,
        lease: Lease,
        notice: Notice,
        before: timedelta,
        now: datetime,
        *,
        revision: int = 0,
        patient: bool = True,
    ) -> Delivery:
        """Reach somebody. While there is patience, raises what Slack fails at now, after the others had their turn."""
        name = occasion(lease, notice, before, revision or lease.revision)
        letter = Letter(notice.value, name, {**facts(lease, now), "before": left(lease, before, now)}, _named(lease))
        with telling(letter, patient=patient) as current:
            slack = self._slack.notify(lease, notice, before, now)
            if self._webhook is None:
                told, problem = await slack, ""
            else:
                event = self._webhook.announce(lease, notice, name, before, now)
                told, problem = await _both(slack, event)
        current.raise_if_unheard(told)
        return replace(told, problem="; ".join(filter(None, (told.problem, problem))))

    async def page(self, wanted: PageInput, now: datetime, *, patient: bool = True) -> Delivery:
        """Reach the administrators, by mail where Slack does not reach them."""
        values = {"alarm": wanted.alarm.value, "subject": wanted.subject, "problem": wanted.problem, "lease": None}
        with telling(Letter("page", wanted.alarm.value, values), patient=patient) as current:
            told = await self._slack.page(wanted, now)
        current.raise_if_unheard(told)
        return told


async def _both(slack: Coroutine[Any, Any, Delivery], event: Coroutine[Any, Any, str]) -> tuple[Delivery, str]:
    """Side by side; the event is let finish before Slack's failure is raised."""
    told, problem = await asyncio.gather(slack, event, return_exceptions=True)
    if isinstance(told, BaseException):
        raise told
    if isinstance(problem, BaseException):
        raise problem
    return told, problem


def _named(lease: Lease) -> tuple[str, ...]:
    """The ids of those whom a letter about the lease may name."""
    refusal, counter, transfer = lease.refusal, lease.counter, lease.transfer
    ids = [lease.owner, lease.decided_by, lease.cancelled_by, *(one.id for one in lease.co_owners)]
    ids += [one.by for one in (refusal, counter, transfer, lease.wish, *lease.questions) if one]
    ids += [one.answered_by for one in lease.questions]
    brake = braking.heard(lease.idle.held_back) if lease.idle else None
    ids += [brake.by] if brake else []
    return tuple(dict.fromkeys(filter(None, ids)))
