"""A world for leases: time-skipping Temporal, a ledger, a cloud, people; and the moves that tests make in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.meter import MeterSettings
from activities.people import PeopleActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from lessor import contracts
from lessor.booked import Booked
from lessor.contracts import Act, Answer, LeaseInput, LeaseOutcome, PeopleReport, SweepInput, SweepOutcome, Verb
from lessor.domain.idle import Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Lease, State
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quota import Ceiling, QuotaPlan
from lessor.domain.request import Need, Place, Request, Workload
from lessor.domain.resource import Condition
from lessor.domain.terms import Terms
from lessor.ledger import SqlLedger, open_ledger
from lessor.overspending import Overspending
from lessor.ports import Team
from lessor.runs import TemporalRuns
from lessor.when.calendar import Calendar, Schedule
from lessor.when.hours import Week
from tests.builders import a_quota
from tests.fakes import FakeCloud, FakeDirectory, FakeNotifier
from tests.metering import FakeTelemetry
from tests.steering import Script, SteeredMeter
from tests.temporal import pass_time
from workflows.worker import QUEUES, Activities, activity_threads, build_workers

REQUESTER = Person("U0REQUESTER", ids=("W0REQUESTER",), email="requester@example.com", teams=("research",))
MANAGER = Person("U0MANAGER", email="manager@example.com", teams=("research",), leads=("research",))
SECOND = Person("U0MANAGER2", email="manager-2@example.com", groups=("managers",), leads=("research",))
ADMIN = Person("U0ADMIN", email="admin@example.com", admin=True)
APPROVAL = StepSpec("team lead", ("lead:research",))
ASK_THE_LEAD = Decision(Outcome.REQUIRE, (Reason("default", "no rule speaks of it"),), (APPROVAL,), "v1")
AT_ONCE = Decision(Outcome.APPROVE, (Reason("small", "costs little"),), policy_version="v1")
PLACE = Place("aws", "research", "us-east-1")

Handle = WorkflowHandle[Any, LeaseOutcome]
NUMBERS = itertools.count(1)


def activity_time() -> datetime:
    """The server's time, since the test server's clock runs ahead of the machine's."""
    return activity.info().started_time


