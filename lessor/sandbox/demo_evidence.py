"""What the systems themselves say of a lease: Temporal's result and history, the ledger's record, AWS's inventory.

The demo believes nothing that the bot's messages alone say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Any, TypeVar

from temporalio.client import Client

from lessor import contracts
from lessor.contracts import LeaseOutcome
from lessor.converter import data_converter
from lessor.domain.lease import Lease
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import AuditReport
from lessor.sandbox.aws.client import SimulatorClient
from lessor.sandbox.gpus import GpusClient
from lessor.sandbox.programs import NAMESPACE, Sandbox

T = TypeVar("T")

LOOK_EVERY = 0.1


class Evidence:
    """Looks that change nothing, and what the GPUs are to do; `opened` makes one."""

    def __init__(self, temporal: Client, ledger: SqlLedger, aws: SimulatorClient, gpus: GpusClient) -> None:
        self._temporal = temporal
        self._ledger = ledger
        self._aws = aws
        self._gpus = gpus

    async def lease_when(self, lease_id: str, holds: Callable[[Lease], bool]) -> Lease:
        """The lease once the ledger has it so; waits for ever, the caller sets the limit."""
        while True:
            lease = await asyncio.to_thread(self._ledger.lease, lease_id)
            if lease is not None and holds(lease):
                return lease
            await asyncio.sleep(LOOK_EVERY)

    async def happened(self, lease_id: str) -> list[str]:
        """The types of everything on record for the lease, oldest first."""
        return [stored.event.type for stored in await asyncio.to_thread(self._ledger.events, lease_id)]

    async def audit(self) -> AuditReport:
        """The whole chain of events, read and checked."""
        return await asyncio.to_thread(self._ledger.verify)

    async def outcome(self, lease_id: str) -> LeaseOutcome:
        """The workflow's result; waits until it has one."""
        outcome: LeaseOutcome = await self._temporal.get_workflow_handle(lease_id, result_type=LeaseOutcome).result()
        return outcome

    async def history_length(self, lease_id: str) -> int:
        """Events in the history of the lease's last run."""
        described = await self._temporal.get_workflow_handle(lease_id).describe()
        return described.history_length

    async def instances(self, lease_id: str) -> list[dict[str, Any]]:
        """Every instance that AWS remembers for the lease, ended ones too."""
        state = await asyncio.to_thread(self._aws.state)
        return [one for one in state["instances"] if one["tags"].get(contracts.TAG_LEASE) == lease_id]

    async def instance_when(self, lease_id: str, state: str) -> dict[str, Any]:
        """The lease's instance once AWS says that it is in `state`."""
        while True:
            found = [one for one in await self.instances(lease_id) if one["state"] == state]
            if found:
                return found[0]
            await asyncio.sleep(LOOK_EVERY)

    async def gpus_do(self, instance_id: str, **changes: Any) -> None:
        """Let the GPUs of a machine work or idle, once they are seen; see `GpusClient.change`."""
        while True:
            state = await asyncio.to_thread(self._gpus.state)
            if instance_id in [one["id"] for one in state["machines"]]:
                break
            await asyncio.sleep(LOOK_EVERY)
        await asyncio.to_thread(self._gpus.change, instance_id, **changes)

    async def leftovers(self, lease_id: str) -> list[dict[str, Any]]:
        """What exists in AWS with the lease's tag."""
        return await asyncio.to_thread(self._aws.leftovers, lease_id)


@asynccontextmanager
async def opened(sandbox: Sandbox) -> AsyncIterator[Evidence]:
    """Evidence of a running sandbox."""
    client = await Client.connect(sandbox.temporal_address, namespace=NAMESPACE, data_converter=data_converter)
    with closing(open_ledger(sandbox.data.ledger_url, migrate=False)) as ledger:
        yield Evidence(client, ledger, SimulatorClient(sandbox.aws_url), GpusClient(sandbox.gpus_url))
