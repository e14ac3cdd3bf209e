"""Cases B04, B05, B14, B15 and B16: long lives, many acts, many resources, dead workers and large payloads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.message import Message
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import Worker

from activities.sizes import MOST_BYTES, SizeLimit
from lessor.contracts import SIGNAL_OBSERVED, Act, Answer, Observed, Verb
from lessor.domain.lease import State
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.resource import Resource
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine
from lessor.ports import Heartbeat
from tests.fakes import FakeCloud
from tests.temporal import dev_server, time_skipping
from tests.world import REQUESTER, World, activity_time, busy_world, idle_world

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
WARNING_LEVEL = 256 * 1024
MOST_EVENTS = 10_240


async def test_B04_history_limit_reached_by_a_polling_loop(leases: World) -> None:
    """Ninety days with fifty extensions. Looking at the machine is the sweep's work and adds nothing here."""
    leases.terms = Terms(max_total=100 * DAY, auto_extensions=50)
    handle = await leases.active(duration=DAY)
    lease = await leases.lease(handle)
    assert lease.ends_at is not None
    ends_at = lease.ends_at
    for _ in range(50):
        ends_at += 89 * DAY / 50
        assert (await leases.act(handle, Verb.EXTEND, REQUESTER, until=ends_at)).ok
        await leases.sleep(89 * DAY / 50)
    lived = await leases.lease(handle)
    assert (lived.state, lived.extensions, lived.ends_at) == (State.ACTIVE, 50, ends_at)
    outcome = await handle.result()
    assert outcome.state == "closed"
    assert outcome.hours == pytest.approx(90 * 24, abs=1)
    assert 0 < (await handle.describe()).history_length < MOST_EVENTS / 5


@pytest.mark.timeout(600)
async def test_B05_too_many_updates_in_one_run() -> None:
    """25 at once are all answered, although the server takes 10; and a lease of 2,500 acts goes on."""
    async with dev_server() as env, busy_world(env) as leases:
        engine = TemporalEngine(env.client, Terms, answer_within=10 * MINUTE)
        leases.terms = Terms(auto_extensions=25)
        handle = await leases.active()
        ends_at = (await leases.lease(handle)).ends_at
        assert ends_at is not None

        async def extend(number: int) -> Answer | None:
            act = Act(f"e{number}", Verb.EXTEND, REQUESTER.id, until=ends_at + number * MINUTE)
            return await engine.act(handle.id, act)

        answers = await asyncio.gather(*(extend(number) for number in range(1, 26)))
        codes = [answer.code for answer in answers if answer is not None]
        assert len(codes) == 25
        assert set(codes) <= {"extend", "end-not-later"}
        assert (await leases.lease(handle)).ends_at == ends_at + 25 * MINUTE
        first = (await handle.describe()).run_id
        few = asyncio.Semaphore(9)

        async def keep(number: int) -> bool:
            async with few:
                answer = await engine.act(handle.id, Act(f"k{number}", Verb.KEEP, REQUESTER.id))
                return answer is not None and answer.ok

        assert all(await asyncio.gather(*(keep(number) for number in range(2_475))))
        latest = env.client.get_workflow_handle(handle.id)
        assert (await latest.describe()).run_id != first
        assert leases.events(handle).count("kept") == 2_475
        again = await engine.act(handle.id, Act("k2474", Verb.KEEP, REQUESTER.id))
        assert again is not None
        assert leases.events(handle).count("kept") == 2_475
        assert (await leases.lease(latest)).ends_at == ends_at + 25 * MINUTE


async def test_B14_dead_worker_noticed_an_hour_later(leases: World) -> None:
    """Whatever may last longer than a minute gives a sign of life at least every two. A life that needs everything."""
    handle = await leases.active()
    ends_at = (await leases.lease(handle)).ends_at
    assert ends_at is not None
    await leases.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + HOUR)
    await leases.eventually(lambda: handle.id in leases.cloud.ends, "the end on the machine")
    await handle.signal(SIGNAL_OBSERVED, Observed("i-0", "gone", "", ends_at))
    await leases.eventually(lambda: leases.cloud.times("look") >= 2, "a second look")
    await leases.act(handle, Verb.RELEASE, REQUESTER)
    stopped = await leases.until(handle, State.STOPPED)
    assert stopped.stopped_at is not None
    await leases.act(handle, Verb.RESTORE, REQUESTER, until=stopped.stopped_at + 2 * HOUR)
    await leases.until(handle, State.ACTIVE)
    await leases.sweep()
    assert (await handle.result()).state == "closed"
    sweep: Any = leases.env.client.get_workflow_handle("sweep-1")
    seen: set[str] = set()
    for event in (*await leases.history(handle), *await leases.history(sweep)):
        if event.HasField("activity_task_scheduled_event_attributes"):
            wanted = event.activity_task_scheduled_event_attributes
            longest, beat = wanted.start_to_close_timeout.ToSeconds(), wanted.heartbeat_timeout.ToSeconds()
            assert longest > 0
            assert longest <= 60 or 0 < beat <= 120, wanted.activity_type.name
            seen.add(wanted.activity_type.name)
    everything = {"assess", "provision", "stop", "start", "take_down", "look", "set_end", "notify"}
    assert seen >= everything | {"read_place", "attribute", "resume_lost"}


