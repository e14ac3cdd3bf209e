from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import ManualClock, RunningSandbox, Workspace, running_slack_sandbox, scopes
from tests.browser import launched_browser, opened_page


def everything_granted() -> Workspace:
    """The default workspace, whose app may call more than lessor does."""
    workspace = Workspace.default()
    return replace(workspace, app=replace(workspace.app, scopes=scopes.ALL))


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox(workspace=everything_granted()) as running:
        yield running


@pytest_asyncio.fixture
async def api(slack: RunningSandbox) -> AsyncWebClient:
    """The app's Web API client, as slack_sdk ships it."""
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)


@pytest_asyncio.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    async with launched_browser() as launched:
        yield launched


@pytest_asyncio.fixture
async def page(browser: Browser, slack: RunningSandbox) -> AsyncIterator[Page]:
    """The page as the requester, in #gpu-requests; the browser stands in Tokyo, the requester in Berlin."""
    async with opened_page(browser, f"{slack.url}/#requester/C0GPUREQUESTS", timezone_id="Asia/Tokyo") as opened:
        await expect(opened.get_by_test_id("heading")).to_have_text("# gpu-requests")
        yield opened
