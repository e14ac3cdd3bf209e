"""Judges a request: its price, what the policy says, and who has to decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from temporalio import activity

from activities.errors import as_application_errors
from activities.leases import lease_of
from lessor import approvers
from lessor.accounting import Accounting, Plan
from lessor.booked import Booked
from lessor.books import Bookings
from lessor.casework import Casework
from lessor.contracts import Assessment, LeaseRef, StaffInput, Weigh, Weighed
from lessor.domain import extension
from lessor.domain.approval import Step
from lessor.domain.case import Judge
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome
from lessor.domain.quota import QuotaPlan
from lessor.domain.quote import Quote
from lessor.domain.suspension import STOPPABLE
from lessor.domain.worktime import Hours
from lessor.ports import Directory, Ledger, Provider
from lessor.when.calendar import Calendar


class AssessmentActivities:
    """Holds the providers' prices, the policy and the directory."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        judge: Judge,
        directory: Directory,
        ledger: Ledger,
        clock: Callable[[], datetime],
        plan: Plan = QuotaPlan,
        calendar: Calendar | None = None,
        bookings: Bookings | None = None,
    ) -> None:
        self._bookings = bookings or Booked()
        self._providers = providers
        self._judge = judge
        self._directory = directory
        self._ledger = ledger
        self._clock = clock
        self._accounting = Accounting(ledger, plan)
        self._casework = Casework(ledger, plan)
        self._calendar = calendar or Calendar()

    @activity.defn
    async def assess(self, ref: LeaseRef) -> Assessment:
        """Quote, decision and staffed steps. Raises `Refused` or `PermanentProviderError` when it cannot be judged."""
        with as_application_errors():
            lease = await asyncio.to_thread(lease_of, self._ledger, ref)
            request, now = lease.request, self._clock()
            provider = self._providers[request.place.provider]
            quote = await asyncio.to_thread(provider.quote, request.need, request.place, request.market, now)
            owner = await self._directory.person(lease.owner)
            if owner is None or not owner.active:
                raise Refused("unknown-person", f"{lease.owner} is not an active person of this organisation")
            runs, awake = self._hours(lease, owner, now)
            decision = await asyncio.to_thread(self._decide, replace(lease, schedule=runs), quote, owner, now)
            found = Assessment(quote, decision, (), owner, runs, awake)
            if decision.outcome is not Outcome.REQUIRE:
                return found
            requester = replace(owner, ids=tuple({*owner.all_ids, *lease.requester_ids}))
            steps = await approvers.staff(self._directory, decision.steps, request.team, requester, now)
            return replace(found, steps=steps)

    @activity.defn
    async def staff(self, wanted: StaffInput) -> tuple[Step, ...]:
        """The steps as they are to be asked now. Raises `Refused` ("nobody-can-decide") when nobody is left."""
        with as_application_errors():
            requester = Person(wanted.requester_ids[0], wanted.requester_ids)
            overdue, now = frozenset(wanted.overdue), self._clock()
            return await approvers.restaff(self._directory, wanted.steps, wanted.team, requester, now, overdue)

    @activity.defn
    async def weigh(self, wanted: Weigh) -> Weighed:
        """What the policy says of a lease that ran until then, at the price it has, and who has to be asked for it.

        Takes the machine for so long, where machines are booked, also while people are asked; and what the longer lease
        needs of budgets once nobody has to be asked any more. Raises `Refused` with the words when that does not fit.
        """
        with as_application_errors():
            lease = await asyncio.to_thread(lease_of, self._ledger, LeaseRef(wanted.lease_id, 0))
            if lease.quote is None or lease.ready_at is None:
                raise Refused("wrong-state", f"{lease.id} is not in use yet")
            owner = await self._directory.person(lease.owner) or Person(lease.owner, lease.owner_ids, active=False)
            longer = replace(lease.request, until=None, start=None, duration=wanted.until - lease.ready_at)
            moved, now = replace(lease, request=longer, ends_at=wanted.until), self._clock()
            decision = await asyncio.to_thread(self._decide, moved, lease.quote, owner, now)
            missing = () if wanted.granted else extension.missing(lease, decision, wanted.person)
            if decision.outcome is Outcome.DENY:
                return Weighed(decision)
            await asyncio.to_thread(self._bookings.prolong, moved, now)
            if missing:
                requester = replace(owner, ids=tuple({*lease.requester_ids, *wanted.person.all_ids}))
                team = lease.request.team
                return Weighed(decision, await approvers.staff(self._directory, missing, team, requester, now))
            await asyncio.to_thread(self._accounting.commit, moved, now)
            return Weighed(decision)

    def _hours(self, lease: Lease, owner: Person, now: datetime) -> tuple[Hours | None, Hours | None]:
        """When the lease is to run and when its owner is awake, for as long as it may live."""
        request = lease.request
        team = self._directory.team(request.team)
        name = request.schedule or (team.schedule if team else "")
        life = request.begins(now) - now + lease.terms.max_total
        try:
            runs = self._calendar.hours(name, owner.tz, now, life) if request.market in STOPPABLE else None
        except ValueError as error:
            raise Refused("no-schedule", f"{error}; nothing was created") from error
        return runs, self._calendar.awake(owner.tz, now, life)

    def _decide(self, lease: Lease, quote: Quote, owner: Person, now: datetime) -> Decision:
        return self._judge(self._casework.case(lease, quote, owner, now))
