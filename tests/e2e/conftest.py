"""The whole sandbox as people start it, with a policy whose days are seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser import launched_browser
from tests.e2e.running import Running, demo_policy, running


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    """`lessor up`, ready, in a data directory of its own."""
    data = tmp_path / "data"
    demo_policy(data)
    with running(data) as started:
        yield started


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    async with launched_browser() as launched:
        yield launched
