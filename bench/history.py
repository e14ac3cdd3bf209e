"""How much history a long lease leaves: thirty days with warnings and ten extensions, on the time-skipping server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import datetime, timedelta

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from bench.people import AUTOMATIC, requester, submission
from bench.result import Result
from bench.worker import ports_of
from lessor.contracts import QUERY_LEASE, Act, Answer, LeaseOutcome, Verb
from lessor.domain.lease import Lease, State
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine
from tests.temporal import time_skipping
from workflows.worker import activity_threads, build_workers

LEASE_ID = "gpu-00000001"
WARNED_AT = 10_240
"""Events at which Temporal warns of a history."""

EXTENSIONS = 10
FIRST, STEP = timedelta(days=10), timedelta(days=2)


async def run(scale: float) -> list[Result]:
    """`scale` changes nothing: it takes a few seconds."""
    async with time_skipping() as env, AsyncExitStack() as stack:
        threads = stack.enter_context(activity_threads())
        for worker in build_workers(env.client, ports_of(env.client, "sqlite://", _server_time), threads):
            await stack.enter_async_context(worker)
        events, runs = await _live(env)
    return [
        Result("events of a 30-day lease with 10 extensions, all runs", events, "events", 0.2, WARNED_AT),
        Result("runs of that lease", runs, "runs"),
    ]


async def _live(env: WorkflowEnvironment) -> tuple[int, int]:
    """A lease extended before each of its ends, until it is thirty days long and closes; its events and runs."""
    await TemporalEngine(env.client, lambda: Terms(auto_extensions=EXTENSIONS)).start(
        submission(LEASE_ID, duration=FIRST, purpose=AUTOMATIC)
    )
    handle = env.client.get_workflow_handle(LEASE_ID, result_type=LeaseOutcome)
    lease = await _active(env, handle)
    first_end = lease.ends_at
    for number in range(EXTENSIONS):
        assert lease.ends_at is not None
        await env.sleep(STEP - timedelta(hours=1) if number else FIRST - timedelta(hours=1))
        until = lease.ends_at + STEP
        act = Act(f"extend-{number}", Verb.EXTEND, requester(LEASE_ID).id, until=until)
        answer = await handle.execute_update(act.verb.value, act, id=act.id, result_type=Answer)
        if not answer.ok:
            raise RuntimeError(answer.message)
        lease = await handle.query(QUERY_LEASE, result_type=Lease)
    assert first_end is not None
    if lease.ends_at != first_end + EXTENSIONS * STEP:
        raise RuntimeError(f"the lease ends at {lease.ends_at} after its extensions")
    await env.sleep(timedelta(days=40))
    if (await handle.describe()).status is not WorkflowExecutionStatus.COMPLETED:
        raise RuntimeError("the lease has not closed")
    return await _count(env, (await handle.describe()).run_id)


async def _count(env: WorkflowEnvironment, run_id: str) -> tuple[int, int]:
    """Events and runs, from the last run back to the first."""
    events, runs = 0, 0
    while run_id:
        history = await env.client.get_workflow_handle(LEASE_ID, run_id=run_id).fetch_history()
        events, runs = events + len(history.events), runs + 1
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return events, runs


async def _active(env: WorkflowEnvironment, handle: WorkflowHandle[object, LeaseOutcome]) -> Lease:
    while True:
        lease: Lease = await handle.query(QUERY_LEASE, result_type=Lease)
        if lease.state is State.ACTIVE:
            return lease
        await env.sleep(timedelta(seconds=1))


def _server_time() -> datetime:
    return activity.info().started_time
