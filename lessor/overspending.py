"""Whose money is used up where the organisation lets leases end for it, and which leases are to hear of that.

Read from the ledger as it is now. A lease that ends soon anyway is not told again, so that a repeated look tells nobody
twice; one that is extended afterwards is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Protocol

from lessor.accounting import Plan
from lessor.contracts import OverBudget
from lessor.domain.budget import Metering, budget_rooms, used_up, used_up_words
from lessor.domain.capping import MONEY_GONE
from lessor.domain.lease import IN_USE, Lease
from lessor.domain.quota import Account, Ceiling, QuotaPlan, Then
from lessor.ports import LeaseBook, LeaseQuery, QuotaBook
from lessor.when.months import month_of

PAGE = 500
STATES = tuple(state.value for state in IN_USE)


class Books(LeaseBook, QuotaBook, Protocol):
    """What is needed of the ledger."""


class Overspending:
    """Finds what is to be told; telling is somebody else's."""

    def __init__(self, books: Books, plan: Plan) -> None:
        self._books = books
        self._plan = plan

    @property
    def concerns(self) -> bool:
        """Whether any limit lets leases end: without one nothing has to be looked at."""
        return ends_leases(self._plan())

    def found(self, now: datetime) -> tuple[tuple[str, OverBudget], ...]:
        """Leases in use whose payer has spent all of a month's money, by id, each with the first limit that says so."""
        plan = self._plan()
        if not ends_leases(plan):
            return ()
        judged: dict[Ceiling, OverBudget | None] = {}
        over: dict[str, OverBudget] = {}
        for held in self._books.held():
            ceilings = [one for one in plan.of(held.account, held.model) if one.then is Then.END]
            for one in ceilings:
                if one not in judged:
                    judged[one] = self._judged(plan, one, now)
            told = next((found for one in ceilings if (found := judged[one])), None)
            if told is not None:
                over[held.lease_id] = told
        return tuple((lease.id, over[lease.id]) for lease in self._in_use(over) if _lasts(lease, now))

    def _judged(self, plan: QuotaPlan, ceiling: Ceiling, now: datetime) -> OverBudget | None:
        """What leases are told where it is used up; what is unknown is not (law 1)."""
        month, account = month_of(now, plan.tz).key, _whose(ceiling)
        look = Metering(account, ceiling.model, plan.currency, now, month)
        [room] = budget_rooms([ceiling], [month], self._books.taken(account, [month]), look)
        return OverBudget(room.scope, used_up_words(room), now) if used_up(room) else None

    def _in_use(self, ids: Collection[str]) -> Iterator[Lease]:
        wanted = sorted(ids)
        for begin in range(0, len(wanted), PAGE):
            page = tuple(wanted[begin : begin + PAGE])
            yield from self._books.leases(LeaseQuery(states=STATES, ids=page, limit=PAGE))


def ends_leases(plan: QuotaPlan) -> bool:
    """Whether any limit of the organisation lets leases end when its money is used up."""
    return any(one.then is Then.END for one in plan.ceilings)


def _lasts(lease: Lease, now: datetime) -> bool:
    """Whether it ends later than one that is told now would."""
    return lease.runs_until is not None and lease.runs_until > now + MONEY_GONE


def _whose(ceiling: Ceiling) -> Account:
    """Everybody whom the limit counts, and nobody else."""
    kind, _, key = ceiling.scope.partition(":")
    return Account(**{"team": "", kind: key})
