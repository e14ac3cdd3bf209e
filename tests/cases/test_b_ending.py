"""Cases B24 to B28: leases that are cancelled, terminated, crash on their way, or can never be had."""

from __future__ import annotations

import asyncio
import random
import threading
from datetime import timedelta

import pytest

from lessor.contracts import RunsReport, Verb
from lessor.domain.lease import State, describe
from lessor.domain.resource import Condition
from lessor.ports import PermanentError, RetryableError
from tests.builders import a_quota, tiny_terms
from tests.temporal import dev_server
from tests.world import AT_ONCE, MANAGER, Handle, World, busy_world

MINUTE = timedelta(minutes=1)
WHOLE_LIFE = 9
"""How many events a lease has at most when it begins to be deleted: requested, assessed, ..., stopped, deleting."""


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
async def test_B24_cancellation_without_cleanup() -> None:
    """A hundred leases are cancelled wherever they are; each of them twice.

    The SDK warns when an activity has just ended by itself as its cancellation arrives.
    """
    draw = random.Random(24)
    few = asyncio.Semaphore(20)
    async with dev_server() as env, busy_world(env) as leases:
        leases.allow(a_quota("research", 200))
        leases.terms, leases.decision = tiny_terms(), AT_ONCE

        async def live(progress: int, pause: float) -> Handle:
            async with few:
                handle = await leases.ask(duration=timedelta(seconds=1))
                await leases.eventually(lambda: len(leases.events(handle)) >= progress, f"{progress} events")
                await asyncio.sleep(pause)
                await handle.cancel()
                await handle.cancel()
                return handle

        points = [(draw.randrange(WHOLE_LIFE), draw.random() / 20) for _ in range(100)]
        handles = await asyncio.gather(*(live(*point) for point in points))
        outcomes = await asyncio.gather(*(handle.result() for handle in handles))
        assert {outcome.state for outcome in outcomes} <= {"withdrawn", "closed"}
        assert {machine.condition for machine in leases.cloud.machines.values()} == {Condition.GONE}
        assert leases.ledger.held("research") == ()
        cancelled_in = set()
        for handle in handles:
            lease = leases.ledger.lease(handle.id)
            assert lease is not None
            [order, *_] = [e.event for e in leases.ledger.events(handle.id) if e.event.type == "cancelled"]
            cancelled_in.add(order.data["state"])
            if order.data["state"] not in ("deleting", "blocked"):
                assert describe(lease).startswith("cancelled by operator at ")
        assert len(cancelled_in) >= 5


async def test_B24_cancellation_while_waiting_for_people_says_so_on_the_card(leases: World) -> None:
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    await handle.cancel()
    assert (await handle.result()).state == "withdrawn"
    assert leases.notifier.kinds(handle.id) == ["request", "decided"]
    assert leases.cloud.calls.count("launch") == 0


async def test_B25_cleanup_step_itself_cancelled_or_hanging(leases: World) -> None:
    """The limit pages people and goes on trying; a second cancel stops nothing."""
    handle = await leases.active()
    leases.cloud.fail["delete"] = [RetryableError("the place does not answer") for _ in range(200)]
    await handle.cancel()
    await leases.until(handle, State.DELETING)
    await handle.cancel()
    await leases.sleep(20 * MINUTE)
    assert (await leases.lease(handle)).state is State.DELETING
    assert "blocked" not in leases.notifier.kinds(handle.id)
    await leases.sleep(45 * MINUTE)
    blocked = await leases.until(handle, State.BLOCKED)
    assert blocked.problem == "the place does not answer"
    await leases.told(handle, "blocked")
    leases.cloud.fail["delete"].clear()
    await handle.cancel()
    assert (await handle.result()).state == "closed"
    assert leases.cloud.alive(handle.id) == []
    assert leases.ledger.held("research") == ()


async def test_B26_administrator_terminates_the_workflow(leases: World) -> None:
    handle = await leases.active()
    await leases.sleep(11 * MINUTE)
    await handle.terminate(reason="cleaning up")
    assert [held.lease_id for held in leases.ledger.held("research")] == [handle.id]
    assert (await leases.sweep()).runs == RunsReport(1, (handle.id,))
    record = await leases.recorded(handle, State.CLOSED)
    assert describe(record) == "ended (terminated)"
    assert record.ending_reason == "terminated: an administrator ended its workflow (cleaning up)"
    assert record.spans[-1].end is not None
    assert leases.cloud.alive(handle.id) == []
    assert leases.ledger.held("research") == ()
    assert leases.events(handle)[-2:] == ["terminated", "closed"]
    await leases.told(handle, "cancelled")
    await leases.told(handle, "closed")
    await leases.active()


