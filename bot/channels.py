"""`ports.Notifier` on all channels: Slack first, mail where it does not reach or besides, events for programs.

No channel holds up another: what a second one fails at is put on record, and repeats nothing that the first has done.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from bot.facts import facts
from bot.notifier import SlackNotifier
from bot.telling import telling
from lessor.contracts import Delivery, Notice, PageInput
from lessor.domain.lease import Lease
from lessor.notify import Letter, Webhook, occasion
from lessor.ports import Directory


class Channels:
    """Gives each notice a letter and an event, and lets Slack's chain decide who is told."""

    def __init__(self, slack: SlackNotifier, directory: Directory, webhook: Webhook | None = None) -> None:
        self._slack = slack
        self._directory = directory
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
        values = {**facts(lease, now), "before": before}
        letter = Letter(notice.value, name, values, await self._names(lease))
        with telling(letter, patient=patient) as current:
            told, problem = await asyncio.gather(
                self._slack.notify(lease, notice, before, now),
                self._announced(lease, notice, name, before, now),
                return_exceptions=True,
            )
        if isinstance(told, BaseException):
            raise told
        if isinstance(problem, BaseException):
            raise problem
        current.raise_if_unheard(told)
        return replace(told, problem="; ".join(filter(None, (told.problem, problem))))

    async def page(self, wanted: PageInput, now: datetime, *, patient: bool = True) -> Delivery:
        """Reach the administrators, by mail where Slack does not reach them."""
        values = {"alarm": wanted.alarm.value, "subject": wanted.subject, "problem": wanted.problem, "lease": None}
        with telling(Letter("page", wanted.alarm.value, values), patient=patient) as current:
            told = await self._slack.page(wanted, now)
        current.raise_if_unheard(told)
        return told

    async def _announced(self, lease: Lease, notice: Notice, name: str, before: timedelta, now: datetime) -> str:
        return await self._webhook.announce(lease, notice, name, before, now) if self._webhook else ""

    async def _names(self, lease: Lease) -> dict[str, str]:
        """The names of those of whom a letter may speak; in Slack the mention shows the name."""
        refusal, counter, transfer = lease.refusal, lease.counter, lease.transfer
        ids = [lease.owner, lease.decided_by, lease.cancelled_by, *(one.id for one in lease.co_owners)]
        ids += [one.by for one in (refusal, counter, transfer, lease.wish, *lease.questions) if one]
        people = [await self._directory.person(one) for one in dict.fromkeys(filter(None, ids))]
        return {one: person.name for person in people if person and person.name for one in person.all_ids}
