"""What a worker knows of its cache, and that it searches for garbage when much has left it."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import WorkflowInstance

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.garbage import NEVER, Turnover
from tests.world import REQUESTER, idle_world
from workflows.runner import ContextFree
from workflows.worker import begin_tidying


def activation(*jobs: str) -> WorkflowActivation:
    act = WorkflowActivation(run_id="run")
    for job in jobs:
        getattr(act.jobs.add(), job).SetInParent()
    return act


class Workflow(WorkflowInstance):
    """One that says that it has nothing to do, or breaks."""

    def __init__(self, breaks: bool = False) -> None:
        self._breaks = breaks

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        if self._breaks:
            raise RuntimeError("broken")
        return WorkflowActivationCompletion(run_id=act.run_id)

    def get_serialization_context(self, command_info: Any) -> None:
        raise NotImplementedError

    get_external_store_context = get_info = get_thread_id = get_serialization_context  # type: ignore[assignment]


def test_workflows_that_leave_the_cache_are_counted_and_nobody_else() -> None:
    turnover = Turnover()
    workflow = ContextFree(Workflow(), turnover)
    for jobs in (("initialize_workflow",), ("fire_timer", "do_update"), ("remove_from_cache",), ()):
        workflow.activate(activation(*jobs))
    assert turnover.thrown() == 1


def test_one_that_cannot_leave_the_cache_yet_has_not_left() -> None:
    turnover = Turnover()
    with pytest.raises(RuntimeError, match="broken"):
        ContextFree(Workflow(breaks=True), turnover).activate(activation("remove_from_cache"))
    assert turnover.thrown() == 0
    assert not turnover.silent_for(3_600)


async def test_a_worker_tells_of_each_workflow_that_leaves_its_cache(server: WorkflowEnvironment) -> None:
    turnover = Turnover()
    async with idle_world(server) as world, world.working(turnover=turnover):
        assert turnover.silent_for(0)
        handle = await world.ask()
        await world.until(handle, State.AWAITING_APPROVAL)
        assert turnover.thrown() == 0
        assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
        await handle.result()
        async with asyncio.timeout(60):
            while turnover.thrown() == 0:  # noqa: ASYNC110 - another thread sets no event of ours
                await asyncio.sleep(0.01)
        assert turnover.thrown() == 1


async def test_a_fourth_of_the_cache_may_leave_before_garbage_is_searched_for(
    collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lessor.garbage.QUIET_SECONDS", 0)
    searches: list[int] = []
    turnover = Turnover()
    tidying = begin_tidying(turnover, 8)
    assert gc.get_threshold()[2] == NEVER
    monkeypatch.setattr("lessor.garbage.gc.collect", lambda: searches.append(turnover.thrown()))
    for _ in range(5):
        turnover.seen(thrown=1)
        for _ in range(3):
            await asyncio.sleep(0)
    assert searches == [2, 4]
    tidying.cancel()
