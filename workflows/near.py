"""Lets a worker that serves other queues as well do their work itself, as long as it has room for it.

An activity of the workflow's own queue is given out with the answer to the workflow task that asked for it; one of
another queue goes through the server's queues and a poll first, which costs as much as all else about it. Which queue
it goes to is no part of a workflow's determinism: replays compare ids and types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from temporalio import activity
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle


class Near(Interceptor):
    """Put it on the worker of the workflows, which has the activities of these `queues` too.

    `most` is how many remote activities it may have under way before all others go to their own queues again: a slow
    Slack or cloud then fills those, and leaves the rest of this worker to others.
    """

    def __init__(self, most: int, queues: Iterable[str]) -> None:
        self._most = most
        self._queues = frozenset(queues)
        self._under_way = 0

    def takes(self, queue: str | None) -> bool:
        """Whether an activity for this queue is to be done here."""
        return queue in self._queues and self._under_way < self._most

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Counted(next, self)

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        near = self

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(_Outbound(outbound, near))

        return Inbound

    async def counted(self, next: ActivityInboundInterceptor, input: ExecuteActivityInput) -> Any:
        self._under_way += 1
        try:
            return await next.execute_activity(input)
        finally:
            self._under_way -= 1


class _Counted(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, near: Near) -> None:
        super().__init__(next)
        self._near = near

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        if activity.info().is_local:
            return await self.next.execute_activity(input)
        return await self._near.counted(self.next, input)


class _Outbound(WorkflowOutboundInterceptor):
    def __init__(self, next: WorkflowOutboundInterceptor, near: Near) -> None:
        super().__init__(next)
        self._near = near

    def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:
        if self._near.takes(input.task_queue):
            input.task_queue = None
        return super().start_activity(input)