async def test_B26_a_terminated_request_holds_nothing_and_is_closed(leases: World) -> None:
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.sleep(11 * MINUTE)
    await handle.terminate()
    assert (await leases.sweep()).runs.resumed == (handle.id,)
    assert describe(await leases.recorded(handle, State.CLOSED)) == "ended (terminated)"
    assert leases.cloud.calls.count("look") == 0
    assert leases.events(handle)[-1] == "terminated"
    await leases.told(handle, "decided")


async def test_B26_a_termination_of_the_clean_up_is_survived_too(leases: World) -> None:
    handle = await leases.active()
    await leases.sleep(11 * MINUTE)
    leases.cloud.fail["delete"] = [PermanentError("termination protection is on")]
    await handle.cancel()
    await leases.when(handle, lambda lease: lease.left != (), "something left over")
    await handle.terminate()
    assert (await leases.sweep()).runs.resumed == (handle.id,)
    record = await leases.recorded(handle, State.CLOSED)
    assert record.ending_reason.startswith("terminated: ")
    assert leases.cloud.alive(handle.id) == []


async def test_B27_crash_in_the_middle_of_provisioning(leases: World) -> None:
    """The intent is on record before the call; the machine whose launch was given up is found and removed."""
    intended: list[tuple[str, ...]] = []
    handle = await leases.ask()

    def look_at_intents() -> None:
        intended.append(tuple(intent.token for intent in leases.ledger.intents(handle.id)))

    leases.cloud.before["launch"] = look_at_intents
    leases.cloud.lose["launch"] = [PermanentError("the connection broke and the answer never came")]
    await leases.until(handle, State.AWAITING_APPROVAL)
    assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
    assert (await handle.result()).state == "failed"
    assert intended == [(f"{handle.id}-us-east-1a",)]
    assert [machine.condition for machine in leases.cloud.machines.values()] == [Condition.GONE]
    assert leases.ledger.held("research") == ()


async def test_B27_what_is_created_after_the_lease_was_given_up_is_found_within_half_an_hour() -> None:
    """A launch that nobody waits for any more has its effect late: the sweep finds it by tag and intent."""
    reached, go = threading.Event(), threading.Event()
    async with dev_server() as env, busy_world(env) as leases:

        def hang() -> None:
            leases.cloud.before.pop("launch")
            reached.set()
            assert go.wait(60)

        leases.terms, leases.decision = tiny_terms(), AT_ONCE
        leases.cloud.before["launch"] = hang
        handle = await leases.ask()
        assert await asyncio.to_thread(reached.wait, 60)
        await handle.terminate(reason="cleaning up")
        leases.late = 11 * MINUTE
        assert (await leases.sweep()).runs.resumed == (handle.id,)
        record = await leases.recorded(handle, State.CLOSED)
        assert record.ending_reason == "terminated: an administrator ended its workflow (cleaning up)"
        go.set()
        await leases.eventually(lambda: bool(leases.cloud.alive(handle.id)), "the late machine")
        leases.late = 25 * MINUTE
        outcome = await leases.sweep()
        assert (outcome.places[0].left_over, outcome.runs.resumed) == ((handle.id,), (handle.id,))
        await leases.eventually(lambda: not leases.cloud.alive(handle.id), "the end of the late machine")


async def test_B28_permanent_error_retried_for_days(leases: World) -> None:
    leases.cloud.fail["launch"] = [PermanentError("192 vCPUs needed, the quota is 64", "VcpuLimitExceeded")]
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.act(handle, Verb.APPROVE, MANAGER)
    approved_at = (await leases.lease(handle)).approved_at
    await leases.told(handle, "failed")
    lease = await leases.lease(handle)
    assert lease.problem == "192 vCPUs needed, the quota is 64"
    assert approved_at is not None
    assert lease.deleting_at is not None
    assert lease.deleting_at - approved_at < MINUTE
    assert (await handle.result()).state == "failed"
    assert leases.cloud.times("launch") == 1
