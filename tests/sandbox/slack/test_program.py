"""`python -m lessor.sandbox.slack` as a program: it says where it is, keeps messages, and stops cleanly."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import aiohttp

from lessor.sandbox.slack import SandboxClient
from tests.sandbox.programs import URL, refused, started

SLACK, SAYS = "lessor.sandbox.slack", f"Slack sandbox on {URL}/"


async def test_messages_survive_a_restart_and_open_streams_do_not_hold_it_up(tmp_path: Path) -> None:
    options = ("--port", "0", "--state", str(tmp_path / "slack.json"))
    async with (
        started(SLACK, *options, says=SAYS) as (program, url),
        SandboxClient(url) as slack,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/sandbox/api/stream") as stream,
    ):
        assert (await stream.content.readline()).startswith(b"data: ")
        await slack.person("requester").say("remember me", channel="gpu-requests")
        program.send_signal(signal.SIGINT)
        assert await program.wait() == 130
    async with started(SLACK, *options, says=SAYS) as (program, url):
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
        code, said, complained = await refused(SLACK, "--port", str(port))
    assert (code, said) == (2, "")
    assert complained == (
        f"slack sandbox: port {port} on 127.0.0.1 cannot be used (Address already in use); choose another\n"
    )