class Fleet(FakeCloud):
    """A cloud whose every lease has five hundred machines."""

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        with self.lock:
            for number in range(len(self.machines), 500):
                machine = replace(resources[0], id=f"i-{number:017x}")
                self.machines[machine.id], self.owners[machine.id] = machine, order.lease_id
            mine = tuple(m for m in self.machines.values() if self.owners[m.id] == order.lease_id)
        return Provisioned(mine, "connect", self.clock(), self.hourly, self.stoppable)


async def test_B15_blocking_code_inside_the_workflow(caplog: pytest.LogCaptureFixture) -> None:
    """A lease of five hundred machines: no task is taken for stuck, none is large."""
    async with time_skipping() as env, idle_world(env) as leases:
        leases.cloud = Fleet(activity_time)
        with caplog.at_level(logging.WARNING):
            async with leases.working():
                handle = await leases.active()
                assert len((await leases.lease(handle)).resources) == 500
                assert (await leases.act(handle, Verb.KEEP, REQUESTER)).ok
                assert (await handle.result()).state == "closed"
        assert leases.cloud.alive(handle.id) == []
        history = await leases.history(handle)
        assert not [event for event in history if event.HasField("workflow_task_failed_event_attributes")]
        assert not [event for event in history if event.HasField("workflow_task_timed_out_event_attributes")]
        assert "TMPRL1101" not in caplog.text
        assert largest(history) < WARNING_LEVEL


async def test_B16_an_inventory_of_thousands_stays_out_of_the_history(leases: World) -> None:
    handle = await leases.active()
    [machine] = leases.cloud.alive(handle.id)
    for number in range(5_000):
        other = replace(machine, id=f"i-{number:017x}")
        leases.cloud.machines[other.id], leases.cloud.owners[other.id] = other, f"gpu-{number:08d}"
    report = (await leases.sweep()).places[0]
    assert (report.complete, report.resources) == (True, 5_001)
    sweep: Any = leases.env.client.get_workflow_handle("sweep-1")
    assert largest(await leases.history(sweep)) < 4_096


async def test_B16_oversized_payload_retried_for_ever() -> None:
    """It fails once, with a message that names the activity and the size."""
    asked: list[int] = []

    @activity.defn
    async def too_much() -> str:
        asked.append(1)
        return "x" * MOST_BYTES

    async with dev_server() as env:
        worker = Worker(
            env.client, task_queue="once", workflows=[Once], activities=[too_much], interceptors=[SizeLimit()]
        )
        async with worker:
            with pytest.raises(WorkflowFailureError) as caught:
                await env.client.execute_workflow("Once", id="once", task_queue="once")
    assert isinstance(caught.value.cause, ActivityError)
    problem = caught.value.cause.cause
    assert isinstance(problem, ApplicationError)
    assert (problem.type, problem.non_retryable, len(asked)) == ("TooLarge", True, 1)
    assert problem.message.startswith("activity too_much answered 1,000,002 bytes, at most 1,000,000 fit")


@workflow.defn(sandboxed=False)
class Once:
    """Waits for one activity, which is retried as Temporal does unless told otherwise."""

    @workflow.run
    async def run(self) -> str:
        return str(await workflow.execute_activity("too_much", start_to_close_timeout=timedelta(seconds=10)))


def largest(events: Sequence[Message]) -> int:
    """The size of the largest payload in the history, in bytes."""
    return max(len(payload.data) for event in events for payload in payloads(event))


def payloads(message: Message) -> Iterator[Payload]:
    """Every payload anywhere in a message."""
    if isinstance(message, Payload):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inner: Any = value.values() if hasattr(value, "values") else value if hasattr(value, "__iter__") else [value]
        for one in inner:
            if isinstance(one, Message):
                yield from payloads(one)
