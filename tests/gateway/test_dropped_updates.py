"""Updates that the server drops: its word for them is no outage, and each is asked again as what it was."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode

from lessor import engine
from lessor.contracts import Act, Answer, Verb
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine, UnreachableError

ACT = Act("act-1", Verb.RELEASE, "U0REQUESTER")
DONE = Answer(True, "released", "it ends now", "gpu-7k3qxa2m", "ending", "U0REQUESTER")


class Client:
    """A client that meets these errors, one after the other, and then gets the answer."""

    def __init__(self, *errors: RPCError) -> None:
        self.errors = list(errors)
        self.asked: list[str] = []

    def get_workflow_handle(self, lease_id: str) -> Client:
        return self

    async def execute_update(self, verb: str, act: Act, *, id: str, result_type: type) -> Answer:
        self.asked.append(id)
        if self.errors:
            raise self.errors.pop(0)
        return DONE


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_PAUSE", timedelta())


def error(status: RPCStatusCode, message: str) -> RPCError:
    return RPCError(message, status, b"")


def act_of(client: Any) -> Any:
    return TemporalEngine(client, Terms).act("gpu-7k3qxa2m", ACT)


async def test_a_dropped_update_is_asked_again_by_its_id() -> None:
    client = Client(
        error(RPCStatusCode.UNAVAILABLE, "workflow update was aborted"),
        error(RPCStatusCode.ABORTED, "workflow update was aborted"),
        error(RPCStatusCode.RESOURCE_EXHAUSTED, "limit on number of concurrent in-flight updates has been reached"),
    )
    assert await act_of(client) == DONE
    assert client.asked == ["act-1"] * 4


async def test_an_outage_is_told_at_once() -> None:
    client = Client(error(RPCStatusCode.UNAVAILABLE, "connection refused"))
    with pytest.raises(UnreachableError, match=r"^Temporal cannot be reached now \(unavailable\)$"):
        await act_of(client)
    assert client.asked == ["act-1"]
