"""Talks to Temporal for the gateway: starts lease workflows, and brings people's acts to them, durably."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

import structlog
from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import TypedSearchAttributes, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from lessor import contracts, search_attributes
from lessor.contracts import Act, Answer, LeaseInput
from lessor.domain.request import Place
from lessor.domain.terms import Terms
from lessor.looking import Report, look_now
from lessor.ports import Submission
from lessor.retries import ErrorType

log = structlog.get_logger(__name__)

ANSWER_WITHIN = timedelta(seconds=5)
START_WITHIN = timedelta(seconds=5)
BUSY_PAUSE = timedelta(milliseconds=100)


class UnreachableError(Exception):
    """Temporal did not answer; `str(error)` says so for people, without addresses or secrets."""


class TakenError(Exception):
    """A workflow of another interaction has this lease id."""


class Engine(Protocol):
    """What the gateway needs of Temporal."""

    async def start(self, submission: Submission) -> bool:
        """Start the lease's workflow; false when it was started before. Raises `UnreachableError`, `TakenError`."""
        ...

    async def act(self, lease_id: str, act: Act) -> Answer | None:
        """Bring one act to the lease; `None` when it has no open workflow. Raises `UnreachableError`."""
        ...

    async def look(self, schedule: str, report: type[Report]) -> Report:
        """Run a regular look now. Raises `UnreachableError`, and `Refused` with words for people."""
        ...


class TemporalEngine:
    """The real engine. `terms` are the organisation's timings now, copied into each new lease.

    `grace` is that of a place which has one of its own.
    """

    def __init__(
        self,
        client: Client,
        terms: Callable[[], Terms],
        *,
        answer_within: timedelta = ANSWER_WITHIN,
        grace: Callable[[Place], timedelta | None] = lambda _: None,
    ) -> None:
        self._client = client
        self._terms = terms
        self._grace = grace
        self._answer_within = answer_within

    async def start(self, submission: Submission) -> bool:
        request, terms = submission.request, self._terms()
        own = self._grace(request.place)
        terms = terms if own is None else replace(terms, grace=own)
        start = LeaseInput(submission.lease_id, request=request, terms=terms)
        try:
            await self._client.start_workflow(
                contracts.LEASE_WORKFLOW,
                start,
                id=submission.lease_id,
                task_queue=contracts.TASK_QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={contracts.MEMO_INTERACTION: submission.interaction},
                search_attributes=TypedSearchAttributes(search_attributes.at_start(request)),
                static_summary=f"{request.need} for {request.team}, {request.workload.value}"[:200],
                rpc_timeout=START_WITHIN,
            )
        except WorkflowAlreadyStartedError:
            return await self._same_or_taken(submission)
        except RPCError as error:
            raise _unreachable(error) from error
        except RuntimeError as error:
            raise _unconnected(error) from error
        return True

    async def act(self, lease_id: str, act: Act) -> Answer | None:
        """As an update; if no worker answers in time, the same act as a signal, which the server keeps."""
        try:
            async with asyncio.timeout(self._answer_within.total_seconds()):
                return await self._update(lease_id, act)
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return await self._signal(lease_id, act)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise _unreachable(error) from error
        except RuntimeError as error:
            raise _unconnected(error) from error

    async def look(self, schedule: str, report: type[Report]) -> Report:
        try:
            return await look_now(self._client, schedule, report)
        except RPCError as error:
            raise _unreachable(error) from error
        except RuntimeError as error:
            raise _unconnected(error) from error

    async def _update(self, lease_id: str, act: Act) -> Answer:
        """The update's answer. A full update queue (10 in flight) is waited for, and so is the workflow's next run; one
        that the server dropped is asked again.
        """
        handle = self._client.get_workflow_handle(lease_id)
        while True:
            try:
                answer: Answer = await handle.execute_update(act.verb.value, act, id=act.id, result_type=Answer)
                return answer
            except WorkflowUpdateFailedError as error:
                if not _renewing(error):
                    return _rejected(lease_id, act, error)
                await asyncio.sleep(BUSY_PAUSE.total_seconds())
            except RPCError as error:
                if not _passing(error):
                    raise
                await asyncio.sleep(BUSY_PAUSE.total_seconds())

    async def _signal(self, lease_id: str, act: Act) -> Answer | None:
        handle = self._client.get_workflow_handle(lease_id)
        try:
            await handle.signal(contracts.SIGNAL_ACT, act, rpc_timeout=START_WITHIN)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise _unreachable(error) from error
        log.info("act-recorded", lease_id=lease_id, verb=act.verb.value)
        message = f"{lease_id}: recorded; it takes effect as soon as a worker is free, and you are told if it cannot"
        return Answer(True, "recorded", message, lease_id, "", act.by, recorded_only=True)

    async def _same_or_taken(self, submission: Submission) -> bool:
        try:
            found = await self._client.get_workflow_handle(submission.lease_id).describe(rpc_timeout=START_WITHIN)
        except RPCError as error:
            raise _unreachable(error) from error
        if (await found.memo()).get(contracts.MEMO_INTERACTION) != submission.interaction:
            raise TakenError(submission.lease_id)
        return False


def _passing(error: RPCError) -> bool:
    """Whether the server had no room for the update, or dropped it with a workflow task that came to nothing."""
    dropped = error.status in (RPCStatusCode.ABORTED, RPCStatusCode.UNAVAILABLE) and "aborted" in error.message
    return dropped or error.status is RPCStatusCode.RESOURCE_EXHAUSTED


def _renewing(error: WorkflowUpdateFailedError) -> bool:
    return isinstance(error.cause, ApplicationError) and error.cause.type == ErrorType.RENEWING


def _rejected(lease_id: str, act: Act, error: WorkflowUpdateFailedError) -> Answer:
    cause = error.cause
    message = cause.message if isinstance(cause, ApplicationError) else str(cause)
    return Answer(False, "malformed", message, lease_id, "", act.by)


def _unreachable(error: RPCError) -> UnreachableError:
    log.warning("temporal-error", status=error.status.name, message=error.message[:200])
    return UnreachableError(f"Temporal cannot be reached now ({error.status.name.lower().replace('_', ' ')})")


def _unconnected(error: RuntimeError) -> Exception:
    """A lazy client connects with its first call; if it cannot, that call fails with this and not with an RPCError."""
    if not str(error).startswith("Failed client connect"):
        return error
    log.warning("temporal-error", status="UNAVAILABLE", message=str(error)[:200])
    return UnreachableError("Temporal cannot be reached now (no connection)")
