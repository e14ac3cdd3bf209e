"""HTTP mode: signed requests that slack_sdk verifies, form and JSON bodies, retries of events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from lessor.sandbox.slack import ManualClock, running_slack_sandbox

Json = dict[str, Any]


class Endpoint:
    """The app's own address: verifies, notes and answers what `answers` says (200 with nothing by default)."""

    def __init__(self, secret: str, clock: ManualClock) -> None:
        self._verifier = SignatureVerifier(secret)
        self._verifier.clock.now = lambda: int(clock.now())  # type: ignore[method-assign]
        self.requests: asyncio.Queue[Json] = asyncio.Queue()
        self.answers: list[web.Response] = []
        self.valid: list[bool] = []

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.text()
        self.valid.append(self._verifier.is_valid_request(body, dict(request.headers)))
        if request.content_type == "application/json":
            sent = json.loads(body)
            if sent["type"] == "url_verification":
                return web.Response(text=sent["challenge"])
        else:
            sent = dict(await request.post())
        self.requests.put_nowait({"headers": dict(request.headers), "body": sent})
        return self.answers.pop(0) if self.answers else web.Response()


@contextlib.asynccontextmanager
async def serving(endpoint: Endpoint) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/slack/events", endpoint.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    finally:
        await runner.cleanup()


async def test_commands_and_clicks_come_signed_as_forms(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        endpoint = Endpoint(slack.signing_secret, clock)
        async with serving(endpoint) as url:
            assert await slack.send_over_http(url) is True
            endpoint.answers = [web.json_response({"text": "hello"}), web.Response(text="plain")]
            requester = slack.person("requester")
            await requester.command("/gpu", "list")
            await requester.command("/gpu", "list")
            assert [one["text"] for one in await requester.ephemerals()] == ["hello", "plain"]
            sent = await endpoint.requests.get()
            assert (sent["body"]["command"], sent["body"]["text"]) == ("/gpu", "list")
            assert endpoint.valid == [True, True, True]


async def test_events_are_retried_with_number_and_reason(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        endpoint = Endpoint(slack.signing_secret, clock)
        async with serving(endpoint) as url:
            await slack.send_over_http(url)
            endpoint.answers = [web.Response(status=500) for _ in range(3)]
            await slack.person("requester").say("hello")
            seen = []
            for pause in (0.0, 0.0, 60.0, 300.0):
                await clock.advance(pause)
                headers = (await endpoint.requests.get())["headers"]
                seen.append((headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")))
            assert seen == [(None, None), ("1", "http_error"), ("2", "http_error"), ("3", "http_error")]
            assert all(endpoint.valid)


async def test_an_app_can_ask_for_no_more_retries(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        endpoint = Endpoint(slack.signing_secret, clock)
        async with serving(endpoint) as url:
            await slack.send_over_http(url)
            endpoint.answers = [web.Response(status=500, headers={"X-Slack-No-Retry": "1"})]
            await slack.person("requester").say("hello")
            await clock.advance(400.0)
            assert [one["outcome"] for one in await slack.deliveries()] == ["http_error"]


async def test_an_address_that_fails_verification_is_not_used() -> None:
    async with running_slack_sandbox() as slack:
        application = web.Application()
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            assert await slack.send_over_http(f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events") is False
        finally:
            await runner.cleanup()
        assert await slack.person("requester").command("/gpu") == {"acked": False, "error": "dispatch_failed"}
