"""Work for other queues takes the short way as long as the worker of the workflows does it too and has room."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from lessor import contracts
from lessor.contracts import Verb
from lessor.domain.lease import State
from tests.world import AT_ONCE, REQUESTER, Handle, World, idle_world
from workflows.near import Near


class Inner(WorkflowInboundInterceptor):
    """The workflow's end of the chain: keeps what it calls activities by."""

    def __init__(self) -> None:
        self.outbound: WorkflowOutboundInterceptor | None = None

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        self.outbound = outbound


class Outer(WorkflowOutboundInterceptor):
    """The server's end: remembers on which queue an activity was asked for; `None` is the workflow's own."""

    def __init__(self) -> None:
        self.queues: list[str | None] = []

    def start_activity(self, input: StartActivityInput) -> Any:
        self.queues.append(input.task_queue)


class Slow(ActivityInboundInterceptor):
    """An activity that ends when it is told to, by its argument."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.begun.set()
        return await input.args[0]


def asked(near: Near, queue: str) -> str | None:
    """The queue on which an activity for `queue` is asked for."""
    inner, outer = Inner(), Outer()
    near.workflow_interceptor_class(cast(WorkflowInterceptorClassInput, None))(inner).init(outer)
    assert inner.outbound is not None
    inner.outbound.start_activity(cast(StartActivityInput, SimpleNamespace(task_queue=queue)))
    [found] = outer.queues
    return found


@pytest.mark.parametrize("fails", [False, True])
async def test_messages_go_to_their_own_queue_while_the_worker_is_full(fails: bool) -> None:
    near, slow, answer = Near(1, [contracts.QUEUE_SLACK]), Slow(), asyncio.get_running_loop().create_future()
    assert asked(near, contracts.QUEUE_SLACK) is None
    task = begin(near, slow, answer)
    await slow.begun.wait()
    assert asked(near, contracts.QUEUE_SLACK) == contracts.QUEUE_SLACK
    if fails:
        answer.set_exception(RuntimeError("Slack is away"))
        with pytest.raises(RuntimeError):
            await task
    else:
        answer.set_result("sent")
        assert await task == "sent"
    assert asked(near, contracts.QUEUE_SLACK) is None
    assert asked(near, contracts.QUEUE_AWS) == contracts.QUEUE_AWS


async def test_local_activities_have_places_of_their_own_and_take_none() -> None:
    near, slow, answer = Near(1, [contracts.QUEUE_SLACK]), Slow(), asyncio.get_running_loop().create_future()
    task = begin(near, slow, answer, is_local=True)
    await slow.begun.wait()
    assert asked(near, contracts.QUEUE_SLACK) is None
    answer.set_result("stored")
    assert await task == "stored"


async def test_one_process_for_all_queues_does_everything_where_the_workflow_is(world: World) -> None:
    handle = await world.ask()
    await world.told(handle, "request")
    assert await queues(world, handle, "notify") == {contracts.TASK_QUEUE}
    assert await queues(world, handle, "assess") == {contracts.TASK_QUEUE}


async def test_a_cloud_that_hangs_takes_neither_the_ledger_nor_slack(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two launches where the workflows are and four on the cloud's own queue leave no room for more of them."""
    monkeypatch.setattr("workflows.worker.CONCURRENCY", 4)
    answers = threading.Event()

    def hangs() -> None:
        answers.wait(300)

    async with idle_world(server) as world, world.working():
        world.cloud.before["launch"] = hangs
        first = await world.ask()
        await world.until(first, State.AWAITING_APPROVAL)
        world.decision = AT_ONCE
        try:
            async with asyncio.timeout(120):
                for launches in range(1, 7):
                    await world.ask()
                    await launched(world, launches)
                assert (await world.act(first, Verb.WITHDRAW, REQUESTER)).ok
                await world.told(first, "decided")
        finally:
            answers.set()


async def test_split_processes_keep_to_their_queues(server: WorkflowEnvironment) -> None:
    async with (
        idle_world(server) as world,
        world.working(queues=("lessor", "aws")),
        world.working(queues=("slack",)),
    ):
        handle = await world.ask()
        await world.told(handle, "request")
        assert await queues(world, handle, "notify") == {contracts.QUEUE_SLACK}
        assert await queues(world, handle, "assess") == {contracts.TASK_QUEUE}


async def launched(world: World, times: int) -> None:
    """Wait until the cloud was asked so often for a machine."""
    await world.eventually(lambda: world.cloud.times("launch") == times, f"{times} launches")


def begin(near: Near, slow: Slow, answer: asyncio.Future[str], *, is_local: bool = False) -> asyncio.Task[Any]:
    """An activity that this worker has under way until `answer` is there."""
    env = ActivityEnvironment()
    env.info = replace(env.info, is_local=is_local)
    wanted = cast(ExecuteActivityInput, SimpleNamespace(args=[answer]))
    return asyncio.ensure_future(env.run(near.intercept_activity(slow).execute_activity, wanted))


async def queues(world: World, handle: Handle, name: str) -> set[str]:
    """Where the lease's activities of this name were scheduled."""
    found = [
        event.activity_task_scheduled_event_attributes
        for event in await world.history(handle)
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]
    return {one.task_queue.name for one in found if one.activity_type.name == name}
