"""A world for leases: time-skipping Temporal, a ledger, a cloud, people; and the moves that tests make in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from lessor import contracts
from lessor.contracts import Act, Answer, LeaseInput, LeaseOutcome, Verb
from lessor.domain.lease import Lease, State, Terms
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quota import Quota
from lessor.domain.request import Need, Place, Request, Workload
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import Team
from lessor.runs import TemporalRuns
from tests.fakes import FakeCloud, FakeDirectory, FakeNotifier
from workflows.worker import CONCURRENCY, Activities, build_workers

REQUESTER = Person("U0REQUESTER", ids=("W0REQUESTER",), email="requester@example.com", teams=("research",))
MANAGER = Person("U0MANAGER", email="manager@example.com", teams=("research",), leads=("research",))
SECOND = Person("U0MANAGER2", email="manager-2@example.com", groups=("managers",), leads=("research",))
ADMIN = Person("U0ADMIN", email="admin@example.com", admin=True)
APPROVAL = StepSpec("team lead", ("lead:research",))
ASK_THE_LEAD = Decision(Outcome.REQUIRE, (Reason("default", "no rule speaks of it"),), (APPROVAL,), "v1")
PLACE = Place("aws", "research", "us-east-1")

Handle = WorkflowHandle[Any, LeaseOutcome]
NUMBERS = itertools.count(1)


def activity_time() -> datetime:
    """The server's time, since the test server's clock runs ahead of the machine's."""
    return activity.info().started_time


@dataclass
class World:
    """The surroundings of leases. `decision` is what the policy says next; `working` runs the workers."""

    env: WorkflowEnvironment
    ledger: SqlLedger
    cloud: FakeCloud = field(default_factory=lambda: FakeCloud(activity_time))
    notifier: FakeNotifier = field(default_factory=FakeNotifier)
    decision: Decision = ASK_THE_LEAD
    terms: Terms = field(default_factory=Terms)
    made: int = 0
    quotas: tuple[Quota, ...] = (Quota("research", 16),)
    acts: int = 0

    @asynccontextmanager
    async def working(self, **settings: int) -> AsyncIterator[None]:
        """Workers for all queues until the block ends; `settings` as `build_workers` takes them."""
        with ThreadPoolExecutor(CONCURRENCY) as threads:
            async with AsyncExitStack() as stack:
                for worker in build_workers(self.env.client, self._activities(), threads, **settings):  # type: ignore[arg-type]
                    await stack.enter_async_context(worker)
                yield

    async def ask(self, **changes: object) -> Handle:
        """Start a lease workflow for eight hours of one A10G, with `changes` to the request."""
        self.made += 1
        request = Request(
            REQUESTER.id,
            "research",
            "train the ranking model",
            Workload.TRAINING,
            Need("A10G", 1),
            PLACE,
            duration=timedelta(hours=8),
            interaction=f"click-{self.made}",
        )
        lease_id = f"gpu-{next(NUMBERS):08d}"
        handle: Handle = await self.env.client.start_workflow(
            contracts.LEASE_WORKFLOW,
            LeaseInput(lease_id, request=replace(request, **changes), terms=self.terms),  # type: ignore[arg-type]
            id=lease_id,
            task_queue=contracts.TASK_QUEUE,
            result_type=LeaseOutcome,
        )
        return handle

    async def act(self, handle: Handle, verb: Verb, by: Person, **details: object) -> Answer:
        self.acts += 1
        act = Act(f"act-{self.acts}", verb, by.id, **details)  # type: ignore[arg-type]
        return await handle.execute_update(verb.value, act, id=act.id, result_type=Answer)

    async def lease(self, handle: Handle) -> Lease:
        return await handle.query(contracts.QUERY_LEASE, result_type=Lease)

    async def until(self, handle: Handle, *states: State) -> Lease:
        """Wait until the lease is in one of `states`; fails with the state that it is stuck in."""
        lease = await self.when(handle, lambda found: found.state in states, f"state {[s.value for s in states]}")
        return lease

    async def when(self, handle: Handle, holds: Callable[[Lease], bool], what: str) -> Lease:
        lease = await self.lease(handle)
        for _ in range(1_000):
            if holds(lease):
                return lease
            await asyncio.sleep(0.01)
            lease = await self.lease(handle)
        raise AssertionError(f"{lease.id} never reached {what}; it is {lease.state.value}: {lease.problem}")

    async def sleep(self, length: timedelta) -> None:
        await self.env.sleep(length)

    async def active(self, **changes: object) -> Handle:
        """A lease that was asked for, approved by the manager and is usable."""
        handle = await self.ask(**changes)
        await self.until(handle, State.AWAITING_APPROVAL)
        assert (await self.act(handle, Verb.APPROVE, MANAGER)).ok
        await self.until(handle, State.ACTIVE)
        return handle

    def events(self, handle: Handle) -> list[str]:
        return [stored.event.type for stored in self.ledger.events(handle.id)]

    def _activities(self) -> Activities:
        team = Team("research", lead=MANAGER.id, quotas=self.quotas)
        directory = FakeDirectory((REQUESTER, MANAGER, SECOND, ADMIN), (team,))
        providers = {"aws": self.cloud}
        return Activities(
            RecordActivities(self.ledger, directory),
            AssessmentActivities(providers, lambda *_: self.decision, directory, self.ledger, activity_time),
            ProvisioningActivities(providers, self.ledger, activity_time),
            MessageActivities(self.notifier, self.ledger, activity_time),
            SweepActivities({"aws": self.cloud}, self.ledger, TemporalRuns(self.env.client), activity_time),
        )


@asynccontextmanager
async def idle_world(env: WorkflowEnvironment) -> AsyncIterator[World]:
    """A world in which nobody works yet."""
    ledger = open_ledger("sqlite://")
    try:
        yield World(env, ledger)
    finally:
        ledger.close()


@asynccontextmanager
async def busy_world(env: WorkflowEnvironment) -> AsyncIterator[World]:
    """A world with workers."""
    async with idle_world(env) as made, made.working():
        yield made
