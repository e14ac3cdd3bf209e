"""Ticks of the meter in a world of leases, as the schedule starts them."""

from __future__ import annotations

from datetime import timedelta

from lessor import contracts
from lessor.contracts import MeterInput, MeterReport
from tests.world import NUMBERS, World

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


async def ticks(world: World, count: int, every: timedelta = MINUTE) -> MeterReport:
    """So many, each as much later than the one before; the last one's report."""
    for _ in range(count):
        await world.sleep(every)
        report = await tick(world, every)
    return report
