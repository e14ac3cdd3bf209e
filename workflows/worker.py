"""Builds the workers: one per task queue, all in one process by default, so that a busy cloud never starves Slack."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Interceptor, Worker
from temporalio.worker.workflow_sandbox import SandboxRestrictions

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.meter import MeterActivities
from activities.people import PeopleActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sizes import SizeLimit
from activities.sweep import SweepActivities
from lessor import contracts
from lessor.garbage import Tidying, Turnover, settle
from workflows.lean import Lean
from workflows.lease import LeaseWorkflow
from workflows.meter import MeterWorkflow
from workflows.near import Near
from workflows.people import PeopleSweepWorkflow
from workflows.runner import ContextFreeRunner
from workflows.sweep import SweepWorkflow

QUEUES = {
    "lessor": contracts.TASK_QUEUE,
    "aws": contracts.QUEUE_AWS,
    "kubernetes": contracts.QUEUE_KUBERNETES,
    "machines": contracts.QUEUE_MACHINES,
    "slack": contracts.QUEUE_SLACK,
}
"""The names for `--queues`, with the task queues that they stand for."""

PROVIDERS = ("aws", "kubernetes", "machines")
"""Those of them that hold one kind of place each."""

CONCURRENCY = 64
"""Activities at once in each queue, and local ones as well."""

CACHED = 1_000
"""Workflows that a worker keeps in memory between their tasks; the others are played back when they have one."""

SHARE = 4
"""When a fourth of what the cache may hold has left it, garbage is searched for at once."""

IN_CACHE = timedelta(seconds=90)
"""How long a workflow task waits for the worker that has the workflow in its cache before any other gets it.

Then it comes with the whole history, from a queue that is asked only when nothing else is left to do. When thousands of
leases end at the same instant, the SDK's 10 s are over before the first task of each is done, and the last end would be
noticed more than twice as late. After a crash, what was meant for the dead worker in its last moments waits so long.
"""

PASSED_THROUGH = (
    *("pydantic", "pydantic_core", "annotated_types", "lessor", "activities", "structlog", "celpy"),
    *(
        "workflows.acts",
        "workflows.book",
        "workflows.calls",
        "workflows.details",
        "workflows.entity",
        "workflows.lease",
        "workflows.life",
        "workflows.notices",
        "workflows.updates",
        "workflows.owning",
        "workflows.people_calls",
        "workflows.rhythm",
        "workflows.using",
        "workflows.lasting",
        "workflows.late",
        "workflows.extending",
        "workflows.idling",
        "workflows.meter_calls",
        "workflows.spending",
        "workflows.watching",
        "workflows.tick_calls",
    ),
)
"""Modules that the sandbox shares between workflows instead of loading them for each; ours hold no state.

