"""What is stored says nothing of who recorded it."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import (
    ActivityTaskFailedEventAttributes,
    HistoryEvent,
    WorkflowExecutionStartedEventAttributes,
)
from temporalio.client import WorkflowHistory

from tests.replay.histories import STORE, Stored, stored, write

TRACES = re.compile(
    r"(?<![\w.-])\d+@\w|stackTrace|File \\?\"|/(?:home|root|Users|usr|opt|tmp|var|private)/|[A-Z]:\\\\|site-packages"
)
MOST_BYTES = 4_000_000
RUN = "3f0c9f0a-8a57-4f39-9d0c-0a4be1a3a111"


def test_a_history_is_written_without_host_process_and_stack_and_read_back(tmp_path: Path) -> None:
    started = WorkflowExecutionStartedEventAttributes(
        identity="4711@build-host.example", original_execution_run_id=RUN, first_execution_run_id=RUN
    )
    started.input.CopyFrom(Payloads(payloads=[Payload(data=b'{"lease_id":"gpu-1"}')]))
    started.task_queue.name = "4711@build-host.example"
    failed = ActivityTaskFailedEventAttributes(
        failure=Failure(message="no capacity", stack_trace='File "/home/me/a.py"')
    )
    events = [
        HistoryEvent(event_id=1, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED),
        HistoryEvent(event_id=2, event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED),
    ]
    events[0].workflow_execution_started_event_attributes.CopyFrom(started)
    events[1].activity_task_failed_event_attributes.CopyFrom(failed)
    path = tmp_path / "0.0.0" / "told.json"
    write(WorkflowHistory("gpu-00000001", events), path)
    found = Stored(path).load()
    first = found.events[0].workflow_execution_started_event_attributes
    second = found.events[1].activity_task_failed_event_attributes
    assert (found.workflow_id, first.identity, first.task_queue.name) == ("gpu-00000001", "worker", "worker")
    assert first.input.payloads[0].data == b'{"lease_id":"gpu-1"}'
    assert first.original_execution_run_id == first.first_execution_run_id == "00000000-0000-4000-8000-000000000001"
    assert (second.failure.message, second.failure.stack_trace) == ("no capacity", "")
    assert TRACES.search(path.read_text(encoding="utf-8")) is None


def test_stored_histories_carry_no_trace_of_a_machine() -> None:
    traces = {one.name: TRACES.findall(_readable(one.path)) for one in stored()}
    assert {name: found for name, found in traces.items() if found} == {}


def test_stored_histories_stay_small() -> None:
    sizes = {version: sum(p.stat().st_size for p in version.glob("*.json")) for version in STORE.iterdir()}
    assert {version.name: size for version, size in sizes.items() if size > MOST_BYTES} == {}


def _readable(path: Path) -> str:
    """The file's text, and what its payloads say."""
    text = path.read_text(encoding="utf-8")
    payloads = re.findall(r'"data": "([A-Za-z0-9+/=]+)"', text)
    return "\n".join((text, *(base64.b64decode(data).decode("utf-8", "replace") for data in payloads)))
