"""The health check of the dashboard's container, against the dashboard itself."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from lessor.ports import LedgerUnavailableError
from tests.web.serving import served
from tests.web.world import TOKEN, World

HEALTH = Path(__file__).parents[2] / "deploy" / "docker" / "health.py"


@pytest.fixture
def health() -> ModuleType:
    found = importlib.util.spec_from_file_location("health", HEALTH)
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


async def test_it_is_healthy_while_it_answers_and_reads_the_ledger(
    world: World, health: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.token = TOKEN
    async with served(world) as url:
        assert await asyncio.to_thread(health.dashboard_problem, f"{url}/healthz") == ""

        def down() -> None:
            raise LedgerUnavailableError("no such host: db")

        monkeypatch.setattr(world.ledger, "brake", down)
        told = await asyncio.to_thread(health.dashboard_problem, f"{url}/healthz")
        assert '"code":"ledger-unreachable"' in told


def test_the_address_is_that_of_the_container(health: ModuleType) -> None:
    assert health.DASHBOARD == "http://127.0.0.1:7417/healthz"
