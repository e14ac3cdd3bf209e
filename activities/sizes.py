"""Refuses results that are too large for a workflow's history, once and by name (case B16).

The server refuses them as well, but so that the worker takes it for an outage and tries for ever.
"""

from __future__ import annotations

from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from lessor.retries import ErrorType

MOST_BYTES = 1_000_000


class SizeLimit(Interceptor):
    """Put it on every worker. Results of local activities are measured too: they stand in the history as markers."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Measured(next)


class _Measured(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        result = await self.next.execute_activity(input)
        size = 0 if result is None else _size(result)
        if size > MOST_BYTES:
            name = activity.info().activity_type
            raise ApplicationError(
                f"activity {name} answered {size:,} bytes, at most {MOST_BYTES:,} fit into the history; "
                "what it did stands, pass such things by reference",
                type=ErrorType.TOO_LARGE,
                non_retryable=True,
            )
        return result


def _size(result: object) -> int:
    return sum(len(payload.data) for payload in activity.payload_converter().to_payloads([result]))
