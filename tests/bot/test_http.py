"""HTTP mode: what is not signed by Slack, now and for this app is refused, and nothing counts twice."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.http import BODY_MOST, Signatures, web_app
from bot.installation import introduce
from lessor.sandbox.slack import RunningSandbox
from tests.bot.world import World, a_world

TEXT = 'request 2 x A100-80GB 8h team:research training in us "train the ranking model"'


@pytest_asyncio.fixture
async def served(slack: RunningSandbox, sqlite_url: str) -> AsyncIterator[tuple[World, str]]:
    async with a_world(slack, sqlite_url, connect=False) as world:
        signatures = Signatures(slack.signing_secret)
        runner = web.AppRunner(web_app(world.app, await introduce(world.client), signatures, world.desk.background))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield world, f"http://127.0.0.1:{port}/slack/events"
        await runner.cleanup()


def command(slack: RunningSandbox, **changes: Any) -> str:
    fields = {
        "team_id": "T0SANDBOX",
        "api_app_id": "A0LESSOR",
        "channel_id": "C0GPUREQUESTS",
        "user_id": "U0REQUESTER",
        "command": "/gpu",
        "text": TEXT,
        "trigger_id": "1.2.3",
    }
    return urlencode(fields | changes)


def signed(slack: RunningSandbox, body: str | bytes, timestamp: str = "") -> dict[str, str]:
    raw = body.encode() if isinstance(body, str) else body
    timestamp = timestamp or str(int(time.time()))
    base = b"v0:" + timestamp.encode() + b":" + raw
    digest = hmac.new(slack.signing_secret.encode(), base, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": f"v0={digest}",
    }


async def post(url: str, body: str | bytes, headers: dict[str, str]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_the_whole_way_over_http(served: tuple[World, str]) -> None:
    world, url = served
    assert await world.slack.send_over_http(url)
    sent = await world.slack.person("requester").command("/gpu", TEXT)
    assert sent == {"acked": True, "error": ""}
    await world.settled()
    lease = world.only_lease()
    manager = world.slack.person("manager")
    clicked = await manager.click(await manager.wait_for_message(lease.id, "gpu-approvals"), "approve")
    assert clicked["acked"]
    await world.settled()
    assert world.only_lease().decided_by == "U0MANAGER"


@pytest.mark.parametrize(
    "timestamp",
    [
        *("", "garbage", "12.5", "-1", "1e9", "١٧٣٢٧٥٢٠٠٠", "9" * 40, "0"),
        # Workers that share the tests must find them under the same names.
        pytest.param(str(int(time.time()) - 3600), id="an-hour-old"),
    ],
)
async def test_a_bad_timestamp_is_401_and_has_no_effect(served: tuple[World, str], timestamp: str) -> None:
    world, url = served
    body = command(world.slack)
    headers = signed(world.slack, body, timestamp or "x")
    headers["X-Slack-Request-Timestamp"] = timestamp
    assert await post(url, body, headers) == (401, "refused")
    await world.settled()
    assert world.engine.leases == {}


@pytest.mark.parametrize("signature", ["", "v0=", "v0=" + "0" * 64, "v1=abc", "é"])
async def test_a_bad_signature_is_401_and_has_no_effect(served: tuple[World, str], signature: str) -> None:
    world, url = served
    body = command(world.slack)
    headers = {**signed(world.slack, body), "X-Slack-Signature": signature}
    assert await post(url, body, headers) == (401, "refused")
    await world.settled()
    assert world.engine.leases == {}


async def test_without_any_signature_headers_it_is_401(served: tuple[World, str]) -> None:
    _, url = served
    assert await post(url, "text=hello", {}) == (401, "refused")


async def test_a_replayed_request_is_answered_and_has_no_second_effect(served: tuple[World, str]) -> None:
    world, url = served
    body = command(world.slack)
    headers = signed(world.slack, body)
    first = await post(url, body, headers)
    again = [await post(url, body, headers) for _ in range(3)]
    await world.settled()
    assert [first[0], *(status for status, _ in again)] == [200] * 4
    assert len(world.engine.leases) == 1
    assert world.engine.starts == 1


async def test_a_request_signed_anew_with_the_same_trigger_has_no_second_effect(served: tuple[World, str]) -> None:
    world, url = served
    body = command(world.slack)
    for _ in range(3):
        stamp = str(int(time.time()) - 1)
        assert (await post(url, body + "&" * _, signed(world.slack, body + "&" * _, stamp)))[0] == 200
    await world.settled()
    assert world.engine.starts == 1


async def test_a_command_is_acknowledged_before_anybody_looks_who_handles_it(
    served: tuple[World, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, url = served
    answered, dispatch = asyncio.Event(), world.app.async_dispatch

    async def after_the_answer(request: AsyncBoltRequest) -> BoltResponse:
        await answered.wait()
        return await dispatch(request)

    monkeypatch.setattr(world.app, "async_dispatch", after_the_answer)
    body = command(world.slack)
    assert await post(url, body, signed(world.slack, body)) == (200, "")
    assert world.desk.background.busy
    answered.set()
    await world.settled()
    assert world.only_lease().request.purpose == "train the ranking model"


async def test_another_apps_request_is_refused(served: tuple[World, str]) -> None:
    world, url = served
    body = command(world.slack, api_app_id="A0SOMEBODY")
    assert await post(url, body, signed(world.slack, body)) == (401, "refused")
    await world.settled()
    assert world.engine.leases == {}


@pytest.mark.parametrize(
    "body",
    [
        b"payload={",
        b"payload=[]",
        b"payload=null",
        b"\xff\xfe",
        b"",
        b"payload={}",
        b"command=/gpu",
        b"command=/gpu&user_id=U0REQUESTER",
        b"command=/gpu&trigger_id=1.2.3",
        b"command=/other&user_id=U0REQUESTER&trigger_id=1.2.3",
        b"type=block_actions",
    ],
)
async def test_a_signed_body_that_makes_no_sense_is_no_server_error(served: tuple[World, str], body: bytes) -> None:
    world, url = served
    status, _ = await post(url, body, signed(world.slack, body))
    assert status in (400, 404)


async def test_a_body_beyond_the_limit_is_refused(served: tuple[World, str]) -> None:
    world, url = served
    body = b"x" * (BODY_MOST + 1)
    headers = signed(world.slack, body)
    async with aiohttp.ClientSession() as session, session.post(url, data=io.BytesIO(body), headers=headers) as answer:
        assert (answer.status, await answer.text()) == (413, "refused")
    assert world.engine.leases == {}


async def test_slacks_handshake_is_answered(served: tuple[World, str]) -> None:
    world, url = served
    body = json.dumps({"type": "url_verification", "challenge": "abc"})
    headers = {**signed(world.slack, body), "Content-Type": "application/json"}
    status, text = await post(url, body, headers)
    assert (status, json.loads(text)) == (200, {"challenge": "abc"})


async def test_health_answers(served: tuple[World, str]) -> None:
    _, url = served
    async with aiohttp.ClientSession() as session, session.get(url.replace("/slack/events", "/health")) as answer:
        assert (answer.status, await answer.json()) == (200, {"ok": True})
