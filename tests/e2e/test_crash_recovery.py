"""SIGKILL for the worker after the launch, and again and again wherever it strikes: exactly the right things remain.

Apart from `test_crash`, so that two processes of a test run share what takes minutes.
"""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.sandbox.aws.server import RunningSimulator
from tests.e2e.crashing import crashing, every_lease_had_one_machine_that_is_gone

pytestmark = pytest.mark.timeout(400)

SECOND = timedelta(seconds=1)


async def test_killed_after_the_launch_the_machine_is_adopted(running_aws: RunningSimulator, tmp_path: Path) -> None:
    """The launch is on record as intended and not as done; the next attempt finds the machine instead of another."""
    async with crashing(running_aws, tmp_path) as here:
        await here.start()
        lease = await here.ask(SECOND)
        await here.kill_in("RunInstances")
        [machine] = running_aws.controls.instances(lease)
        [intent] = here.ledger.intents(lease)
        assert (intent.confirmed, here.ledger.resources(lease)) == (False, ())
        await here.start()
        assert (await here.outcome(lease)).state == "closed"
        assert machine["id"] in {resource.id for resource in here.ledger.resources(lease)}
        await every_lease_had_one_machine_that_is_gone(here)


async def test_killed_again_and_again_every_lease_ends_with_one_machine_gone(
    running_aws: RunningSimulator, tmp_path: Path
) -> None:
    """Wherever the kill strikes: between two activities, inside of one, while people are told."""
    draw = random.Random(12)
    async with crashing(running_aws, tmp_path) as here:
        for _ in range(5):
            await here.start()
            for _ in range(2):
                await here.ask(SECOND)
            await asyncio.sleep(draw.uniform(0.3, 3.0))
            await here.kill()
        await here.start()
        await every_lease_had_one_machine_that_is_gone(here)
