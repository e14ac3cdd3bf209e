"""Answers questions about a workflow once its local activities have ended, in the same workflow task.

The SDK answers at once, and a task that carries an answer is over: it gives the rest to a next one, which the server
makes at once. Where the first holds no command, and the one before held none, a replay takes the two for one, and runs
an update of the second before what the first had done (temporalio/sdk-rust#1146). A look at a lease in the Temporal UI
while somebody presses a button could so leave a history that can not be replayed, and the lease stuck for ever.

Local activities take milliseconds. One that outlasts its task ends it all the same; whoever asked is answered then in
one of the next.
"""

from __future__ import annotations

from collections.abc import Callable

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

LEGACY = "legacy_query"
"""The id of a question that is a task of its own: its answer ends nothing else."""

Activate = Callable[[WorkflowActivation], WorkflowActivationCompletion]


class QueriesLast:
    """Stands before one workflow instance's `activate`, and puts off what is asked meanwhile."""

    def __init__(self, activate: Activate) -> None:
        self._activate = activate
        self._running: set[int] = set()
        self._asked: WorkflowActivation | None = None

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        if self._running and _asks(act):
            # All that is open is asked anew with each task: what an earlier one has asked is among it, or over.
            self._asked = act
            return _nothing_yet(act.run_id)
        done = self._activate(act)
        self._follow(act, done)
        if self._asked is not None and not self._running and done.HasField("successful"):
            answered = self._activate(self._asked)
            self._asked = None
            done.successful.commands.extend(answered.successful.commands)
        return done

    def _follow(self, act: WorkflowActivation, done: WorkflowActivationCompletion) -> None:
        """Keep count of the local activities that are under way."""
        for job in act.jobs:
            if job.HasField("resolve_activity"):
                self._running.discard(job.resolve_activity.seq)
        for command in done.successful.commands:
            if command.HasField("schedule_local_activity"):
                self._running.add(command.schedule_local_activity.seq)


def _asks(act: WorkflowActivation) -> bool:
    """Whether this is nothing but questions; the SDK never mixes them with anything else."""
    return all(job.HasField("query_workflow") and job.query_workflow.query_id != LEGACY for job in act.jobs)


def _nothing_yet(run_id: str) -> WorkflowActivationCompletion:
    done = WorkflowActivationCompletion(run_id=run_id)
    done.successful.SetInParent()
    return done
