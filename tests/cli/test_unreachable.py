"""A Temporal that was never there: the first call of a lazy client, told in one line and with exit code 3."""

from __future__ import annotations

import socket
from datetime import UTC, datetime

import pytest
from temporalio.client import Client

from lessor.contracts import Act, Verb
from lessor.converter import data_converter
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine, UnreachableError
from lessor.ports import Submission
from tests.builders import LEASE_ID, a_request


@pytest.fixture
async def engine() -> TemporalEngine:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return TemporalEngine(await Client.connect(f"127.0.0.1:{port}", data_converter=data_converter, lazy=True), Terms)


async def test_acts_and_starts_say_that_temporal_cannot_be_reached(engine: TemporalEngine) -> None:
    with pytest.raises(UnreachableError, match=r"^Temporal cannot be reached now \(no connection\)$"):
        await engine.act(LEASE_ID, Act("1", Verb.APPROVE, "U0MANAGER"))
    with pytest.raises(UnreachableError, match=r"^Temporal cannot be reached now \(no connection\)$"):
        await engine.start(Submission("cli:1", LEASE_ID, a_request(), datetime.now(UTC)))
