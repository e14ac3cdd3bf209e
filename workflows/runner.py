"""The sandbox in which our workflows run, without the questions that it need not answer, or not yet.

The SDK asks each workflow for a serialization context and a store context for every payload that goes in or out, and
enters the sandbox to do so: some tenth of a worker's CPU. Our converter looks at neither, so both are answered outside.
A payload codec still works; one that needs a context would get none, and then this module has to go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import Info

from lessor.garbage import Turnover
from workflows.lean import apart
from workflows.queries import QueriesLast

NOWHERE = StorageDriverStoreContext(target=None)


class ContextFree(WorkflowInstance):
    """A workflow whose payloads are the same whatever command they belong to."""

    def __init__(self, inner: WorkflowInstance, turnover: Turnover) -> None:
        self._inner = inner
        self._turnover = turnover
        self._queries = QueriesLast(inner.activate)

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        gone = 0
        try:
            done = self._queries.activate(act)
            gone = sum(job.HasField("remove_from_cache") for job in act.jobs)
        finally:
            # One that cannot leave yet is asked to again and again.
            self._turnover.seen(thrown=gone)
        return done

    def get_serialization_context(self, command_info: Any) -> None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return NOWHERE

    def get_info(self) -> Info:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()


@dataclass(frozen=True)
class ContextFreeRunner(SandboxedWorkflowRunner):
    """The SDK's sandbox with its restrictions; only what is asked about payloads is answered without entering it.

    `turnover` is told whenever a workflow has something to do, and of each that leaves the cache.
    """

    turnover: Turnover = field(default_factory=Turnover)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return ContextFree(super().create_instance(apart(det)), self.turnover)