@dataclass
class World:
    """The surroundings of leases. `decision` is what the policy says next; `working` runs the workers.

    `late` is how much later than the server the sweep believes it is. `script` is what leases are answered that ask the
    meter, instead of what was metered. `others` are
    providers of other kinds of place, by kind.
    """

    env: WorkflowEnvironment
    ledger: SqlLedger
    cloud: FakeCloud = field(default_factory=lambda: FakeCloud(activity_time))
    notifier: FakeNotifier = field(default_factory=FakeNotifier)
    decision: Decision = ASK_THE_LEAD
    terms: Terms = field(default_factory=Terms)
    made: int = 0
    plan: QuotaPlan = field(default_factory=lambda: QuotaPlan((a_quota("research", 16),), thresholds=()))
    directory: FakeDirectory = field(default_factory=lambda: FakeDirectory((REQUESTER, MANAGER, SECOND, ADMIN)))
    acts: int = 0
    sweeps: int = 0
    late: timedelta = timedelta()
    task_timeout: timedelta | None = None
    schedules: dict[str, Schedule] = field(default_factory=dict)
    waking: Week | None = None
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)
    idle_plan: IdlePlan = field(default_factory=IdlePlan)
    metering: timedelta | None = None
    script: Script | None = None
    others: dict[str, Any] = field(default_factory=dict)

    @asynccontextmanager
    async def working(self, **settings: Any) -> AsyncIterator[list[Worker]]:
        """Workers for all queues until the block ends; `settings` as `build_workers` takes them."""
        with activity_threads(settings.get("queues", QUEUES)) as threads:
            async with AsyncExitStack() as stack:
                workers = build_workers(self.env.client, self._activities(), threads, **settings)
                for worker in workers:
                    await stack.enter_async_context(worker)
                yield workers

    def allow(self, *ceilings: Ceiling, **changes: Any) -> None:
        """From now on these are the ceilings; `changes` are to the rest of the plan."""
        self.plan = replace(self.plan, ceilings=ceilings, **changes)

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
            task_timeout=self.task_timeout,
        )
        return handle

    async def act(self, handle: Handle, verb: Verb, by: Person, **details: object) -> Answer:
        self.acts += 1
        act = Act(f"act-{self.acts}", verb, by.id, **details)  # type: ignore[arg-type]
        return await handle.execute_update(verb.value, act, id=act.id, result_type=Answer)

    async def lease(self, handle: Handle) -> Lease:
        return await handle.query(contracts.QUERY_LEASE, result_type=Lease)

    async def tell_idle(self, handle: Handle, verdict: Verdict = Verdict.IDLE, **changes: Any) -> datetime:
        """Tell the lease, as the meter does when its verdict changes; since when it is so, by the script."""
        self.script = self.script or Script()
        told = self.script.told(await self.env.get_current_time(), verdict, **changes)
        await handle.signal(contracts.SIGNAL_METERED, told)
        return told.evidence.since

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
        last = ", ".join(self.events(handle)[-12:])
        raise AssertionError(f"{lease.id} never reached {what}; it is {lease.state.value}: {lease.problem}; {last}")

    async def sleep(self, length: timedelta) -> None:
        await pass_time(self.env, length)

    async def active(self, **changes: object) -> Handle:
        """A lease that was asked for, approved by the manager and is usable."""
        handle = await self.ask(**changes)
        await self.until(handle, State.AWAITING_APPROVAL)
        assert (await self.act(handle, Verb.APPROVE, MANAGER)).ok
        await self.until(handle, State.ACTIVE)
        return handle

    def events(self, handle: Handle) -> list[str]:
        return [stored.event.type for stored in self.ledger.events(handle.id)]

    async def sweep_people(self) -> PeopleReport:
        """One look for people who have left, as the schedule starts it; the clock stands still meanwhile."""
        self.sweeps += 1
        with self.env.auto_time_skipping_disabled():
            return await self.env.client.execute_workflow(
                contracts.PEOPLE_WORKFLOW,
                id=f"people-{self.sweeps}",
                task_queue=contracts.TASK_QUEUE,
                result_type=PeopleReport,
            )

    async def sweep(self, place: Place = PLACE) -> SweepOutcome:
        """One sweep, as the schedule starts it; the clock stands still meanwhile."""
        self.sweeps += 1
        with self.env.auto_time_skipping_disabled():
            return await self.env.client.execute_workflow(
                contracts.SWEEP_WORKFLOW,
                SweepInput((Place(place.provider, place.name),)),
                id=f"sweep-{self.sweeps}",
                task_queue=contracts.TASK_QUEUE,
                result_type=SweepOutcome,
            )

    def turn(self, handle: Handle, condition: Condition, reason: str) -> None:
        """Somebody outside does this to the lease's only machine."""
        machine = self.cloud.alive(handle.id)[0]
        self.cloud.machines[machine.id] = replace(machine, condition=condition, reason=reason)

    async def recorded(self, handle: Handle, *states: State) -> Lease:
        """The lease in the ledger, once it is in one of these states there (and its workflow over, if they are final).

        For leases whose workflow was ended: the time-skipping server finds no result by id when an id has two runs.
        """
        lease = None
        for _ in range(500):
            lease = self.ledger.lease(handle.id)
            if lease is not None and lease.state in states and not (lease.final and await self._open(handle)):
                return lease
            await asyncio.sleep(0.01)
            if self.env.supports_time_skipping:
                await self.sleep(timedelta(seconds=5))
        raise AssertionError(f"{handle.id} never became {states} on record: {lease}")

    async def eventually(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something outside of the workflow holds: a hundred leases take a while on a busy machine."""
        for _ in range(3_000):
            if holds():
                return
            await asyncio.sleep(0.03)
        raise AssertionError(f"this never came: {what}")

    async def told(self, handle: Handle, notice: str) -> None:
        """Messages go their own way beside the lease: wait for this one."""
        await self.eventually(lambda: notice in self.notifier.kinds(handle.id), f"{notice} of {handle.id}")

    async def history(self, handle: Handle) -> list[HistoryEvent]:
        """The events of the run that the handle stands for."""
        return [event async for event in handle.fetch_history_events()]

    async def _open(self, handle: Handle) -> bool:
        found = await self.env.client.get_workflow_handle(handle.id).describe()
        return found.status is WorkflowExecutionStatus.RUNNING

    def _now(self) -> datetime:
        return activity_time() + self.late

    def _activities(self) -> Activities:
        self.directory.teams.setdefault("research", Team("research", lead=MANAGER.id))
        directory = self.directory
        providers = {**dict.fromkeys(("aws", "kubernetes"), self.cloud), **self.others}
        bookings = Booked({kind: one for kind, one in self.others.items() if hasattr(one, "book")})
        return Activities(
            RecordActivities(self.ledger, directory, lambda: self.plan, bookings),
            AssessmentActivities(
                providers,
                lambda _: self.decision,
                directory,
                self.ledger,
                activity_time,
                lambda: self.plan,
                Calendar(lambda: self.schedules, lambda: self.waking),
                bookings,
            ),
            ProvisioningActivities(providers, self.ledger, activity_time),
            MessageActivities(self.notifier, self.ledger, activity_time),
            SweepActivities(providers, self.ledger, TemporalRuns(self.env.client), self._now, lambda: self.metering),
            PeopleActivities(directory, self.ledger, TemporalRuns(self.env.client), activity_time),
            SteeredMeter(
                lambda: self.script,
                {self.telemetry.name: self.telemetry},
                self.ledger,
                TemporalRuns(self.env.client),
                directory,
                self._now,
                lambda: self.idle_plan,
                lambda: MeterSettings(self.metering or MeterSettings.every),
                Overspending(self.ledger, lambda: self.plan).found,
            ),
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
