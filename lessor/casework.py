"""Gathers what a request is judged by from the ledger: ceilings with what is free of them, and similar leases."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.accounting import Accounting, Plan
from lessor.domain.case import Case, Similar
from lessor.domain.lease import OPEN, Lease, describe
from lessor.domain.lookalike import resembling
from lessor.domain.people import Person
from lessor.domain.quote import Quote
from lessor.ports import LeaseQuery, Ledger

_OPEN = tuple(sorted(state.value for state in OPEN))


class Casework:
    """Reads the ledger as it is now; nothing is taken of any ceiling."""

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger = ledger
        self._accounting = Accounting(ledger, plan)

    def case(self, lease: Lease, quote: Quote | None, owner: Person, now: datetime) -> Case:
        """The case of a request or of a lease that is to be longer, at this price."""
        quoted = replace(lease, quote=quote)
        return Case(
            lease.request,
            quote,
            owner,
            now,
            self._accounting.rooms(quoted),
            self._accounting.budgets(quoted, now),
            self._similar(lease, owner),
            lease.extensions,
        )

    def _similar(self, lease: Lease, owner: Person) -> tuple[Similar, ...]:
        owners = tuple(sorted(owner.all_ids))
        query = LeaseQuery(owners, teams=(lease.request.team,), states=_OPEN, but=lease.id)
        found = resembling(lease, self._ledger.leases(query))
        return tuple(Similar(one.id, f"{one.request.need}, {describe(one)}") for one in found)
