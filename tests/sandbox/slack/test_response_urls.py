"""Response urls: five uses in half an hour, new messages, replacing and deleting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest_asyncio

from lessor.sandbox.slack import ManualClock, RunningSandbox, running_slack_sandbox
from tests.sandbox.slack.rehearsal import section

Json = dict[str, Any]
REQUESTS = "C0GPUREQUESTS"


@pytest_asyncio.fixture
async def slack(clock: ManualClock) -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox(clock=clock) as running:
        yield running


async def respond(url: str, content: Json) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, json=content) as answer:
        return answer.status, await answer.text()


async def test_five_uses(slack: RunningSandbox) -> None:
    url = slack.core.new_response_url(REQUESTS, "U0REQUESTER")
    for number in range(5):
        assert await respond(url, {"text": f"note {number}"}) == (200, "ok")
    assert await respond(url, {"text": "one more"}) == (404, '{"ok":false,"error":"used_url"}')
    hidden = await slack.person("requester").ephemerals()
    assert [one["text"] for one in hidden] == [f"note {number}" for number in range(5)]
    assert await slack.person("manager").messages("gpu-requests") == []


async def test_half_an_hour(slack: RunningSandbox, clock: ManualClock) -> None:
    url = slack.core.new_response_url(REQUESTS, "U0REQUESTER")
    await clock.advance(1800.0)
    assert (await respond(url, {"text": "in time"}))[0] == 200
    await clock.advance(0.1)
    assert await respond(url, {"text": "late"}) == (404, '{"ok":false,"error":"expired_url"}')


async def test_everybody_sees_an_in_channel_response(slack: RunningSandbox) -> None:
    url = slack.core.new_response_url(REQUESTS, "U0REQUESTER")
    await respond(url, {"text": "for all", "response_type": "in_channel"})
    (seen,) = await slack.person("manager").messages("gpu-requests")
    assert (seen["text"], seen["ephemeral"]) == ("for all", False)


async def test_the_original_can_be_replaced_and_deleted(slack: RunningSandbox) -> None:
    post = slack.core.post(REQUESTS, "U0LESSOR", "card", [section("card")], visible_to="U0REQUESTER")
    url = slack.core.new_response_url(REQUESTS, "U0REQUESTER", post.ts)
    await respond(url, {"replace_original": True, "blocks": [section("decided")]})
    (seen,) = await slack.person("requester").ephemerals()
    assert [block["text"]["text"] for block in seen["blocks"]] == ["decided"]
    await respond(url, {"delete_original": True})
    assert await slack.person("requester").ephemerals() == []


async def test_what_slack_refuses_is_refused_here(slack: RunningSandbox) -> None:
    url = slack.core.new_response_url(REQUESTS, "U0REQUESTER")
    status, body = await respond(url, {"blocks": [section("x" * 3001)]})
    assert (status, "invalid_blocks" in body) == (400, True)
    assert await respond(url, {}) == (400, '{"ok":false,"error":"no_text"}')
