"""What the sandbox gets wrong when told to: limits, errors, lost answers, slowness."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, PersonError, RunningSandbox, running_slack_sandbox

REQUESTS = "C0GPUREQUESTS"


async def post(api: AsyncWebClient, text: str = "x", channel: str = REQUESTS) -> Any:
    return await api.chat_postMessage(channel=channel, text=text)


async def test_a_rate_limited_method_says_when_to_come_back(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.add_fault("rate_limit", "chat.postMessage", times=2, retry_after=10)
    for _ in range(2):
        with pytest.raises(SlackApiError) as limited:
            await post(api)
        answer = limited.value.response
        assert (answer.status_code, answer.headers["Retry-After"], answer["error"]) == (429, "10", "ratelimited")
    await api.auth_test()
    await post(api)
    assert [one["outcome"] for one in await slack.calls("chat.postMessage")] == ["ratelimited", "ratelimited", "ok"]


async def test_a_method_can_be_made_to_fail_with_any_code(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.add_fault("error", "chat.update", error="message_not_found")
    posted = await post(api)
    with pytest.raises(SlackApiError, match="message_not_found"):
        await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="y")
    await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="y")


async def test_a_lost_answer_leaves_the_effect_and_a_lost_request_does_not(
    slack: RunningSandbox, api: AsyncWebClient
) -> None:
    await slack.add_fault("lose_answer", "chat.postMessage")
    await slack.add_fault("lose_request", "chat.postMessage")
    with pytest.raises(aiohttp.ClientError):
        await post(api, "lost on the way there")
    with pytest.raises(aiohttp.ClientError):
        await post(api, "lost on the way back")
    seen = await slack.person("requester").messages("gpu-requests")
    assert [message["text"] for message in seen] == ["lost on the way back"]


async def test_slack_can_be_down(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.add_fault("down", times=1)
    with pytest.raises(SlackApiError) as down:
        await post(api)
    assert down.value.response.status_code == 503
    await post(api)


async def test_slow_answers_take_the_clocks_time(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        fault = slack.core.faults.add("slow", "auth.test", seconds=20.0)
        call = asyncio.ensure_future(api.auth_test())
        await slack.wait_until(lambda: used_up(slack, fault.id))
        assert not call.done()
        await clock.advance(20.0)
        assert (await call)["ok"] is True


async def used_up(slack: RunningSandbox, fault_id: int) -> bool:
    return all(fault.id != fault_id for fault in slack.core.faults.current())


async def test_faults_can_be_taken_back(slack: RunningSandbox, api: AsyncWebClient) -> None:
    await slack.add_fault("down", times=None)
    await slack.clear_faults()
    await post(api)


async def test_unknown_faults_are_refused_with_the_known_ones(slack: RunningSandbox) -> None:
    with pytest.raises(PersonError, match="unknown fault `explode`; known: down, duplicate, error"):
        await slack.add_fault("explode")
    with pytest.raises(PersonError, match=r"fault `down`: .*colour"):
        await slack.add_fault("down", colour="red")


async def test_real_rate_limits_hold_a_channel_to_one_message_a_second(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        await slack.switch(rate_limits=True)
        await post(api)
        with pytest.raises(SlackApiError) as limited:
            await post(api)
        assert limited.value.response.headers["Retry-After"] == "1"
        await post(api, channel="C0GPUFLEET")
        await clock.advance(1.0)
        await post(api)


async def test_real_rate_limits_allow_fifty_updates_a_minute(clock: ManualClock) -> None:
    async with running_slack_sandbox(clock=clock) as slack:
        api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        posted = await post(api)
        await slack.switch(rate_limits=True)
        for number in range(50):
            await api.chat_update(channel=REQUESTS, ts=posted["ts"], text=str(number))
        with pytest.raises(SlackApiError) as limited:
            await api.chat_update(channel=REQUESTS, ts=posted["ts"], text="too many")
        assert limited.value.response.headers["Retry-After"] == "2"
        await clock.advance(60.0)
        for number in range(50):
            await api.chat_update(channel=REQUESTS, ts=posted["ts"], text=str(number))
