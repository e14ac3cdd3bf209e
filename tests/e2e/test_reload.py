"""A running worker takes up a changed lessor.yaml, keeps it when the next one is wrong, and pages administrators."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from lessor.config import load
from lessor.domain.lease import State
from lessor.policyfile import compile_policy
from lessor.sandbox.aws.server import RunningSimulator
from tests.e2e.crashing import Crashing, crashing, until

pytestmark = pytest.mark.timeout(200)

HOUR = timedelta(hours=1)


async def decided(here: Crashing, lease_id: str) -> tuple[State, str]:
    """The state and the policy's version, once it was judged."""
    await until(lambda: bool(_judged(here, lease_id)), "a decision")
    lease = here.ledger.lease(lease_id)
    assert lease is not None
    assert lease.decision is not None
    return lease.state, lease.decision.policy_version


def _judged(here: Crashing, lease_id: str) -> bool:
    lease = here.ledger.lease(lease_id)
    return lease is not None and lease.decision is not None


async def pages(here: Crashing) -> list[str]:
    """What administrators' channel holds about the configuration."""
    slack = AsyncWebClient(here.environment["SLACK_BOT_TOKEN"], base_url=here.environment["SLACK_API_URL"])
    listed: Any = await slack.conversations_list(types="public_channel,private_channel")
    channel = next(one["id"] for one in listed["channels"] if one["name"] == "gpu-admins")
    history: Any = await slack.conversations_history(channel=channel)
    return [str(one) for one in history["messages"] if "cannot be used" in str(one)]


async def test_a_running_worker_takes_up_what_is_right_and_tells_what_is_wrong(
    running_aws: RunningSimulator, tmp_path: Path
) -> None:
    async with crashing(running_aws, tmp_path) as here:
        file = tmp_path / "lessor.yaml"
        good = file.read_text()
        await here.start()
        first = await decided(here, await here.ask(HOUR))
        asking = good.replace("then: approve", "then: {require: [lead]}")
        file.write_text(asking)
        await until(lambda: b"configuration-taken-up" in here.log.read_bytes(), "the new rules")
        second = await decided(here, await here.ask(HOUR))
        assert (first[0] in (State.APPROVED, State.PROVISIONING, State.ACTIVE), second[0]) == (
            True,
            State.AWAITING_APPROVAL,
        )
        version = compile_policy(load(file)).version
        assert (second[1], first[1] != version) == (version, True)

        file.write_text(asking.replace('when: "true"', 'when: request.market == "spto"'))
        told: list[str] = []
        while not told:
            await until(lambda: b"configuration-refused" in here.log.read_bytes(), "the refusal")
            told = await pages(here)
        assert len(told) == 1
        assert "did you mean 'spot'?" in told[0]
        third = await decided(here, await here.ask(HOUR))
        assert third == (State.AWAITING_APPROVAL, version)
