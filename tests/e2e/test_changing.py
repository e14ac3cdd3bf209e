"""What changes while everything runs: the policy, by saving the file; and the way to people, when Slack is down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lessor.domain.lease import State
from lessor.sandbox.demo_evidence import opened
from lessor.sandbox.slack import SandboxClient, visible_text
from tests.e2e.running import Running, demo_policy, running
from tests.e2e.test_story import LEASE

pytestmark = pytest.mark.timeout(400)

RULES = """  rules:
    - name: everything
      when: "true"
      then: approve
"""


async def test_a_saved_rule_holds_for_the_next_request_and_a_broken_file_changes_nothing(sandbox: Running) -> None:
    file = sandbox.data.config
    async with SandboxClient(sandbox.slack_url) as slack, opened(sandbox) as evidence, asyncio.timeout(240):
        first = await _ask(slack, "1 x L4", "2min")
        waiting = await evidence.lease_when(first, lambda lease: lease.state is not State.REQUESTED)
        assert waiting.state is State.AWAITING_APPROVAL
        demo_policy(sandbox.data.root, policy=RULES)
        await _logged(sandbox, "configuration-taken-up")
        second = await _ask(slack, "1 x T4", "2min", first)
        approved = await evidence.lease_when(second, lambda lease: lease.approved_at is not None)
        assert approved.decided_by == "policy"
        assert waiting.decision is not None
        assert approved.decision is not None
        assert approved.decision.policy_version != waiting.decision.policy_version
        file.write_text(file.read_text().replace('when: "true"', "when: request.colour == 1"))
        told = await slack.person("admin").wait_for_message("cannot be used", "gpu-admins", timeout=60)
        assert "lessor.yaml" in visible_text(told)
        assert "request.colour" in visible_text(told)
        third = await _ask(slack, "1 x A10G", "2min", first, second)
        kept = await evidence.lease_when(third, lambda lease: lease.approved_at is not None)
        assert kept.decision is not None
        assert kept.decision.policy_version == approved.decision.policy_version


async def test_while_slack_is_down_a_warning_is_mailed_and_the_lease_ends_in_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    demo_policy(data, policy=RULES)
    with running(data) as sandbox:
        async with SandboxClient(sandbox.slack_url) as slack, opened(sandbox) as evidence, asyncio.timeout(300):
            lease_id = await _ask(slack, "1 x L4", "20s")
            await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
            await slack.add_fault("down", "*", times=None)
            warned = await evidence.lease_when(lease_id, lambda lease: bool(lease.warned))
            assert warned.warned[0].via == "email"
            mail = await _mailed(sandbox, lambda one: lease_id in one["subject"] and "ends" in one["subject"])
            assert mail["to"] == ["requester@example.com"]
            stopped = await evidence.lease_when(lease_id, lambda lease: lease.stopped_at is not None)
            assert stopped.ends_at is not None
            assert stopped.stopped_at is not None
            assert stopped.stopped_at >= stopped.warned[0].at + stopped.terms.notice
            await slack.clear_faults()
            assert (await evidence.outcome(lease_id)).state == State.CLOSED.value


async def _ask(slack: SandboxClient, what: str, length: str, *before: str) -> str:
    """Ask in one line; the id of the lease, which is none of those before."""
    requester = slack.person("requester")
    await requester.command("/gpu", f'request {what} {length} team:research experiment in aws-us "try it"')

    def recorded(told: dict[str, Any]) -> bool:
        found = LEASE.search(visible_text(told))
        return found is not None and found[0] not in before

    found = LEASE.search(visible_text(await requester.wait_for_ephemeral(recorded, timeout=30)))
    assert found
    return found[0]


async def _logged(sandbox: Running, word: str) -> None:
    """Wait until worker and bot have both written this."""
    logs = [sandbox.data.logs / f"{name}.log" for name in ("worker", "bot")]
    while not all(word in log.read_text() for log in logs):  # noqa: ASYNC110 - other processes write it
        await asyncio.sleep(0.05)


async def _mailed(sandbox: Running, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first mail of the kind, once it has arrived."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{sandbox.mail_url}/api/mail") as answer:
                mails: list[dict[str, Any]] = (await answer.json())["mails"]
            found = next((one for one in mails if wanted(one)), None)
            if found is not None:
                return found
            await asyncio.sleep(0.05)
