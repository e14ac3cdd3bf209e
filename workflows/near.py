"""Lets a worker that serves the queue of messages as well send them itself, as long as it has room for them.

An activity of the workflow's own queue is given out with the answer to the workflow task that asked for it; one of
another queue goes through the server's queues and a poll first, which costs as much as all else about it. Which queue
it goes to is no part of a workflow's determinism: replays compare ids and types.
"""

from __future__ import annotations

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

from lessor import contracts


class Near(Interceptor):
    """Put it on the worker of the workflows.

    `most` is how many remote activities it may have under way before messages go to their own queue again: a slow Slack
    then fills that one, and leaves the rest of this worker to others.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way = 0

    @property
    def has_room(self) -> bool:
        return self._under_way < self._most

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
        if input.task_queue == contracts.QUEUE_SLACK and self._near.has_room:
            input.task_queue = None
        return super().start_activity(input)
