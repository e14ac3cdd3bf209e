"""The sandbox with the real Bolt app and Socket Mode client that production uses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import RunningSandbox, buttons, running_slack_sandbox, visible_text


def bolt_app(slack: RunningSandbox) -> AsyncApp:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    return AsyncApp(client=client, token=slack.bot_token, signing_secret=slack.signing_secret)


@contextlib.asynccontextmanager
async def connected(slack: RunningSandbox, app: AsyncApp, count: int = 1) -> AsyncIterator[None]:
    already = slack.core.sockets.count
    handlers = [AsyncSocketModeHandler(app, slack.app_token) for _ in range(count)]
    for handler in handlers:
        handler.client.web_client = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
        await handler.connect_async()
    await slack.wait_for_connections(already + count)
    try:
        yield
    finally:
        for handler in handlers:
            await handler.close_async()
            await asyncio.sleep(0)


async def test_a_slash_command_is_answered_at_once_and_later() -> None:
    async with running_slack_sandbox() as slack:
        app = bolt_app(slack)

        @app.command("/gpu")
        async def gpu(ack: Any, command: dict[str, Any], client: AsyncWebClient) -> None:
            await ack(f"working on {command['text']}")
            await client.chat_postMessage(
                channel=command["user_id"],
                text="done",
                blocks=[
                    {"type": "section", "text": {"type": "mrkdwn", "text": "*done*"}},
                    {
                        "type": "actions",
                        "elements": [
                            {"type": "button", "action_id": "ok", "text": {"type": "plain_text", "text": "Fine"}}
                        ],
                    },
                ],
            )

        async with connected(slack, app):
            requester = slack.person("requester")
            report = await requester.command("/gpu", "request 2 a100", channel="gpu-requests")
            assert report == {"acked": True, "error": ""}
            told = await requester.wait_for_ephemeral("working on request 2 a100")
            assert told["channel"] == "C0GPUREQUESTS"
            message = await requester.wait_for_message("done")
            assert buttons(message) == ["Fine"]
            assert visible_text(message) == "*done*\nFine"
            assert await slack.person("manager").ephemerals() == []
            assert await slack.person("manager").dms() == []
