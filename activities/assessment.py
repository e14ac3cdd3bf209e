"""Judges a request: its price, what the policy says, and who has to decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from temporalio import activity

from activities.errors import as_application_errors
from activities.leases import lease_of
from lessor.contracts import Assessment, LeaseRef, MoveEnd
from lessor.domain import approval
from lessor.domain.case import Case, Judge
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, StepSpec
from lessor.domain.quota import headroom
from lessor.domain.quote import Quote
from lessor.ports import Directory, Ledger, Provider


class AssessmentActivities:
    """Holds the providers' prices, the policy and the directory."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        judge: Judge,
        directory: Directory,
        ledger: Ledger,
        clock: Callable[[], datetime],
    ) -> None:
        self._providers = providers
        self._judge = judge
        self._directory = directory
        self._ledger = ledger
        self._clock = clock

    @activity.defn
    async def assess(self, ref: LeaseRef) -> Assessment:
        """Quote, decision and staffed steps. Raises `Refused` or `PermanentProviderError` when it cannot be judged."""
        with as_application_errors():
            lease = await asyncio.to_thread(lease_of, self._ledger, ref)
            request, now = lease.request, self._clock()
            provider = self._providers[request.place.provider]
            quote = await asyncio.to_thread(provider.quote, request.need, request.place, request.market, now)
            owner = await self._directory.person(request.requester)
            if owner is None or not owner.active:
                raise Refused("unknown-person", f"{request.requester} is not an active person of this organisation")
            decision = await asyncio.to_thread(self._decide, lease, quote, owner, now)
            steps = await self._staff(decision, owner) if decision.outcome is Outcome.REQUIRE else ()
            return Assessment(quote, decision, steps, owner)

    @activity.defn
    async def weigh(self, wanted: MoveEnd) -> Decision:
        """What the policy says of a lease that ran until `wanted.ends`: its whole length, at the price it has."""
        with as_application_errors():
            lease = await asyncio.to_thread(lease_of, self._ledger, LeaseRef(wanted.lease_id, 0))
            if lease.quote is None or lease.ready_at is None:
                raise Refused("wrong-state", f"{lease.id} is not in use yet")
            owner = await self._directory.person(lease.owner) or Person(lease.owner, lease.owner_ids, active=False)
            longer = replace(lease.request, until=None, duration=wanted.ends - lease.ready_at)
            return await asyncio.to_thread(
                self._decide, replace(lease, request=longer), lease.quote, owner, self._clock()
            )

    def _decide(self, lease: Lease, quote: Quote, owner: Person, now: datetime) -> Decision:
        team = self._directory.team(lease.request.team)
        held = [r for r in self._ledger.held(lease.request.team) if r.lease_id != lease.id]
        room = headroom(team.quotas if team else (), held, lease.request.team, quote.offer.gpu_model)
        return self._judge(Case(lease.request, quote, owner, now, room, extensions=lease.extensions))

    async def _staff(self, decision: Decision, owner: Person) -> tuple[approval.Step, ...]:
        return approval.staff(decision.steps, await self._members(decision.steps), owner)

    async def _members(self, specs: tuple[StepSpec, ...]) -> Callable[[str], tuple[Person, ...]]:
        refs = {ref for spec in specs for ref in spec.approvers} | {"admins"}
        found = {ref: await self._directory.members(ref) for ref in refs}
        return lambda ref: found.get(ref, ())
