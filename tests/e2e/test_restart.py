"""Leases outlive the programs: a crash of the worker, and a restart of everything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.ids import Do
from lessor.domain.lease import State
from lessor.sandbox.demo_evidence import opened
from lessor.sandbox.demo_players import Players, lease_of
from lessor.sandbox.slack import SandboxClient
from tests.e2e.running import Running, demo_policy, running

pytestmark = pytest.mark.timeout(400)


async def test_a_request_survives_a_restart_and_a_crash_of_the_worker(tmp_path: Path) -> None:
    data = tmp_path / "data"
    demo_policy(data, {"lapse_after": "10min"})
    with running(data) as first:
        lease_id = await _ask(first)
        assert await asyncio.to_thread(first.stop) == 0
    with running(data) as second:
        async with SandboxClient(second.slack_url) as slack, opened(second) as evidence:
            waiting = await evidence.lease_when(lease_id, lambda lease: True)
            assert waiting.state is State.AWAITING_APPROVAL
            second.child("workflows").kill()
            await _approve(slack, lease_id)
            async with asyncio.timeout(180):
                lease = await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
            assert (await evidence.happened(lease_id)).count("approved") == 1
            assert len(await evidence.instances(lease_id)) == 1
            assert lease.decided_by == "U0MANAGER"
            [machine] = await evidence.instances(lease_id)
        assert "the worker ended by itself (signal SIGKILL); restart 1 of 5" in second.output.read_text()
        assert await asyncio.to_thread(second.stop) == 0
    with running(data) as third:
        async with opened(third) as evidence:
            assert (await evidence.lease_when(lease_id, lambda lease: True)).state is State.ACTIVE
            again = await evidence.instance_when(lease_id, "running")
            assert again["id"] == machine["id"]


async def test_a_crash_of_the_temporal_server_loses_no_lease(sandbox: Running) -> None:
    lease_id = await _ask(sandbox)
    sandbox.child("temporal").kill()
    async with asyncio.timeout(180):
        while sandbox.output.read_text().count("ready     temporal") < 2:  # noqa: ASYNC110 - another process prints it
            await asyncio.sleep(0.05)
    assert "the Temporal server ended by itself (signal SIGKILL); restart 1 of 5" in sandbox.output.read_text()
    async with SandboxClient(sandbox.slack_url) as slack, opened(sandbox) as evidence:
        await _approve(slack, lease_id)
        async with asyncio.timeout(180):
            lease = await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
        assert len(await evidence.instances(lease_id)) == 1
        assert lease.decided_by == "U0MANAGER"


async def _ask(sandbox: Running) -> str:
    async with SandboxClient(sandbox.slack_url) as slack, asyncio.timeout(180):
        return await Players(slack).request("Something that outlives a crash", "4min", "L4", 1)


async def _approve(slack: SandboxClient, lease_id: str) -> None:
    manager = slack.person("manager")
    card = await manager.wait_for_message(lambda told: lease_of(told, Do.APPROVE) == lease_id, timeout=150)
    await manager.click(card, Do.APPROVE)
