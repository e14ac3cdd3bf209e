"""The container scripts that speak to Temporal, run for real against a development server."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from lessor import contracts
from lessor.sandbox.programs import temporal_program
from lessor.search_attributes import KEYS

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "docker" / "temporal-namespace.sh"
HEALTH = ROOT / "deploy" / "docker" / "health.py"


@workflow.defn(name="Idle")
class Idle:
    """A workflow that is never started: it only makes a worker poll."""

    @workflow.run
    async def run(self) -> None:
        return None


@dataclass(frozen=True)
class Ran:
    code: int
    output: str


@pytest.fixture
async def server() -> AsyncIterator[WorkflowEnvironment]:
    program = str(temporal_program())
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as environment:
        yield environment


async def test_the_namespace_script_makes_what_lessor_needs_and_may_run_again(server: WorkflowEnvironment) -> None:
    address = server.client.service_client.config.target_host
    told = {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "gpus", "TEMPORAL_RETENTION": "3d"}
    for _ in range(2):
        ran = await _run("sh", str(SCRIPT), environment=told)
        assert ran.code == 0, ran.output
    asked = ListSearchAttributesRequest(namespace="gpus")
    listed = await server.client.operator_service.list_search_attributes(asked)
    wanted = {key.name: int(key.indexed_value_type) for key in KEYS}
    assert {name: int(kind) for name, kind in listed.custom_attributes.items() if name in wanted} == wanted


def test_what_the_sandbox_registers_is_what_leases_write() -> None:
    words = {key.name: key.indexed_value_type.name.title().replace("_", "") for key in KEYS}
    assert words == contracts.SEARCH_ATTRIBUTES


async def test_a_worker_is_healthy_only_while_this_host_polls(server: WorkflowEnvironment) -> None:
    address = server.client.service_client.config.target_host
    told = {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "default"}
    idle = await _run(sys.executable, str(HEALTH), "worker", environment=told)
    assert idle == Ran(
        1,
        f"unhealthy: no poller of @{socket.gethostname()} on task queue lessor within 0:02:00; 0 others poll\n",
    )
    async with Worker(
        server.client, task_queue="lessor", workflows=[Idle], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        async with asyncio.timeout(60):
            # Each look is a process of its own, which is pause enough.
            while (await _run(sys.executable, str(HEALTH), "worker", environment=told)).code:
                pass


async def test_an_unreachable_server_is_one_line(unused_tcp_port_factory: Callable[[], int]) -> None:
    told = {"TEMPORAL_ADDRESS": f"127.0.0.1:{unused_tcp_port_factory()}", "TEMPORAL_NAMESPACE": "default"}
    ran = await _run(sys.executable, str(HEALTH), "worker", environment=told)
    assert ran.code == 1
    assert ran.output.startswith("unhealthy: ")
    assert ran.output.count("\n") == 1


async def _run(*argv: str, environment: dict[str, str]) -> Ran:
    """Off the loop's thread: the server and the worker under test run on it."""
    path = f"{temporal_program().parent}{os.pathsep}{os.environ['PATH']}"

    def run() -> Ran:
        known = {"PATH": path, "HOME": "/nonexistent", **environment}
        done = subprocess.run(argv, env=known, capture_output=True, text=True, timeout=90, check=False)
        return Ran(done.returncode, done.stderr if done.returncode else done.stdout)

    return await asyncio.to_thread(run)
