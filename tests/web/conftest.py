"""The dashboard for tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lessor.ledger import open_ledger
from tests.web.world import World


@pytest.fixture
def world(sqlite_url: str) -> Iterator[World]:
    ledger = open_ledger(sqlite_url)
    yield World(ledger)
    ledger.close()
