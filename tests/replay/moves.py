"""Moves that many stories make."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from temporalio.client import WorkflowHandle

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.people import Person
from tests.world import REQUESTER, Handle, World

Runs = Sequence[WorkflowHandle[Any, Any]]
Story = Callable[[World], Awaitable[Runs]]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


async def asked(world: World) -> Handle:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.told(handle, "request")
    return handle


async def do(world: World, handle: Handle, verb: Verb, by: Any = REQUESTER, **details: object) -> None:
    answer = await world.act(handle, verb, by, **details)
    assert answer.ok, answer.message


async def finished(handle: Handle, state: str) -> Runs:
    outcome = await handle.result()
    assert outcome.state == state, outcome
    return [handle]


async def used_and_released(world: World, handle: Handle, by: Person = REQUESTER) -> Runs:
    """Once it is active it is given back twice: what is stopped by the first need not wait to be deleted."""
    await world.until(handle, State.ACTIVE)
    await do(world, handle, Verb.RELEASE, by)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RELEASE, by)
    return await finished(handle, "closed")


def run(world: World, workflow_id: str, run_id: str | None = None) -> WorkflowHandle[Any, Any]:
    return world.env.client.get_workflow_handle(workflow_id, run_id=run_id)


async def every_run(world: World, workflow_id: str, run_id: str) -> Runs:
    """The run and those that it was continued as, of which there has to be one."""
    runs = [run(world, workflow_id, run_id)]
    while following := await _continued_as(runs[-1]):
        runs.append(run(world, workflow_id, following))
    assert len(runs) > 1, "it was never continued as new"
    return runs


async def _continued_as(one: WorkflowHandle[Any, Any]) -> str:
    last = (await one.fetch_history()).events[-1]
    return last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id


class Gate:
    """Holds a thread of the cloud's until it is opened."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._open.wait(60), "nobody opened the gate"

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 60), "nobody came to the gate"

    def open(self) -> None:
        self._open.set()


@contextmanager
def held() -> Iterator[Gate]:
    """A gate that is open after the block."""
    gate = Gate()
    try:
        yield gate
    finally:
        gate.open()
