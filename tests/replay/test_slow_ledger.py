"""A ledger that hangs for longer than a workflow task may take: what is recorded then can be replayed all the same.

The task is renewed meanwhile, and a replay reads the later time where the first run read the earlier one. A lease that
judged its timers by the clock alone would decide something else then, and its workflow would be stuck for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from lessor.contracts import Verb
from lessor.domain.lease import Event, Lease, State
from tests.replay.moves import Gate, held
from tests.replay.test_replay import replayer
from tests.temporal import time_skipping
from tests.world import MANAGER, Handle, World, busy_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with time_skipping() as env, busy_world(env) as made:
        made.task_timeout = timedelta(seconds=1)
        yield made


async def test_what_was_recorded_slowly_replays_and_ends_at_its_time(world: World, monkeypatch: Any) -> None:
    with held() as gate:
        monkeypatch.setattr(world.ledger, "record", slowly(world.ledger.record, gate, "ready"))
        handle = await world.ask()
        await world.until(handle, State.AWAITING_APPROVAL)
        assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
        await gate.reached()
        await renewed(world, handle)
    lease = await world.until(handle, State.ACTIVE)
    assert (await handle.result()).state == "closed"
    history = await handle.fetch_history()
    await replayer().replay_workflow(history)
    assert lease.ends_at == lease.ready_at + timedelta(hours=8)


def slowly(record: Callable[..., None], gate: Gate, event: str) -> Callable[..., None]:
    """Recording this event waits at the gate."""

    def recorded(lease: Lease, events: Sequence[Event], *rest: Any) -> None:
        if any(one.type == event for one in events):
            gate.pass_through()
        record(lease, events, *rest)

    return recorded


async def renewed(world: World, handle: Handle) -> None:
    """Wait until the workflow task that is under way was given out anew twice."""
    before = await tasks(world, handle)
    for _ in range(2_000):
        if await tasks(world, handle) >= before + 2:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the workflow task was never renewed")


async def tasks(world: World, handle: Handle) -> int:
    """How many workflow tasks the lease has had."""
    done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    return sum(1 for event in await world.history(handle) if event.event_type == done)
