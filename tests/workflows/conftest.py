"""A time-skipping Temporal server for each test, and a world around it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.temporal import time_skipping
from tests.world import World, busy_world


@pytest.fixture
async def server() -> AsyncIterator[WorkflowEnvironment]:
    async with time_skipping() as env:
        yield env


@pytest.fixture
async def world(server: WorkflowEnvironment) -> AsyncIterator[World]:
    async with busy_world(server) as made:
        yield made
