"""What a cached workflow keeps of the message that began it: the same values, none of the message."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.workflow_activation import InitializeWorkflow
from temporalio.worker import ExecuteWorkflowInput, WorkflowInboundInterceptor, WorkflowInstanceDetails
from temporalio.workflow import Info

from workflows.lean import Lean, apart


def started() -> InitializeWorkflow:
    job = InitializeWorkflow()
    job.arguments.add(data=b"a long request")
    job.memo.fields["interaction"].data = b"slack:T1:view:1"
    job.headers["trace"].data = b"1-2-3"
    job.last_completion_result.payloads.add(data=b"before")
    job.continued_failure.message = "failed before"
    return job


def details(job: InitializeWorkflow, failure: Failure | None) -> WorkflowInstanceDetails:
    """As the SDK makes them: parts of the message, as they are."""
    info: Any = Info(**{one.name: None for one in fields(Info) if one.init})
    info.__dict__.update(raw_memo=dict(job.memo.fields), headers=dict(job.headers))
    values: dict[str, Any] = {one.name: None for one in fields(WorkflowInstanceDetails) if one.init}
    values |= {"info": info, "last_completion_result": job.last_completion_result, "last_failure": failure}
    return WorkflowInstanceDetails(**values)


def test_details_keep_their_values_in_messages_of_their_own() -> None:
    job = started()
    before = details(job, job.continued_failure)
    after = apart(before)
    assert after.info.raw_memo == {"interaction": Payload(data=b"slack:T1:view:1")}
    assert after.info.headers == {"trace": Payload(data=b"1-2-3")}
    assert after.last_completion_result == Payloads(payloads=[Payload(data=b"before")])
    assert after.last_failure == Failure(message="failed before")
    job.memo.fields["interaction"].data = b"changed"
    job.last_completion_result.payloads[0].data = b"changed"
    job.continued_failure.message = "changed"
    assert before.last_failure == Failure(message="changed")
    assert after.info.raw_memo == {"interaction": Payload(data=b"slack:T1:view:1")}
    assert after.last_completion_result == Payloads(payloads=[Payload(data=b"before")])
    assert after.last_failure == Failure(message="failed before")


def test_a_workflow_that_nothing_failed_before_has_no_failure() -> None:
    assert apart(details(started(), None)).last_failure is None


async def test_the_start_of_a_workflow_is_forgotten_once_it_runs() -> None:
    seen: list[ExecuteWorkflowInput] = []

    class Workflow(WorkflowInboundInterceptor):
        def __init__(self) -> None:
            pass

        async def execute_workflow(self, input: ExecuteWorkflowInput) -> str:
            seen.append(input)
            return "done"

    given = ExecuteWorkflowInput(type=Any, run_fn=Any, args=["a request"], headers=started().headers)  # type: ignore[arg-type]
    found: Any = Lean().workflow_interceptor_class(Any)  # type: ignore[arg-type]
    assert await found(Workflow()).execute_workflow(given) == "done"
    assert seen == [given]
    assert (given.args, given.headers) == (["a request"], {})
