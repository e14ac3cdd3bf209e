"""Whose money is used up where the organisation lets leases end for it, and which leases are to hear of that.

Read from the ledger as it is now. A lease that ends soon anyway is not told again, so that a repeated look tells nobody
twice; one that is extended afterwards is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from lessor.accounting import Plan
from lessor.contracts import OverBudget
from lessor.domain.budget import Metering, budget_rooms, used_up, used_up_words
from lessor.domain.capping import MONEY_GONE
from lessor.domain.lease import IN_USE, Lease
from lessor.domain.quota import Account, Ceiling, QuotaPlan, Then
from lessor.metering import account_of
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
        judged: dict[tuple[Account, str], OverBudget | None] = {}
        found: list[tuple[str, OverBudget]] = []
        for lease in self._in_use():
            if lease.runs_until is None or lease.runs_until <= now + MONEY_GONE:
                continue
            key = account_of(lease, plan), lease.model
            if key not in judged:
                judged[key] = self._judged(plan, *key, now)
            told = judged[key]
            if told is not None:
                found.append((lease.id, told))
        return tuple(found)

    def _judged(self, plan: QuotaPlan, account: Account, model: str, now: datetime) -> OverBudget | None:
        """The first of the account's limits that is used up; what is unknown is not (law 1)."""
        ceilings: list[Ceiling] = [one for one in plan.of(account, model) if one.then is Then.END]
        if not ceilings:
            return None
        month = month_of(now, plan.tz).key
        taken = self._books.taken(account, [month])
        rooms = budget_rooms(ceilings, [month], taken, Metering(account, model, plan.currency, now, month))
        over = next((room for room in rooms if used_up(room)), None)
        return OverBudget(over.scope, used_up_words(over), now) if over else None

    def _in_use(self) -> Iterator[Lease]:
        after = ""
        while page := self._books.leases(LeaseQuery(states=STATES, after=after, limit=PAGE)):
            yield from page
            after = page[-1].id


def ends_leases(plan: QuotaPlan) -> bool:
    """Whether any limit of the organisation lets leases end when its money is used up."""
    return any(one.then is Then.END for one in plan.ceilings)
