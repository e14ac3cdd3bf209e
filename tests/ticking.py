"""Ticks of the meter in a world of leases, as the schedule starts them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio.api.enums.v1 import EventType

from lessor import contracts
from lessor.contracts import MeterInput, MeterReport
from tests.world import NUMBERS, Handle, World
from workflows.meter import floored

MINUTE = timedelta(minutes=1)
BEGUN = (EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
ENDED = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
)
CHANGES = {**dict.fromkeys(BEGUN, 1), **dict.fromkeys(ENDED, -1)}
"""Of how many tasks are under way. The time-skipping server's description leaves workflow tasks out."""


async def tick(world: World, every: timedelta = MINUTE) -> MeterReport:
    """One tick; the clock stands still meanwhile."""
    with world.env.auto_time_skipping_disabled():
        report: MeterReport = await world.env.client.execute_workflow(
            contracts.METER_WORKFLOW,
            MeterInput(every),
            id=f"meter-{next(NUMBERS)}",
            task_queue=contracts.TASK_QUEUE,
            result_type=MeterReport,
        )
        return report


async def ticks(world: World, count: int, every: timedelta = MINUTE, leases: Sequence[Handle] = ()) -> MeterReport:
    """So many, one after the other, at the instants at which the schedule has them; the last one's report.

    Were each only `every` after the one before, they would come later and later, by what a test itself takes, and one
    would be left out in the end. What `leases` do is awaited in between: a clock that is moved on would let a look that
    is under way run out of time.
    """
    for _ in range(count):
        now = await world.env.get_current_time()
        await world.sleep(floored(now, every) + every - now)
        await _settled(world, leases)
        report = await tick(world, every)
        await _settled(world, leases)
    return report


async def _settled(world: World, leases: Sequence[Handle]) -> None:
    """Wait until none of them has a workflow task under way or waits for an activity."""
    for handle in leases:
        for _ in range(1_000):
            under_way = sum(CHANGES.get(event.event_type, 0) for event in await world.history(handle))
            if not under_way:
                break
            await asyncio.sleep(0.005)
        else:
            raise AssertionError(f"{handle.id} still has {under_way} tasks under way")
