"""Fixtures of the bot in front of the Slack sandbox, for this folder and for the cases."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from lessor.sandbox.slack import RunningSandbox, running_slack_sandbox
from tests.bot.world import World, a_world


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox() as running:
        yield running


@pytest_asyncio.fixture
async def world(slack: RunningSandbox, sqlite_url: str) -> AsyncIterator[World]:
    async with a_world(slack, sqlite_url) as made:
        yield made
