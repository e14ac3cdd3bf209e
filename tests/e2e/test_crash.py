"""SIGKILL for the worker at each boundary of provisioning and of deletion: exactly the right things remain."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.sandbox.aws.server import RunningSimulator
from tests.e2e.crashing import Crashing, crashing

pytestmark = pytest.mark.timeout(400)

SECOND = timedelta(seconds=1)
WHOLE_LIFE = {"requested", "approved", "provisioning", "ready", "ended", "stopped", "deleting", "closed"}
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


async def every_lease_had_one_machine_that_is_gone(here: Crashing) -> None:
    outcomes = await asyncio.gather(*(here.outcome(lease) for lease in here.asked))
    assert [outcome.state for outcome in outcomes] == ["closed"] * len(here.asked)
    for lease in here.asked:
        [machine] = here.aws.controls.instances(lease)
        assert machine["state"] == "terminated"
        events = here.events(lease)
        assert len(events) == len(set(events) - {"warned"}) + events.count("warned")
        assert {"requested", "approved", "provisioning", "ready", "ended", "stopped", "deleting", "closed"} <= set(
            events
        )
    assert here.aws.controls.leftovers() == []
    assert here.aws.controls.calls("RunInstances", "") == len(here.asked)
    assert here.ledger.held() == ()
    assert here.ledger.verify().problems == ()
