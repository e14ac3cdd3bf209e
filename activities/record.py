"""The ledger's side of a lease: short transactions, run as local activities, each safe to repeat."""

from __future__ import annotations

from dataclasses import replace

from temporalio import activity

from activities.beating import blocking
from activities.errors import as_application_errors
from lessor.accounting import Accounting, Plan
from lessor.booked import Booked
from lessor.books import Bookings
from lessor.contracts import Counted, LeaseRef, PageInput, RecordInput
from lessor.domain.commitments import TAKES_MORE
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, State
from lessor.domain.people import Person
from lessor.domain.quota import QuotaPlan
from lessor.metering import metered, reservation_of
from lessor.ports import Directory, Ledger

HOLDS_NOTHING = FINAL | {State.STOPPED}
"""States in which a lease has given its quota back."""
UNCOUNTED = (State.REQUESTED, State.AWAITING_APPROVAL)
"""States in which a lease takes nothing, or just what its approval has reserved a moment ago."""


class RecordActivities:
    """Writes leases and events, takes and gives back quota, says who a person is."""

    def __init__(
        self, ledger: Ledger, directory: Directory, plan: Plan = QuotaPlan, bookings: Bookings | None = None
    ) -> None:
        self._bookings = bookings or Booked()
        self._ledger = ledger
        self._directory = directory
        self._plan = plan
        self._accounting = Accounting(ledger, plan)

    @blocking
    def record(self, wanted: RecordInput) -> tuple[PageInput, ...] | None:
        """Append the events and store the lease, once each; a lease that is stopped or over gives its quota back.

        What it takes of each month is stored with it. Returns what people have to be told of quotas and budgets.
        """
        lease, at = wanted.lease, wanted.events[-1].at
        counted = None if lease.state in UNCOUNTED else metered(lease, self._plan(), at)
        self._ledger.record(lease, wanted.events, counted)
        if lease.state in HOLDS_NOTHING:
            self._ledger.release(lease.id)
        self._bookings.follow(lease, at)
        if counted is None or TAKES_MORE.isdisjoint(event.type for event in wanted.events):
            return None
        return self._accounting.alerts(lease, at) or None

    @blocking
    def reserve(self, wanted: Counted) -> None:
        """Take what the lease needs of quotas and budgets, for the owner and team that it has, and what is booked.

        Raises `Refused` with the numbers, or with when it is free, when it does not fit.
        """
        with as_application_errors():
            plan = self._plan()
            metering = metered(wanted.lease, plan, wanted.at)
            ceilings = plan.of(metering.account, wanted.lease.model)
            fresh = self._bookings.book(wanted.lease, wanted.at) or wanted.lease.state in UNCOUNTED
            try:
                self._ledger.reserve(reservation_of(wanted.lease, plan), ceilings, metering)
            except Refused:
                if fresh:
                    self._ledger.unbook(wanted.lease.id)
                raise

    @blocking
    def commit(self, wanted: Counted) -> None:
        """Take what a lease in use needs of budgets, as it is in `wanted`. Raises `Refused` with the numbers."""
        with as_application_errors():
            self._accounting.commit(wanted.lease, wanted.at)

    @blocking
    def give_back(self, wanted: LeaseRef) -> None:
        """Give the lease's quota back, and what is booked for it; a second time changes nothing."""
        self._ledger.release(wanted.lease_id)
        self._ledger.unbook(wanted.lease_id)

    @activity.defn
    async def identify(self, any_id: str) -> Person:
        """The person behind an id, now. Somebody unknown is a person without any right, never somebody else.

        Their hours are left out: an act needs none, and every act would carry them into the history.
        """
        person = await self._directory.person(any_id)
        return replace(person, hours=None) if person else Person(id=any_id, active=False)
