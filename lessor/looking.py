"""Starts a regular look over places or people now, and waits for what it found. Part of the engine."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TypeVar

from temporalio.client import (
    Client,
    ScheduleActionExecutionStartWorkflow,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    WorkflowFailureError,
)
from temporalio.service import RPCError, RPCStatusCode

from lessor.domain.errors import Refused

Report = TypeVar("Report")
Run = tuple[str, str]

STARTS_WITHIN = timedelta(minutes=10)
"""How long a look that runs already is waited for: the next one starts after it, and counts on from it."""

PAUSE = timedelta(milliseconds=200)


async def look_now(client: Client, schedule: str, report: type[Report]) -> Report:
    """What one look found that was started now. Raises `Refused` ("no-schedule", "busy", "failed") and `RPCError`."""
    handle = client.get_schedule_handle(schedule)
    try:
        before = _runs(await handle.describe())
        await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise Refused(
            "no-schedule", f"Temporal has no schedule {schedule}; start a worker once, which makes it"
        ) from error
    workflow_id, run_id = await _started(handle, before)
    try:
        run = client.get_workflow_handle(workflow_id, run_id=run_id, result_type=report)
        found: Report = await run.result()
    except WorkflowFailureError as error:
        raise Refused("failed", f"the look {workflow_id} failed: {error.cause}; the worker's log says more") from error
    return found


async def _started(handle: ScheduleHandle, before: set[Run]) -> Run:
    """The run that was not there before."""
    for _ in range(STARTS_WITHIN // PAUSE):
        new = _runs(await handle.describe()) - before
        if new:
            return min(new)
        await asyncio.sleep(PAUSE.total_seconds())
    raise Refused("busy", "another look has been running for long; this one starts as soon as it is over")


def _runs(found: ScheduleDescription) -> set[Run]:
    actions = (*found.info.running_actions, *(result.action for result in found.info.recent_actions))
    return {
        (action.workflow_id, action.first_execution_run_id)
        for action in actions
        if isinstance(action, ScheduleActionExecutionStartWorkflow)
    }
