"""How the workers are set up."""

from __future__ import annotations

from datetime import timedelta

from temporalio.testing import WorkflowEnvironment

from tests.world import idle_world


async def test_thousands_of_leases_may_wait_for_the_worker_that_holds_them(server: WorkflowEnvironment) -> None:
    """After the SDK's 10 s the last of 2,000 ends was noticed twice as late as a bare timer (docs/benchmarks.md)."""
    async with idle_world(server) as world, world.working(queues=["lessor"]) as (worker,):
        assert worker.config()["sticky_queue_schedule_to_start_timeout"] == timedelta(seconds=90)
