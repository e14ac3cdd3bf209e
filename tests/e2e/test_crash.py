"""SIGKILL for the worker at each boundary of provisioning and of deletion: exactly the right things remain."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lessor.sandbox.aws.server import RunningSimulator
from tests.e2e.crashing import crashing, every_lease_had_one_machine_that_is_gone

pytestmark = pytest.mark.timeout(400)

SECOND = timedelta(seconds=1)
PROVISIONING = ("GetProducts", "DescribeSnapshots", "GetParameter", "CreateSecurityGroup", "RunInstances", "CreateTags")
DELETION = ("StopInstances", "TerminateInstances", "DescribeVolumes")
"""Calls in the order in which a lease makes them: price, look for what exists, image, network, launch, end date; stop,
terminate, look for what is left."""


async def test_killed_between_every_call_and_its_answer_every_lease_ends_with_one_machine_gone(
    running_aws: RunningSimulator, tmp_path: Path
) -> None:
    """Each kill also strikes the leases that are just recovering from the ones before."""
    async with crashing(running_aws, tmp_path) as here:
        for action in (*PROVISIONING, *DELETION):
            await here.start()
            await here.ask(SECOND)
            await here.kill_in(action)
        await here.start()
        await every_lease_had_one_machine_that_is_gone(here)
