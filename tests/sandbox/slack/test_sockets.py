"""The sandbox with the real Bolt app and Socket Mode client that production uses."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import buttons, running_slack_sandbox, visible_text
from tests.sandbox.slack.rehearsal import bolt_app, connected


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