A lease's own modules are among them, since each cached lease would hold some 100 KiB of their code otherwise, and a
lease would take 6 ms of CPU to load.
"""

WORKFLOWS = (LeaseWorkflow, SweepWorkflow, PeopleSweepWorkflow, MeterWorkflow)
"""All of ours; replays of stored histories use the same, in the same sandbox."""


@dataclass(frozen=True)
class Activities:
    """One of each, holding the ports that the entry point chose."""

    record: RecordActivities
    assessment: AssessmentActivities
    provisioning: ProvisioningActivities
    messages: MessageActivities
    sweep: SweepActivities
    people: PeopleActivities
    meter: MeterActivities


def activity_threads(queues: Iterable[str] = tuple(QUEUES)) -> ThreadPoolExecutor:
    """A thread for whatever workers of these queues have under way at once; they are made when they are needed.

    With fewer, a cloud that hangs would take the ledger's, and no lease could go on.
    """
    return ThreadPoolExecutor(CONCURRENCY * (len(tuple(queues)) + 1), thread_name_prefix="activity")


def build_workers(
    client: Client,
    activities: Activities,
    threads: ThreadPoolExecutor,
    *,
    queues: Iterable[str] = tuple(QUEUES),
    max_cached_workflows: int = CACHED,
    turnover: Turnover | None = None,
) -> list[Worker]:
    """Workers for the named queues, on `activity_threads` of them. Raises ValueError for a name not in `QUEUES`.

    `turnover` is told whenever a workflow has something to do, and of each that leaves the cache.
    """
    names = list(queues)
    unknown = [name for name in names if name not in QUEUES]
    if unknown:
        raise ValueError(f"unknown queue {unknown[0]!r}; known are {', '.join(QUEUES)}")
    found = {name: _activities_of(name, activities) for name in names}
    near = [name for name in names if name != "lessor"]
    if "lessor" in names:
        # Places of different kinds share their activities.
        found["lessor"] = list(dict.fromkeys(one for name in ("lessor", *near) for one in found[name]))
    runner = workflow_runner(turnover or Turnover())
    return [_worker(client, name, found[name], threads, max_cached_workflows, near, runner) for name in names]


def begin_tidying(turnover: Turnover, cached: int = CACHED) -> asyncio.Future[None]:
    """Call it before the workers start, with what they tell and how many workflows they may cache.

    What they cached before would be held for ever.
    Searches for garbage until it is cancelled: a workflow that leaves the cache leaves thousands of objects that hold
    each other.
    """
    settle()
    most = max(cached // SHARE, 1)
    return asyncio.ensure_future(Tidying(turnover.silent_for, turnover.thrown, most).keep())


def workflow_runner(turnover: Turnover) -> ContextFreeRunner:
    """The sandbox in which our workflows run, in production and when a stored history is replayed."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
    return ContextFreeRunner(restrictions=restrictions, turnover=turnover)


def _worker(
    client: Client,
    name: str,
    activities: Sequence[Callable[..., Any]],
    threads: ThreadPoolExecutor,
    max_cached_workflows: int,
    near: Sequence[str],
    runner: ContextFreeRunner,
) -> Worker:
    interceptors: list[Interceptor] = [SizeLimit()]
    if name == "lessor":
        interceptors += [Near(CONCURRENCY // 2, [QUEUES[one] for one in near]), Lean()]
    return Worker(
        client,
        task_queue=QUEUES[name],
        workflows=WORKFLOWS if name == "lessor" else [],
        activities=activities,
        activity_executor=threads,
        interceptors=interceptors,
        workflow_runner=runner,
        max_cached_workflows=max_cached_workflows if name == "lessor" else 0,
        max_concurrent_activities=CONCURRENCY,
        max_concurrent_local_activities=CONCURRENCY,
        sticky_queue_schedule_to_start_timeout=IN_CACHE,
        graceful_shutdown_timeout=timedelta(seconds=10),
        max_heartbeat_throttle_interval=timedelta(seconds=10),
    )


def _activities_of(name: str, found: Activities) -> Sequence[Callable[..., Any]]:
    record, work, message, sweep = found.record, found.provisioning, found.messages, found.sweep
    meter = found.meter
    places: list[Callable[..., Any]] = [
        found.assessment.assess,
        work.provision,
        work.stop,
        work.start,
        work.take_down,
        work.look,
        work.set_end,
        work.set_owner,
        sweep.read_place,
        sweep.attribute,
    ]
    by_queue: dict[str, list[Callable[..., Any]]] = {
        "lessor": [
            record.record,
            record.reserve,
            record.commit,
            record.give_back,
            record.identify,
            found.assessment.weigh,
            found.assessment.staff,
            sweep.resume_lost,
            found.people.payer,
            found.people.sweep_people,
            meter.tick,
            meter.look_again,
            meter.clear_to_stop,
            meter.check_budgets,
            meter.tidy,
        ],
        **dict.fromkeys(PROVIDERS, places),
        "slack": [message.notify, message.page],
    }
    return by_queue[name]
