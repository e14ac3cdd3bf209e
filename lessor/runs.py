"""The workflows of single leases, for the sweep: is one open, how did it end, and how to go on with it."""

from __future__ import annotations

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle, WorkflowHistoryEventFilterType
from temporalio.common import TypedSearchAttributes, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from lessor import contracts, search_attributes
from lessor.contracts import LeaseInput, Metered, Observed, OverBudget, OwnerLeft
from lessor.domain.lease import Lease
from lessor.ports import Ended

MOST_WORDS = 300

_ENDS = {
    WorkflowExecutionStatus.COMPLETED: "its workflow is over although the lease was not",
    WorkflowExecutionStatus.FAILED: "its workflow failed",
    WorkflowExecutionStatus.CANCELED: "its workflow was cancelled",
    WorkflowExecutionStatus.TIMED_OUT: "its workflow ran out of time",
}
"""Whatever is neither here nor terminated is open, also what a later server may call by another name (law 1)."""


class TemporalRuns:
    """Implements `ports.LeaseRuns`. Any trouble with the server is the caller's `RPCError`: unknown is not ended."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ended(self, lease_id: str) -> Ended | None:
        """How the latest run ended; a run that continued as new is followed by the next one, so it is open."""
        handle = self._client.get_workflow_handle(lease_id)
        try:
            found = await handle.describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return Ended(False, "its workflow is not known to Temporal any more")
        if found.status is WorkflowExecutionStatus.TERMINATED:
            return Ended(True, await self._termination(lease_id, found.run_id))
        return Ended(False, _ENDS[found.status]) if found.status in _ENDS else None

    async def observed(self, lease_id: str, seen: Observed) -> bool:
        """Signal it; false when there is no open workflow."""
        return await self._signalled(lease_id, contracts.SIGNAL_OBSERVED, seen)

    async def metered(self, lease_id: str, told: Metered) -> bool:
        return await self._signalled(lease_id, contracts.SIGNAL_METERED, told)

    async def over_budget(self, lease_id: str, told: OverBudget) -> bool:
        return await self._signalled(lease_id, contracts.SIGNAL_OVER_BUDGET, told)

    async def owner_left(self, lease_id: str, told: OwnerLeft) -> bool:
        return await self._signalled(lease_id, contracts.SIGNAL_OWNER_LEFT, told)

    async def restaff(self, lease_id: str) -> bool:
        return await self._signalled(lease_id, contracts.SIGNAL_RESTAFF)

    async def resume(self, lease: Lease, because: str) -> bool:
        """A new run under the lease's id. The id is free only because its run has ended: elsewhere it stays refused."""
        request = lease.request
        try:
            await self._client.start_workflow(
                contracts.LEASE_WORKFLOW,
                LeaseInput(lease.id, lease=lease, resumed=because),
                id=lease.id,
                task_queue=contracts.TASK_QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={contracts.MEMO_INTERACTION: request.interaction},
                search_attributes=TypedSearchAttributes(search_attributes.at_start(request)),
                static_summary=f"take down {lease.id}: {because}"[:200],
            )
        except WorkflowAlreadyStartedError:
            return False
        return True

    async def _signalled(self, lease_id: str, name: str, *told: object) -> bool:
        try:
            await self._client.get_workflow_handle(lease_id).signal(name, args=told)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def _termination(self, lease_id: str, run_id: str) -> str:
        """What whoever terminated it gave as the reason; who it was stands in the history of that run."""
        handle = self._client.get_workflow_handle(lease_id, run_id=run_id)
        reason = (await _last_event(handle)).workflow_execution_terminated_event_attributes.reason
        words = " ".join(reason.split())[:MOST_WORDS]
        return f"an administrator ended its workflow{f' ({words})' if words else ''}"


async def _last_event(handle: WorkflowHandle[object, object]) -> HistoryEvent:
    closing = handle.fetch_history_events(event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT)
    found = [event async for event in closing]
    return found[-1] if found else HistoryEvent(event_type=EventType.EVENT_TYPE_UNSPECIFIED)
