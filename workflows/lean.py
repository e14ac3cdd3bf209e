"""Lets go of the message that began a workflow: a tenth of what each lease in the worker's cache would hold.

A part of a protobuf message keeps the whole of it in memory, and the SDK holds on to four small parts of the first
activation for as long as a workflow is cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInstanceDetails,
    WorkflowInterceptorClassInput,
)


def apart(details: WorkflowInstanceDetails) -> WorkflowInstanceDetails:
    """The same, each message a copy of its own."""
    info, failure = details.info, details.last_failure
    return replace(
        details,
        info=replace(info, raw_memo=_each_apart(info.raw_memo), headers=_each_apart(info.headers)),
        last_completion_result=Payloads.FromString(details.last_completion_result.SerializeToString()),
        last_failure=failure and Failure.FromString(failure.SerializeToString()),
    )


class Lean(Interceptor):
    """Put it last: behind it, a workflow's start has no headers any more."""

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        return _Headless


class _Headless(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        input.headers = {}
        return await super().execute_workflow(input)


def _each_apart(messages: Mapping[str, Payload]) -> dict[str, Payload]:
    return {key: Payload.FromString(one.SerializeToString()) for key, one in messages.items()}
