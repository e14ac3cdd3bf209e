"""The ledger's side of a lease: short transactions, run as local activities, each safe to repeat."""

from __future__ import annotations

from temporalio import activity

from activities.beating import blocking
from activities.errors import as_application_errors
from lessor.contracts import LeaseRef, RecordInput
from lessor.domain.lease import FINAL, State
from lessor.domain.people import Person
from lessor.domain.quota import Quota, Reservation
from lessor.ports import Directory, Ledger

HOLDS_NOTHING = FINAL | {State.STOPPED}


class RecordActivities:
    """Writes leases and events, takes and gives back quota, says who a person is."""

    def __init__(self, ledger: Ledger, directory: Directory) -> None:
        self._ledger = ledger
        self._directory = directory

    @blocking
    def record(self, wanted: RecordInput) -> None:
        """Append the events and store the lease, once each; a lease that is stopped or over gives its quota back."""
        self._ledger.record(wanted.lease, wanted.events)
        if wanted.lease.state in HOLDS_NOTHING:
            self._ledger.release(wanted.lease.id)

    @blocking
    def reserve(self, wanted: Reservation) -> None:
        """Take the lease's GPUs from its team's quota. Raises `Refused` with the numbers when they do not fit."""
        with as_application_errors():
            self._ledger.reserve(wanted, self._quotas(wanted.team))

    @blocking
    def give_back(self, wanted: LeaseRef) -> None:
        """Give the lease's quota back; a second time changes nothing."""
        self._ledger.release(wanted.lease_id)

    @activity.defn
    async def identify(self, any_id: str) -> Person:
        """The person behind an id, now. Somebody unknown is a person without any right, never somebody else."""
        person = await self._directory.person(any_id)
        return person or Person(id=any_id, active=False)

    def _quotas(self, team: str) -> tuple[Quota, ...]:
        found = self._directory.team(team)
        return found.quotas if found else ()
