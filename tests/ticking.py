"""Ticks of the meter in a world of leases, as the schedule starts them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from lessor import contracts
from lessor.contracts import MeterInput, MeterReport
from tests.world import NUMBERS, Handle, World

MINUTE = timedelta(minutes=1)


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
    """So many, each as much later than the one before; the last one's report.

    What `leases` do is awaited in between: a clock that is moved on would let a look that is under way run out of time.
    """
    for _ in range(count):
        await world.sleep(every)
        await _settled(leases)
        report = await tick(world, every)
        await _settled(leases)
    return report


async def _settled(leases: Sequence[Handle]) -> None:
    """Wait until none of them waits for an activity."""
    for handle in leases:
        for _ in range(1_000):
            found = await handle.describe()
            if not found.raw_description.pending_activities:
                break
            await asyncio.sleep(0.005)
        else:
            raise AssertionError(f"{handle.id} still waits for {found.raw_description.pending_activities}")
