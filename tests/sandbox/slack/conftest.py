from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, RunningSandbox, running_slack_sandbox


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox() as running:
        yield running


@pytest_asyncio.fixture
async def api(slack: RunningSandbox) -> AsyncWebClient:
    """The app's Web API client, as slack_sdk ships it."""
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)


@pytest_asyncio.fixture
async def clock() -> ManualClock:
    return ManualClock()
