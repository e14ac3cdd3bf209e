"""`python -m lessor.sandbox.gpus` as a program: it has the GPUs of what runs in the AWS simulator, and remembers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from lessor.sandbox.gpus import GpusClient
from tests.sandbox.programs import URL, interrupted, refused

RUNNING: dict[str, Any] = {
    "id": "i-0aaaaaaaaaaaaaaa1",
    "state": "running",
    "type": "g6.12xlarge",
    "launched_at": "2026-11-27T09:00:00+00:00",
    "tags": {"lessor:lease": "gpu-7k3qxa2m"},
}


class Aws:
    """What the AWS simulator says of its machines, and whether it says anything."""

    def __init__(self) -> None:
        self.instances: list[dict[str, Any]] = [RUNNING]
        self.down = False

    async def state(self, _: web.Request) -> web.Response:
        if self.down:
            raise web.HTTPServiceUnavailable(text="{}")
        return web.json_response({"instances": self.instances})


@asynccontextmanager
async def aws_listening(aws: Aws) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/_sim/state", aws.state)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@asynccontextmanager
async def program(*options: str) -> AsyncIterator[GpusClient]:
    says = f"simulated GPUs: {URL}/"
    async with interrupted("lessor.sandbox.gpus", "--every", "0.05", *options, says=says) as url:
        yield GpusClient(url)


async def machines(gpus: GpusClient, wanted: list[str], unseen: str = "") -> dict[str, Any]:
    """The state, once these machines are in it."""
    async with asyncio.timeout(60):
        while True:
            state = await asyncio.to_thread(gpus.state)
            if [one["id"] for one in state["machines"]] == wanted and state["unseen"].startswith(unseen):
                return state
            await asyncio.sleep(0.02)


async def test_it_follows_what_runs_and_remembers_what_was_set(tmp_path: Path) -> None:
    aws = Aws()
    aws.instances = [
        {**RUNNING, "id": "i-0stopped", "state": "stopped"},
        {**RUNNING, "id": "i-0nogpu", "type": "m5.large"},
        RUNNING,
    ]
    async with aws_listening(aws) as url:
        options = ("--aws", url, "--state", str(tmp_path / "gpus.json"))
        async with program(*options) as gpus:
            state = await machines(gpus, [RUNNING["id"]])
            [one] = state["machines"]
            assert (one["lease"], one["gpus"], one["model"], one["memory"]) == ("gpu-7k3qxa2m", 4, "L4", 22888)
            await asyncio.to_thread(gpus.change, RUNNING["id"], use="idle")
            aws.down = True
            state = await machines(gpus, [RUNNING["id"]], "The AWS simulator does not answer")
            aws.down, aws.instances = False, []
            await machines(gpus, [])
        aws.instances = [RUNNING]
        async with program(*options) as gpus:
            state = await machines(gpus, [RUNNING["id"]])
            assert state["machines"][0]["doing"]["use"] == "idle"


@pytest.mark.parametrize(("content", "reason"), [("{", "says nothing of GPUs"), ("[1]", "says nothing of GPUs")])
async def test_a_broken_state_is_one_clear_line(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "gpus.json"
    path.write_text(content)
    code, said, complained = await refused("lessor.sandbox.gpus", "--aws", "http://127.0.0.1:9", "--state", str(path))
    assert (code, said) == (2, "")
    assert re.fullmatch(rf"simulated GPUs: .*gpus\.json {reason} .*\n", complained)
