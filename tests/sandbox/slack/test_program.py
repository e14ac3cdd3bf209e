"""`python -m lessor.sandbox.slack` as a program: it says where it is, keeps messages, and stops cleanly."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys
from pathlib import Path

import aiohttp

from lessor.sandbox.slack import SandboxClient


async def start(*options: str) -> tuple[asyncio.subprocess.Process, str]:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lessor.sandbox.slack", *options, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    said = (await program.stdout.readline()).decode()
    found = re.fullmatch(r"Slack sandbox on (http://127\.0\.0\.1:\d+)/\n", said)
    assert found is not None
    return program, found.group(1)


async def test_messages_survive_a_restart_and_open_streams_do_not_hold_it_up(tmp_path: Path) -> None:
    state = str(tmp_path / "slack.json")
    program, url = await start("--port", "0", "--state", state)
    async with (
        SandboxClient(url) as slack,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/sandbox/api/stream") as stream,
    ):
        assert (await stream.content.readline()).startswith(b"data: ")
        await slack.person("requester").say("remember me", channel="gpu-requests")
        program.send_signal(signal.SIGINT)
        assert await program.wait() == 130
    program, url = await start("--port", "0", "--state", state)
    async with SandboxClient(url) as slack:
        (seen,) = await slack.person("manager").messages("gpu-requests")
        assert seen["text"] == "remember me"
    program.terminate()
    assert await program.wait() == -signal.SIGTERM


async def test_a_taken_port_is_one_clear_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "lessor.sandbox.slack",
            "--port",
            str(port),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complained = await program.communicate()
    assert (program.returncode, said) == (2, b"")
    assert complained.decode() == (
        f"slack sandbox: port {port} on 127.0.0.1 cannot be used (Address already in use); choose another\n"
    )
