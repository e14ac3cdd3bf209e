"""A look at a lease never cuts the workflow task that is under way: what is recorded then can be replayed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

from lessor.domain.lease import State
from tests.temporal import dev_server
from tests.world import idle_world
from workflows import queries
from workflows.queries import LEGACY, QueriesLast


class Instance:
    """A workflow that starts the local activities it is told to, and answers every question."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.fails = False

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        done = WorkflowActivationCompletion(run_id=act.run_id)
        if self.fails:
            done.failed.failure.message = "broken"
            return done
        done.successful.SetInParent()
        for job in act.jobs:
            if job.HasField("query_workflow"):
                done.successful.commands.add().respond_to_query.query_id = job.query_workflow.query_id
        for seq in self.starts:
            done.successful.commands.add().schedule_local_activity.seq = seq
        self.starts = []
        return done


def resolved(*seqs: int) -> WorkflowActivation:
    act = WorkflowActivation(run_id="run")
    for seq in seqs:
        act.jobs.add().resolve_activity.seq = seq
    return act


def asked(*ids: str) -> WorkflowActivation:
    act = WorkflowActivation(run_id="run")
    for one in ids:
        act.jobs.add().query_workflow.query_id = one
    return act


def answers(done: WorkflowActivationCompletion) -> list[str]:
    found = done.successful.commands
    return [command.respond_to_query.query_id for command in found if command.HasField("respond_to_query")]


def running(seqs: Iterable[int]) -> tuple[Instance, QueriesLast]:
    """A workflow with these local activities under way."""
    instance = Instance()
    last = QueriesLast(instance.activate)
    instance.starts = list(seqs)
    last.activate(resolved())
    return instance, last


def test_nothing_under_way_is_answered_at_once() -> None:
    _, last = running([])
    assert answers(last.activate(asked("a", "b"))) == ["a", "b"]


def test_a_question_waits_for_the_last_local_activity() -> None:
    _, last = running([1, 2])
    put_off = last.activate(asked("a"))
    assert (put_off.run_id, put_off.HasField("successful")) == ("run", True)
    assert not put_off.successful.commands
    assert answers(last.activate(resolved(1))) == []
    assert answers(last.activate(resolved(2))) == ["a"]
    assert answers(last.activate(resolved())) == []


def test_it_waits_for_what_follows_in_the_same_task_too() -> None:
    instance, last = running([1])
    last.activate(asked("a"))
    instance.starts = [2]
    done = last.activate(resolved(1))
    assert [command.schedule_local_activity.seq for command in done.successful.commands] == [2]
    assert answers(last.activate(resolved(2))) == ["a"]


def test_a_task_that_was_renewed_brings_all_open_questions_anew() -> None:
    _, last = running([1])
    last.activate(asked("given-up", "a"))
    last.activate(asked("a", "b"))
    assert answers(last.activate(resolved(1))) == ["a", "b"]


def test_a_question_that_is_a_task_of_its_own_is_answered_at_once() -> None:
    _, last = running([1])
    assert answers(last.activate(asked(LEGACY))) == [LEGACY]


def test_a_task_that_fails_answers_nothing() -> None:
    instance, last = running([1])
    last.activate(asked("a"))
    instance.fails = True
    assert last.activate(resolved(1)).failed.failure.message == "broken"


async def test_a_look_at_a_new_lease_leaves_its_first_task_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked before any worker is there, the question comes with the task that records the request."""
    put_off = threading.Event()
    monkeypatch.setattr(queries, "_nothing_yet", _noting(queries._nothing_yet, put_off))
    async with dev_server() as env, idle_world(env) as world:
        monkeypatch.setattr(world.ledger, "record", _once(put_off, world.ledger.record))
        handle = await world.ask()
        look = asyncio.create_task(world.lease(handle))
        async with world.working():
            assert (await look).state is State.REQUESTED
            await world.until(handle, State.AWAITING_APPROVAL)
        history = await world.history(handle)
    assert put_off.is_set()
    assert [event.event_type for event in history[:7]] == [
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_MARKER_RECORDED,
        EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    ]


def _noting(
    nothing_yet: Callable[[str], WorkflowActivationCompletion], put_off: threading.Event
) -> Callable[[str], WorkflowActivationCompletion]:
    def noting(run_id: str) -> WorkflowActivationCompletion:
        put_off.set()
        return nothing_yet(run_id)

    return noting


def _once(put_off: threading.Event, record: Callable[..., None]) -> Callable[..., None]:
    """Recording waits until somebody has asked, for some seconds at the most."""

    def recorded(*what: Any) -> None:
        put_off.wait(5)
        record(*what)

    return recorded
