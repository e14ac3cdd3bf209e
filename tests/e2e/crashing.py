"""A worker as a program of its own, to be killed, between a real Temporal server, a simulated AWS and a Slack sandbox.

Only the worker is killed, so that what its calls did can be read exactly afterwards.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from lessor.config import load
from lessor.contracts import LeaseOutcome
from lessor.domain.identity import lease_id
from lessor.domain.records import Submission
from lessor.domain.request import Need, Place, Request, Workload
from lessor.engine import TemporalEngine
from lessor.ledger import SqlLedger, open_ledger
from lessor.sandbox.aws.identity import LESSOR_ACCESS_KEY
from lessor.sandbox.aws.server import RunningSimulator
from lessor.sandbox.children import bare_environment
from lessor.sandbox.slack.server import running_slack_sandbox
from tests.e2e.running import demo_policy
from tests.temporal import dev_server

RULES = """  rules:
    - name: everything
      when: "true"
      then: approve
"""
PATIENCE = 240.0
STALL = 120.0
LOOK_EVERY = 0.05
WHOLE_LIFE = {"requested", "approved", "provisioning", "ready", "ended", "stopped", "deleting", "closed"}


@dataclass
class Crashing:
    """What surrounds the worker; `asked` are the leases whose activities are given up when it is killed."""

    client: Client
    aws: RunningSimulator
    ledger: SqlLedger
    engine: TemporalEngine
    environment: dict[str, str]
    log: Path
    worker: subprocess.Popen[bytes] | None = None
    asked: list[str] = field(default_factory=list)

    async def ask(self, length: timedelta) -> str:
        """Start a lease that the policy approves; its id."""
        interaction = f"crash-{len(self.asked)}"
        request = Request(
            "U0REQUESTER",
            "research",
            "survive the crash",
            Workload.TRAINING,
            Need("L4", 1),
            Place("aws", "aws-us", "us-east-1"),
            duration=length,
            interaction=interaction,
        )
        kept = Submission(interaction, lease_id(interaction), request, datetime.now(UTC))
        assert await self.engine.start(kept)
        self.asked.append(kept.lease_id)
        return kept.lease_id

    async def start(self) -> None:
        """Start the worker and wait until it polls."""
        since = self.log.stat().st_size if self.log.exists() else 0
        self.worker = self._spawn()
        await until(lambda: b"worker-ready" in self.log.read_bytes()[since:], "a worker that polls")

    async def kill(self) -> None:
        """SIGKILL. The server would notice at the next missing heartbeat, two minutes later; it is told at once."""
        assert self.worker is not None
        self.worker.kill()
        self.worker.wait()
        await asyncio.gather(*(self._give_up(lease) for lease in self.asked))

    async def kill_in(self, action: str) -> None:
        """Kill the worker once a lease has called `action`, which had its effect, and before it has the answer."""
        before = self.aws.controls.calls(action)
        self.aws.controls.slow_down(action, STALL)
        await until(lambda: self.aws.controls.calls(action) > before, action)
        await self.kill()
        self.aws.controls.clear_faults()

    async def outcome(self, lease: str) -> LeaseOutcome:
        async with asyncio.timeout(PATIENCE):
            found: LeaseOutcome = await self.client.get_workflow_handle(lease, result_type=LeaseOutcome).result()
            return found

    def events(self, lease: str) -> list[str]:
        return [stored.event.type for stored in self.ledger.events(lease)]

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", "workflows"], env=self.environment, stdout=log, stderr=log)

    async def _give_up(self, lease: str) -> None:
        found = await self.client.get_workflow_handle(lease).describe()
        for pending in found.raw_description.pending_activities:
            if pending.state != PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
                continue
            attempt = self.client.get_async_activity_handle(
                workflow_id=lease, run_id=None, activity_id=pending.activity_id
            )
            try:
                await attempt.fail(ApplicationError("the worker gives no sign of life"))
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise


@asynccontextmanager
async def crashing(aws: RunningSimulator, folder: Path) -> AsyncIterator[Crashing]:
    """Everything but the worker, which `start` starts; it is killed at the end."""
    aws.reset()
    # An attempt that a dead worker has in hand unseen costs a minute each time; none of it is what a request lapses by.
    timings = {"min_duration": "1s", "short_warnings": "[1s]", "notice": "1s", "grace": "1s", "lapse_after": "10min"}
    demo_policy(folder, timings, RULES, telemetry={"every": "30min"})
    policy = folder / "lessor.yaml"
    ledger_url = f"sqlite:///{folder / 'lessor.db'}"
    async with AsyncExitStack() as stack:
        env = await stack.enter_async_context(dev_server())
        slack = await stack.enter_async_context(running_slack_sandbox())
        ledger = stack.enter_context(closing(open_ledger(ledger_url)))
        settings = {
            "LESSOR_CONFIG": str(policy),
            "LESSOR_DATA": str(folder),
            "LESSOR_DATABASE_URL": ledger_url,
            "TEMPORAL_ADDRESS": env.client.service_client.config.target_host,
            "SLACK_API_URL": slack.api_url,
            "SLACK_BOT_TOKEN": slack.bot_token,
            "LESSOR_WEBHOOK_SECRET": "nobody-listens",
            "AWS_ENDPOINT_URL": aws.url,
            "AWS_ACCESS_KEY_ID": LESSOR_ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        made = Crashing(
            env.client,
            aws,
            ledger,
            TemporalEngine(env.client, load(policy).terms),
            bare_environment(os.environ, folder, settings),
            folder / "worker.log",
        )
        try:
            yield made
        finally:
            if made.worker is not None:
                made.worker.kill()
                made.worker.wait()


async def every_lease_had_one_machine_that_is_gone(here: Crashing) -> None:
    """Wait for all leases to close, then look at what was made and at what was put on record."""
    outcomes = await asyncio.gather(*(here.outcome(lease) for lease in here.asked))
    assert [outcome.state for outcome in outcomes] == ["closed"] * len(here.asked)
    for lease in here.asked:
        [machine] = here.aws.controls.instances(lease)
        assert machine["state"] == "terminated"
        events = here.events(lease)
        assert len(events) == len(set(events) - {"warned"}) + events.count("warned")
        assert set(events) >= WHOLE_LIFE
    assert here.aws.controls.leftovers() == []
    assert here.aws.controls.calls("RunInstances", "") == len(here.asked)
    assert here.ledger.held() == ()
    assert here.ledger.verify().problems == ()


async def until(holds: Callable[[], bool], what: str) -> None:
    """Look again and again until it holds."""
    for _ in range(int(PATIENCE / LOOK_EVERY)):
        if holds():
            return
        await asyncio.sleep(LOOK_EVERY)
    raise AssertionError(f"this never came: {what}")
