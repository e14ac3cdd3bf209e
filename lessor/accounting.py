"""What is free of quotas and budgets, read from the ledger, and who has to hear that it gets scarce."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from lessor.contracts import Alarm, PageInput
from lessor.domain.alerts import Reach, Threshold, reaches
from lessor.domain.budget import BudgetRoom, Metering, budget_rooms
from lessor.domain.commitments import RUNNING
from lessor.domain.lease import Lease
from lessor.domain.quota import Account, Ceiling, Headroom, Kind, QuotaPlan, headroom
from lessor.metering import account_of, metered
from lessor.ports import QuotaBook
from lessor.when.months import month_of

Plan = Callable[[], QuotaPlan]
"""The organisation's ceilings as they are now; a configuration that is read anew changes them."""

Key = tuple[str, Kind, str, bool, str]
"""What tells one ceiling in one month from others: scope, kind, model, hardness, month."""

EVERYBODY_HEARS = 100
"""The percentage from which administrators are told as well."""


@dataclass(frozen=True)
class Usage:
    """What one account holds now and takes of this month, with the ceilings that it has.

    `totals` are what it takes of the month in all, GPU-hours and money, whether there is a ceiling or not: theirs is 0.
    """

    account: Account
    gpus: int
    rooms: tuple[Headroom, ...]
    budgets: tuple[BudgetRoom, ...]
    totals: tuple[BudgetRoom, ...]


class Accounting:
    """Reads the ledger, and takes of it what a longer lease needs; notes that people are told, so that it is once."""

    def __init__(self, book: QuotaBook, plan: Plan) -> None:
        self._book = book
        self._plan = plan

    def rooms(self, lease: Lease) -> tuple[Headroom, ...]:
        """The ceilings for GPUs at once that the lease counts against, with what all others hold."""
        account = account_of(lease, self._plan())
        return self.headroom(account, lease.model, but=lease.id)

    def headroom(self, account: Account, model: str, but: str = "") -> tuple[Headroom, ...]:
        """The same for anybody; without `model` the ceilings of every model."""
        ceilings = self._plan().of(account, model)
        return headroom(ceilings, self._book.counted(account, ceilings, but)) if ceilings else ()

    def budgets(self, lease: Lease, now: datetime) -> tuple[BudgetRoom, ...]:
        """The monthly ceilings of each month that the lease takes something of, with what all others take."""
        asked = metered(lease, self._plan(), now)
        months = [c.month for c in asked.commitments if c.month >= asked.current] or [asked.current]
        ceilings = self._monthly(asked.account, lease.model)
        if not ceilings:
            return ()
        return budget_rooms(ceilings, months, self._book.taken(asked.account, months, lease.id), asked)

    async def around(self, lease: Lease, now: datetime) -> tuple[tuple[Headroom, ...], tuple[BudgetRoom, ...]]:
        """Both kinds of ceilings that the lease counts against, for those who must not wait for the ledger."""
        rooms = await asyncio.to_thread(self.rooms, lease)
        return rooms, await asyncio.to_thread(self.budgets, lease, now)

    def usage(self, account: Account, now: datetime) -> Usage:
        """All ceilings of an account with what is used of them, and what it takes of this month."""
        plan = self._plan()
        ceilings = plan.of(account)
        current = month_of(now, plan.tz).key
        held = self._book.counted(account, ceilings)
        taken = self._book.taken(account, [current])
        look = Metering(account, "", plan.currency, now, current)
        scope = account.scopes[0]
        whole = [Ceiling(scope, Decimal(0), kind) for kind in (Kind.GPU_HOURS, Kind.MONEY)]
        return Usage(
            account,
            sum(r.gpus for r in held if scope in r.account.scopes),
            headroom(ceilings, held),
            budget_rooms(ceilings, [current], taken, look),
            budget_rooms(whole, [current], taken, look),
        )

    def commit(self, lease: Lease, now: datetime) -> None:
        """Take what a lease in use needs of budgets with the end that it has here. Raises `Refused` ("budget")."""
        if lease.state in RUNNING:
            asked = metered(lease, self._plan(), now)
            self._book.commit(lease.id, self._monthly(asked.account, lease.model), asked)

    def alerts(self, lease: Lease, now: datetime) -> tuple[PageInput, ...]:
        """Whom to tell of what, since the lease is on record at its present revision; the same again if asked again."""
        plan = self._plan()
        account = account_of(lease, plan)
        ceilings = plan.of(account, lease.model)
        if not ceilings or not plan.thresholds:
            return ()
        found = {_key(reach): reach for reach in self._reaches(lease, ceilings, now)}
        reached = [t for reach in found.values() for t in reach.thresholds(plan.thresholds)]
        new = self._book.reach(reached, lease.id, lease.revision) if reached else ()
        return tuple(_page(lease, found[_key(t)], t) for t in _highest(new) if _key(t) in found)

    def _reaches(self, lease: Lease, ceilings: tuple[Ceiling, ...], now: datetime) -> tuple[Reach, ...]:
        asked = metered(lease, self._plan(), now)
        months = [c.month for c in asked.commitments if c.month >= asked.current] or [asked.current]
        held = headroom(ceilings, self._book.counted(asked.account, ceilings))
        monthly = [c for c in ceilings if c.kind is not Kind.GPUS]
        taken = self._book.taken(asked.account, months) if monthly else ()
        budgets = budget_rooms(monthly, months, taken, replace(asked, commitments=()))
        return reaches(held, budgets, asked.current)

    def _monthly(self, account: Account, model: str) -> tuple[Ceiling, ...]:
        return tuple(c for c in self._plan().of(account, model) if c.kind is not Kind.GPUS)


def _key(one: Reach | Threshold) -> Key:
    return one.scope, one.kind, one.model, one.hard, one.month


def _highest(new: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """One for each ceiling: who hears of 100 % need not hear of 50 % in the same moment."""
    best: dict[Key, Threshold] = {}
    for one in new:
        best[_key(one)] = max(best.get(_key(one), one), one, key=lambda t: t.percent)
    return tuple(best.values())


def _page(lease: Lease, reach: Reach, threshold: Threshold) -> PageInput:
    what = f"{'' if reach.hard else 'soft '}{reach.kind.value}"
    subject = " ".join(filter(None, (reach.scope, what, reach.model, reach.month, f"{threshold.percent}%")))
    kind, _, key = reach.scope.partition(":")
    return PageInput(
        Alarm.BUDGET,
        subject,
        f"{reach.words}. {lease.id} of team {lease.request.team} reached {threshold.percent} %.",
        team=key if kind == "team" else lease.request.team,
        person=key if kind == "person" else "",
        admins=threshold.percent >= EVERYBODY_HEARS,
    )
