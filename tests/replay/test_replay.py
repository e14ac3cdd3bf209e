"""Cases B01 and B02: what an earlier version began goes on under this one.

A red test here means that leases which are running now would stop moving after a deploy: gate the change with
`workflow.patched` instead of recording anew.
"""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import (
    Interceptor,
    Replayer,
    StartActivityInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

import lessor.domain
from lessor import contracts
from lessor.contracts import Notice, NotifyInput, PeopleReport, PlaceReport, SweepPlace, Verb
from lessor.converter import data_converter
from lessor.domain import life
from lessor.domain.asking import Told
from lessor.domain.lease import OPEN, Change, Event, State
from lessor.domain.requoting import Difference
from lessor.garbage import Turnover
from tests.replay.histories import Stored, stored, version
from tests.temporal import time_skipping
from tests.world import idle_world
from workflows import calls, people_calls, sweep_calls
from workflows.book import Book
from workflows.life import Life
from workflows.worker import WORKFLOWS, Activities, workflow_runner

EVERY = [pytest.param(one, id=one.name) for one in stored()]


def replayer(*interceptors: Interceptor) -> Replayer:
    """As a worker of ours would go on with it."""
    return Replayer(
        workflows=WORKFLOWS,
        workflow_runner=workflow_runner(Turnover()),
        data_converter=data_converter,
        interceptors=interceptors,
    )


@pytest.mark.parametrize("history", EVERY)
async def test_B01_deploy_breaks_running_workflows(history: Stored) -> None:
    await replayer().replay_workflow(history.load())


def test_B01_this_version_has_histories() -> None:
    assert version() in {one.path.parent.name for one in stored()}


async def test_B01_a_lease_that_began_before_a_deploy_ends_at_its_time() -> None:
    """The worker that ends it is another than the one that it began on, and knows it by its history alone."""
    async with time_skipping() as env, idle_world(env) as world:
        # The time-skipping server stands still when a workflow is kept for a worker that is gone.
        async with world.working(max_cached_workflows=0):
            handle = await world.active()
            ends_at = (await world.lease(handle)).ends_at
        async with world.working():
            await world.sleep(timedelta(hours=8, minutes=1))
            stopped = await world.until(handle, State.STOPPED)
        assert ends_at is not None
        assert stopped.stopped_at is not None
        assert timedelta() <= stopped.stopped_at - ends_at < timedelta(minutes=1)


@pytest.mark.parametrize("change", ["one-timer-more", "no-stop", "another-activity"])
async def test_B01_a_changed_workflow_is_caught(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _change_life(change, monkeypatch)
    with pytest.raises(workflow.NondeterminismError):
        await replayer().replay_workflow(_whole_life())


async def test_B01_a_change_behind_a_patch_gate_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy holds: the same timer, for new leases only."""
    _change_life("one-timer-more", monkeypatch, gated=True)
    await replayer().replay_workflow(_whole_life())


def test_B01_every_verb_arrived_as_an_update_or_a_signal() -> None:
    events = [event for one in stored() for event in one.load().events]
    updates = {e.workflow_execution_update_accepted_event_attributes.accepted_request.input.name for e in events}
    signals = {e.workflow_execution_signaled_event_attributes.signal_name for e in events}
    assert updates - {""} == {verb.value for verb in Verb}
    assert signals - {""} == {
        contracts.SIGNAL_ACT,
        contracts.SIGNAL_OBSERVED,
        contracts.SIGNAL_RESTAFF,
        contracts.SIGNAL_OWNER_LEFT,
        contracts.SIGNAL_METERED,
        contracts.SIGNAL_OVER_BUDGET,
    }


def test_B01_every_workflow_and_a_later_run_are_stored() -> None:
    started = [one.load().events[0].workflow_execution_started_event_attributes for one in stored()]
    assert {start.workflow_type.name for start in started} == {
        contracts.LEASE_WORKFLOW,
        contracts.SWEEP_WORKFLOW,
        contracts.PEOPLE_WORKFLOW,
        contracts.METER_WORKFLOW,
    }
    assert any(start.continued_execution_run_id for start in started)


async def test_B01_every_phase_state_event_and_message_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As this version sees the histories: what is new and was never recorded is missed here."""
    phases, states, types = _watched(monkeypatch)
    commands = Commands()
    for one in stored():
        await replayer(commands).replay_workflow(one.load())
    assert states == set(State)
    assert phases == OPEN
    assert types >= _event_types()
    assert {found.notice for _, found in commands.given if isinstance(found, NotifyInput)} == set(Notice)
    assert {name for name, _ in commands.given} == _activities()


@pytest.mark.parametrize("history", EVERY)
async def test_B02_a_new_random_draw_shifts_later_ids(history: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever leaves the workflow (names, tokens, ids, records, lengths of timers) is the same with and without."""
    before, after = Commands(), Commands()
    await replayer(before).replay_workflow(history.load())
    _draw_first(monkeypatch)
    await replayer(after).replay_workflow(history.load())
    assert after.given == before.given
    assert before.given


class Commands(Interceptor):
    """Remembers what workflows command: the name or kind, and the input."""

    def __init__(self) -> None:
        self.given: list[tuple[str, object]] = []

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        given = self.given

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
                given.extend((input.activity, argument) for argument in input.args or (None,))
                return super().start_activity(input)

            def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
                given.extend((input.activity, argument) for argument in input.args or (None,))
                return super().start_local_activity(input)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

        return Inbound


def _whole_life() -> WorkflowHistory:
    return next(one for one in stored() if one.path.stem == "whole_life").load()


def _change_life(change: str, monkeypatch: pytest.MonkeyPatch, *, gated: bool = False) -> None:
    provision, end = Life._provision, Life._end

    async def one_timer_more(self: Life) -> None:
        if not gated or workflow.patched("one-timer-more"):
            await workflow.sleep(1)
        await provision(self)

    async def no_stop(self: Life) -> None:
        self._book.apply(life.start_deleting(self.lease, workflow.now()))

    async def another_activity(self: Life) -> None:
        await calls.look(self.lease)
        await end(self)

    method, body = {
        "one-timer-more": ("_provision", one_timer_more),
        "no-stop": ("_end", no_stop),
        "another-activity": ("_end", another_activity),
    }[change]
    monkeypatch.setattr(Life, method, body)


def _draw_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every phase of a lease, before a sweep reads its first place, and before one looks at people."""
    phase, read_place, sweep_people = Life._phase, sweep_calls.read_place, people_calls.sweep_people

    async def drawn_phase(self: Life) -> None:
        workflow.random().random()
        workflow.uuid4()
        await phase(self)

    async def drawn_reading(wanted: SweepPlace) -> PlaceReport:
        workflow.random().random()
        return await read_place(wanted)

    async def drawn_look_at_people() -> PeopleReport:
        workflow.random().random()
        return await sweep_people()

    monkeypatch.setattr(Life, "_phase", drawn_phase)
    monkeypatch.setattr(sweep_calls, "read_place", drawn_reading)
    monkeypatch.setattr(people_calls, "sweep_people", drawn_look_at_people)


def _watched(monkeypatch: pytest.MonkeyPatch) -> tuple[set[State], set[State], set[str]]:
    """The phases, the states and the types of events that replays go through from now on."""
    phases: set[State] = set()
    states: set[State] = set()
    types: set[str] = set()
    phase, note = Life._phase, Book.note

    async def seen_phase(self: Life) -> None:
        phases.add(self.lease.state)
        await phase(self)

    def seen_change(self: Book, change: Change) -> None:
        states.add(change.lease.state)
        types.update(event.type for event in change.events)
        note(self, change)

    monkeypatch.setattr(Life, "_phase", seen_phase)
    monkeypatch.setattr(Book, "note", seen_change)
    return phases, states, types


def _event_types() -> set[str]:
    """Every type that the domain spells out; the others are the names of final states."""
    spelled = {Event.__name__, Told.__name__, Difference.__name__}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(*lessor.domain.__path__).glob("*.py")]
    calls_made = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [c.args[0] for c in calls_made if isinstance(c.func, ast.Name) and c.func.id in spelled]
    return {str(first.value) for first in named if isinstance(first, ast.Constant)}


def _activities() -> set[str]:
    """The names of everything that our workers can be told to do."""
    holders = [one for held in get_type_hints(Activities).values() for one in get_args(held) or (held,)]
    return {
        name for one in holders for name, made in vars(one).items() if hasattr(made, "__temporal_activity_definition")
    }
