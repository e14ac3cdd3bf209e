"""A Prometheus for tests that write its samples themselves: one for all of a process, each with a label of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.telemetry.server import PrometheusServer, program, prometheus
from tests.telemetry.store import Store


@pytest.fixture(scope="session")
def installed() -> str:
    """Prometheus' program; without it there is nothing to test with, which in CI is a failure."""
    try:
        return program()
    except FileNotFoundError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def prometheus_server(installed: str) -> Iterator[PrometheusServer]:
    """A Prometheus that scrapes nothing."""
    with prometheus() as running:
        yield running


@pytest.fixture
def store(prometheus_server: PrometheusServer, request: pytest.FixtureRequest) -> Store:
    """An empty store, as far as this test sees."""
    return Store(prometheus_server, request.node.nodeid)
