"""Cases B07, B09, B10, B12 and B13: whatever is repeated, overlaps or comes too early has one effect."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from lessor import contracts
from lessor.contracts import LeaseInput, Verb
from lessor.domain.lease import State
from lessor.domain.records import Submission
from lessor.domain.request import Need, Request, Workload
from lessor.domain.terms import Terms
from lessor.engine import TakenError, TemporalEngine
from lessor.ports import RetryableError
from tests.builders import a_quota, tiny_terms
from tests.temporal import dev_server
from tests.world import AT_ONCE, MANAGER, PLACE, REQUESTER, World, busy_world

MINUTE = timedelta(minutes=1)
EAGER = ("limit.historyCount.suggestContinueAsNew=12",)


def a_submission(lease_id: str, interaction: str = "click-1") -> Submission:
    request = Request(
        REQUESTER.id,
        "research",
        "train the ranking model",
        Workload.TRAINING,
        Need("A10G", 1),
        PLACE,
        duration=timedelta(hours=8),
        interaction=interaction,
    )
    return Submission(interaction, lease_id, request, datetime(2026, 11, 27, tzinfo=UTC))


async def test_B07_continue_as_new_with_work_in_flight() -> None:
    """The server suggests it after a dozen events; while something is provisioned nobody follows."""
    reached, go = threading.Event(), threading.Event()
    async with dev_server(*EAGER) as env, busy_world(env) as leases:

        def hold() -> None:
            reached.set()
            assert go.wait(60)

        leases.terms = tiny_terms()
        leases.cloud.before["await_usable"] = hold
        handle = await leases.ask(duration=timedelta(seconds=2))
        await leases.until(handle, State.AWAITING_APPROVAL)
        assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
        assert await asyncio.to_thread(reached.wait, 60)
        latest = env.client.get_workflow_handle(handle.id)
        during = await latest.describe()
        for _ in range(10):
            assert (await leases.act(handle, Verb.KEEP, REQUESTER)).code == "wrong-state"
        after = await latest.describe()
        assert after.run_id == during.run_id
        assert after.raw_description.workflow_execution_info.history_length > 12
        go.set()
        assert (await handle.result()).state == "closed"
        assert len(leases.cloud.machines) == 1
        assert (await latest.describe()).run_id != during.run_id
        first = leases.ledger.events(handle.id)[0]
        assert (first.event.type, leases.events(handle).count("ready")) == ("requested", 1)


async def test_B09_approval_sent_before_the_workflow_waits_for_it(leases: World) -> None:
    handle = await leases.ask()
    assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
    await leases.until(handle, State.ACTIVE)
    assert leases.events(handle)[:5] == ["requested", "assessed", "asked", "approval-given", "approved"]


async def test_B10_start_twice(leases: World) -> None:
    """A used id gives the first request's lease, whether its workflow runs, has completed or was terminated."""
    engine = TemporalEngine(leases.env.client, Terms)
    kept = a_submission("gpu-b10b10b1")
    assert await engine.start(kept) is True
    handle = leases.env.client.get_workflow_handle(kept.lease_id)
    assert await engine.start(kept) is False
    await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.act(handle, Verb.WITHDRAW, REQUESTER)
    await handle.result()
    assert await engine.start(kept) is False
    assert (await handle.describe()).status is WorkflowExecutionStatus.COMPLETED
    ended = a_submission("gpu-b10b10b2", "click-2")
    assert await engine.start(ended) is True
    await leases.env.client.get_workflow_handle(ended.lease_id).terminate()
    assert await engine.start(ended) is False
    with pytest.raises(TakenError):
        await engine.start(a_submission(kept.lease_id, "click-3"))
    assert leases.cloud.times("launch") == 0
    assert leases.ledger.held("research") == ()


@pytest.mark.filterwarnings("ignore:coroutine .*run_workflow.* was never awaited:RuntimeWarning")
async def test_B10_start_after_a_failed_run(leases: World) -> None:
    kept = a_submission("gpu-b10b10b3")
    handle = await leases.env.client.start_workflow(
        contracts.LEASE_WORKFLOW,
        LeaseInput(kept.lease_id),
        id=kept.lease_id,
        task_queue=contracts.TASK_QUEUE,
        memo={contracts.MEMO_INTERACTION: kept.interaction},
    )
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert await TemporalEngine(leases.env.client, Terms).start(kept) is False
    assert (await handle.describe()).status is WorkflowExecutionStatus.FAILED
    assert leases.ledger.lease(kept.lease_id) is None


async def test_B12_retry_repeats_a_side_effect(leases: World) -> None:
    """Twenty launches, stops and deletions have their effect, and the answer never comes."""
    leases.allow(a_quota("research", 20))
    leases.decision = AT_ONCE
    for call in ("launch", "stop", "delete"):
        leases.cloud.lose[call] = [RetryableError("the worker died before it could answer") for _ in range(20)]
    handles = [await leases.ask() for _ in range(20)]
    for handle in handles:
        await leases.until(handle, State.ACTIVE)
    assert {len(leases.cloud.alive(handle.id)) for handle in handles} == {1}
    assert len(leases.cloud.machines) == 20
    for handle in handles:
        [recorded] = leases.ledger.resources(handle.id)
        [intent] = leases.ledger.intents(handle.id)
        assert ([recorded.id], intent.confirmed) == ([m.id for m in leases.cloud.alive(handle.id)], False)
    outcomes = [await handle.result() for handle in handles]
    assert {outcome.state for outcome in outcomes} == {"closed"}
    assert leases.cloud.lose["launch"] == leases.cloud.lose["stop"] == leases.cloud.lose["delete"] == []
    assert len(leases.cloud.machines) == 20
    for handle in handles:
        kinds = leases.notifier.kinds(handle.id)
        assert (kinds.count("ready"), kinds.count("closed")) == (1, 1)
        events = leases.events(handle)
        assert [events.count(kind) for kind in ("requested", "approved", "ready", "ended", "closed")] == [1] * 5


async def test_B13_timed_out_attempt_keeps_running_beside_its_retry() -> None:
    """Two attempts of one launch overlap: the first is given up by the server while its thread still acts."""
    reached, go = threading.Event(), threading.Event()
    async with dev_server() as env, busy_world(env) as leases:

        def hang() -> None:
            leases.cloud.before.pop("launch")
            reached.set()
            assert go.wait(60)

        leases.decision, leases.terms = AT_ONCE, tiny_terms()
        leases.cloud.before["launch"] = hang
        handle = await leases.ask(duration=timedelta(seconds=2))
        assert await asyncio.to_thread(reached.wait, 60)
        await give_up_attempt(leases, handle.id)
        await leases.eventually(lambda: bool(leases.cloud.machines), "the second attempt's machine")
        go.set()
        await leases.until(handle, State.ACTIVE, State.ENDING, State.STOPPED)
        assert leases.cloud.times("launch") == 2
        assert (await handle.result()).state == "closed"
        assert len(leases.cloud.machines) == 1
        started = [event.activity_task_started_event_attributes for event in await leases.history(handle)]
        assert max(one.attempt for one in started) == 2


async def give_up_attempt(leases: World, lease_id: str) -> None:
    """What the server does when an attempt times out: it is over there, whatever its thread does."""
    [pending] = [
        one
        for one in (await leases.env.client.get_workflow_handle(lease_id).describe()).raw_description.pending_activities
        if one.activity_type.name == "provision"
    ]
    attempt = leases.env.client.get_async_activity_handle(
        workflow_id=lease_id, run_id=None, activity_id=pending.activity_id
    )
    await attempt.fail(ApplicationError("no sign of life for two minutes"))
