"""What a worker knows of its cache, and that it searches for garbage when much has left it."""

from __future__ import annotations

import asyncio
import gc

import pytest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.testing import WorkflowEnvironment

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.garbage import NEVER
from tests.world import REQUESTER, idle_world
from workflows.turnover import Turnover, begin_tidying


def activation(*jobs: str) -> WorkflowActivation:
    act = WorkflowActivation(run_id="run")
    for job in jobs:
        getattr(act.jobs.add(), job).SetInParent()
    return act


def test_workflows_that_leave_the_cache_are_counted_and_nobody_else() -> None:
    turnover = Turnover()
    for jobs in (("initialize_workflow",), ("fire_timer", "do_update"), ("remove_from_cache",), ()):
        turnover.seen(activation(*jobs))
    assert turnover.left == 1


def test_it_is_silent_once_no_workflow_has_had_anything_to_do_for_so_long() -> None:
    now = 100.0
    turnover = Turnover(lambda: now)
    assert turnover.silent_for(2)
    turnover.seen(activation("fire_timer"))
    now = 102.0
    assert not turnover.silent_for(2)
    now = 102.1
    assert turnover.silent_for(2)


async def test_a_worker_tells_of_each_workflow_that_leaves_its_cache(server: WorkflowEnvironment) -> None:
    turnover = Turnover()
    async with idle_world(server) as world, world.working(turnover=turnover):
        assert turnover.silent_for(0)
        handle = await world.ask()
        await world.until(handle, State.AWAITING_APPROVAL)
        assert turnover.left == 0
        assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
        await handle.result()
        async with asyncio.timeout(60):
            while turnover.left == 0:  # noqa: ASYNC110 - another thread sets no event of ours
                await asyncio.sleep(0.01)
        assert turnover.left == 1


async def test_a_fourth_of_the_cache_may_leave_before_garbage_is_searched_for(
    collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lessor.garbage.QUIET_SECONDS", 0)
    searches: list[int] = []
    turnover = Turnover()
    tidying = begin_tidying(turnover, 8)
    assert gc.get_threshold()[2] == NEVER
    monkeypatch.setattr("lessor.garbage.gc.collect", lambda: searches.append(turnover.left))
    for _ in range(5):
        turnover.seen(activation("remove_from_cache"))
        for _ in range(3):
            await asyncio.sleep(0)
    assert searches == [2, 4]
    tidying.cancel()
