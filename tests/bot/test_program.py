"""`python -m bot` as a program: it says on one line why it cannot start, waits for what may come back, and stops."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import aiohttp
import yaml

from lessor.sandbox.slack import RunningSandbox

CONFIG = Path(__file__).parents[2] / "lessor" / "sandbox" / "lessor.yaml"


def the_bot(
    folder: Path, changes: dict[str, str], **slack: object
) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    return the_program("bot", folder, changes, **slack)


@asynccontextmanager
async def the_program(
    program: str, folder: Path, changes: dict[str, str], **slack: object
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program with a configuration of its own; it is stopped at the end if it still runs."""
    config = yaml.safe_load(CONFIG.read_text())
    config["slack"] |= slack
    (folder / "lessor.yaml").write_text(yaml.safe_dump(config))
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    settings = {
        "LESSOR_CONFIG": str(folder / "lessor.yaml"),
        "LESSOR_DATA": str(folder),
        "TEMPORAL_ADDRESS": "127.0.0.1:1",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", program),
        env={**bare, **settings, **changes},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def environment(slack: RunningSandbox, **changes: str) -> dict[str, str]:
    tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
    secret = {"SLACK_SIGNING_SECRET": slack.signing_secret}
    return {**tokens, **secret, "SLACK_API_URL": slack.api_url, **changes}


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, list[str]]:
    """The exit code, and what stands on stderr."""
    _, said = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, said.decode().splitlines()


async def line(process: asyncio.subprocess.Process, wanted: str) -> str:
    """The first line of the log that contains `wanted`."""
    assert process.stdout
    async with asyncio.timeout(60):
        async for raw in process.stdout:
            if wanted in raw.decode():
                return raw.decode()
    raise AssertionError(f"the log ended without {wanted}")


async def test_socket_mode_answers_and_stops_in_order(slack: RunningSandbox, tmp_path: Path) -> None:
    async with the_bot(tmp_path, environment(slack)) as process:
        await slack.wait_for_connections(1, 60)
        requester = slack.person("requester")
        assert (await requester.command("/gpu", "list"))["acked"]
        await requester.wait_for_ephemeral("Your open leases", timeout=60)
        process.send_signal(signal.SIGTERM)
        code, _ = await ended(process)
        assert code == 0


async def test_http_mode_listens_where_the_configuration_says(slack: RunningSandbox, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with the_bot(tmp_path, environment(slack), mode="http", http_port=port) as process:
        await line(process, "bot-ready")
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/health") as answer:
            assert answer.status == 200
        assert await slack.send_over_http(f"http://127.0.0.1:{port}/slack/events")
        requester = slack.person("requester")
        assert (await requester.command("/gpu", "help"))["acked"]
        await requester.wait_for_ephemeral("/gpu extend", timeout=60)
        process.send_signal(signal.SIGINT)
        code, _ = await ended(process)
        assert code == 0


async def test_a_wrong_bot_token_is_one_line_that_says_where_to_copy_it(slack: RunningSandbox, tmp_path: Path) -> None:
    async with the_bot(tmp_path, environment(slack, SLACK_BOT_TOKEN="xoxb-wrong")) as process:
        assert await ended(process) == (
            2,
            [
                "lessor bot: Slack refuses SLACK_BOT_TOKEN (invalid_auth): copy the Bot User OAuth Token (xoxb-...) "
                "of the installed app from api.slack.com/apps, OAuth & Permissions"
            ],
        )


async def test_a_wrong_app_token_is_one_line_that_says_how_to_make_one(slack: RunningSandbox, tmp_path: Path) -> None:
    async with the_bot(tmp_path, environment(slack, SLACK_APP_TOKEN="xapp-wrong")) as process:
        assert await ended(process) == (
            2,
            [
                "lessor bot: Slack refuses SLACK_APP_TOKEN (invalid_auth): make an app-level token (xapp-...) with "
                "connections:write under api.slack.com/apps, Basic Information"
            ],
        )


async def test_missing_tokens_are_named(slack: RunningSandbox, tmp_path: Path) -> None:
    only = {"SLACK_API_URL": slack.api_url, "SLACK_BOT_TOKEN": slack.bot_token}
    async with the_bot(tmp_path, only) as process:
        code, said = await ended(process)
    assert code == 2
    assert len(said) == 1
    assert said[0].startswith("lessor bot: SLACK_APP_TOKEN: is not set; it starts with xapp-")


async def test_a_slack_that_does_not_answer_is_waited_for(slack: RunningSandbox, tmp_path: Path) -> None:
    await slack.add_fault("down", "auth.test", times=3)
    async with the_bot(tmp_path, environment(slack)) as process:
        assert "http_503" in await line(process, "slack cannot be reached, trying again")
        await slack.wait_for_connections(1, 60)
        process.send_signal(signal.SIGTERM)
        code, _ = await ended(process)
        assert code == 0


async def test_it_can_be_stopped_while_it_waits(tmp_path: Path, slack: RunningSandbox) -> None:
    async with the_bot(tmp_path, environment(slack, SLACK_API_URL="http://127.0.0.1:1/api/")) as process:
        await line(process, "slack cannot be reached, trying again")
        process.send_signal(signal.SIGTERM)
        code, _ = await ended(process)
        assert code == 0


async def test_a_busy_port_is_one_line(slack: RunningSandbox, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with the_bot(tmp_path, environment(slack), mode="http", http_port=port) as process:
            code, said = await ended(process)
    assert code == 2
    assert said == [f"lessor bot: cannot listen on 127.0.0.1:{port} (address already in use); change slack.http_port"]
