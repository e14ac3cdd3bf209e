"""The watch over places, with real workflows: what it tells, what it takes down, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.sweep import SweepActivities
from lessor import contracts
from lessor.contracts import Alarm, PageInput, RunsReport, SweepInput, SweepRuns, Verb
from lessor.domain import transitions
from lessor.domain.lease import State
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind
from lessor.ports import Ended, PermanentError
from tests.fakes import throttled
from tests.world import PLACE, REQUESTER, World

WHOLE_PLACE = Place(PLACE.provider, PLACE.name)
NOT_ALLOWED = PermanentError("not authorized", "UnauthorizedOperation")
TAKEN_DOWN = "a new workflow takes down what they have left"
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("trouble", [throttled(), PermanentError("not authorized", "UnauthorizedOperation")])
async def test_a_place_that_cannot_be_read_whole_changes_nothing(world: World, trouble: Exception) -> None:
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    world.turn(handle, Condition.GONE, "gone")
    world.cloud.fail["conditions"] = [trouble]
    report = (await world.sweep()).places[0]
    assert (report.complete, report.told, report.missing, report.problem) == (False, (), (), str(trouble))
    assert (await world.lease(handle)).state is State.ACTIVE
    assert world.cloud.times("conditions") == 1
    assert world.cloud.times("attribute") == 0


async def test_a_kind_that_may_not_be_read_is_told_to_administrators_and_hides_nothing_else(world: World) -> None:
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    (machine,) = world.cloud.alive(handle.id)
    every = replace(machine, kind=Kind.VOLUME, id=f"{handle.id}/*", condition=Condition.UNKNOWN, reason="forbidden")
    world.cloud.machines[every.id], world.cloud.owners[every.id] = every, handle.id
    world.turn(handle, Condition.STOPPED, "stopped outside")
    report = (await world.sweep()).places[0]
    assert (report.complete, report.blind, report.problem) == (True, "forbidden", "forbidden")
    assert report.told == (handle.id,)
    assert world.notifier.paged == [PageInput(Alarm.RIGHTS, str(WHOLE_PLACE), "forbidden")]


async def test_open_leases_are_not_resumed(world: World) -> None:
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    assert (await world.sweep()).runs == RunsReport(1)
    assert world.notifier.paged == []
    assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok


async def test_what_appears_after_a_lease_was_closed_is_taken_down(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    await world.until(handle, State.STOPPED)
    await world.sleep(timedelta(days=7, minutes=5))
    await world.recorded(handle, State.CLOSED)
    machine = next(iter(world.cloud.machines.values()))
    world.cloud.machines[machine.id] = replace(machine, condition=Condition.RUNNING)
    assert (await world.sweep()).places[0].left_over == ()
    await world.sleep(11 * MINUTE)
    outcome = await world.sweep()
    assert (outcome.places[0].left_over, outcome.runs.resumed) == ((handle.id,), (handle.id,))
    await world.recorded(handle, State.CLOSED)
    assert world.cloud.alive(handle.id) == []
    assert world.events(handle)[-2:] == ["left-over-found", "closed"]
    assert world.notifier.paged == []


async def test_what_only_carries_our_tag_is_left_alone(world: World) -> None:
    handle = await world.active()
    machine = world.cloud.alive(handle.id)[0]
    world.cloud.machines["i-foreign"] = replace(machine, id="i-foreign", token="")
    world.cloud.owners["i-foreign"] = "gpu-zzzzzzzz"
    await world.sleep(11 * MINUTE)
    report = (await world.sweep()).places[0]
    assert (report.resources, report.left_over) == (2, ())
    assert world.cloud.machines["i-foreign"].condition is Condition.RUNNING


async def test_a_lease_that_cannot_be_told_spoils_no_other(world: World) -> None:
    """Its workflow was terminated: told is who could be; the same sweep goes on with the other."""
    lost, terminated = await world.active(), await world.active()
    await world.sleep(11 * MINUTE)
    for handle in (terminated, lost):
        world.turn(handle, Condition.GONE, "gone")
    await terminated.terminate()
    outcome = await world.sweep()
    assert (outcome.places[0].told, outcome.runs.resumed) == ((lost.id,), (terminated.id,))
    await world.until(lost, State.DELETING, State.CLOSED)


async def test_the_brake_pages_the_administrators(world: World) -> None:
    """Nobody knows of the workflows of all five leases: that looks like our mistake, so all that happens are pages."""
    lost = await forgotten(world, 5)
    report = (await world.sweep()).runs
    assert (report.resumed, report.stranded) == ((), lost)
    assert report.brake == (
        "5 of 5 leases have no workflow and nobody ended it; nothing was done about them, "
        "an administrator has to look at this"
    )
    assert sorted(world.notifier.paged, key=lambda page: page.alarm) == [
        PageInput(Alarm.BRAKE, "workflows", report.brake),
        PageInput(Alarm.NO_WORKFLOW, ", ".join(lost), f"nothing was done about them: {report.brake}"),
    ]


async def test_the_brake_over_a_place_pages_the_administrators(world: World) -> None:
    handles = [await world.active() for _ in range(5)]
    await world.sleep(11 * MINUTE)
    world.cloud.machines.clear()
    async with in_a_row(world) as sweeps:
        assert [await anext(sweeps), await anext(sweeps)] == [1, 2]
        assert world.notifier.paged == []
        await anext(sweeps)
    words = (
        "5 of 5 leases are not shown at all any more; nothing was done about them, an administrator has to look at this"
    )
    assert world.notifier.paged == [PageInput(Alarm.BRAKE, str(WHOLE_PLACE), words)]
    assert [(await world.lease(handle)).state for handle in handles] == [State.ACTIVE] * 5


async def test_a_place_unread_three_times_in_a_row_pages_the_administrators(world: World) -> None:
    """One sweep that reads it whole begins the row anew."""
    async with in_a_row(world) as sweeps:
        for trouble in (NOT_ALLOWED, NOT_ALLOWED, None, NOT_ALLOWED, NOT_ALLOWED):
            world.cloud.fail["conditions"] = [trouble] if trouble else []
            await anext(sweeps)
        assert world.notifier.paged == []
        world.cloud.fail["conditions"] = [throttled()]
        await anext(sweeps)
    assert world.notifier.paged == [PageInput(Alarm.UNREAD, str(WHOLE_PLACE), str(throttled()))]


async def test_a_page_that_nobody_heard_is_sent_again_by_the_next_sweep(world: World) -> None:
    (lost,) = await forgotten(world, 1)
    world.notifier.deaf = 1
    async with in_a_row(world) as sweeps:
        await anext(sweeps)
        assert (world.notifier.deaf, world.notifier.paged) == (0, [])
        await anext(sweeps)
        await anext(sweeps)
    assert world.notifier.paged == [PageInput(Alarm.NO_WORKFLOW, lost, TAKEN_DOWN)]


async def test_a_lease_that_closes_while_its_workflow_is_looked_for_is_not_missed(world: World) -> None:
    """What was listed as open may be over by the time its workflow is asked for, and rightly has none."""
    (lost,) = await forgotten(world, 1)
    lease = world.ledger.lease(lost)
    assert lease is not None
    at = lease.requested_at + 11 * MINUTE

    class Closing:
        async def ended(self, lease_id: str) -> Ended:
            change = transitions.withdraw(lease, lease.owner, at)
            world.ledger.record(change.lease, change.events)
            return Ended(False, "its workflow is over although the lease was not")

    look = SweepActivities({}, world.ledger, Closing(), lambda: at).resume_lost
    assert await ActivityEnvironment().run(look, SweepRuns()) == RunsReport(1)


async def forgotten(world: World, count: int) -> tuple[str, ...]:
    """Open leases on record, old enough to be judged, whose workflows Temporal does not know; their ids."""
    handle = await world.ask()
    like = await world.until(handle, State.AWAITING_APPROVAL)
    stored = [one.event for one in world.ledger.events(handle.id)]
    await world.act(handle, Verb.WITHDRAW, REQUESTER)
    await world.recorded(handle, State.WITHDRAWN)
    ids = tuple(f"gpu-{one}" for one in "abcde"[:count])
    for lease_id in ids:
        world.ledger.record(replace(like, id=lease_id), stored[-1:])
    await world.sleep(11 * MINUTE)
    return ids


@asynccontextmanager
async def in_a_row(world: World) -> AsyncIterator[AsyncIterator[int]]:
    """Sweeps that hand their results on, as a schedule starts them; each step of the iterator is one, whole."""
    handle = await world.env.client.start_workflow(
        contracts.SWEEP_WORKFLOW,
        SweepInput((WHOLE_PLACE,)),
        id="sweeps",
        task_queue=contracts.TASK_QUEUE,
        cron_schedule="*/5 * * * *",
    )

    async def steps() -> AsyncIterator[int]:
        number = 0
        while True:
            number += 1
            before = (await handle.describe()).run_id
            await world.sleep(5 * MINUTE)
            for _ in range(1_000):
                if (await handle.describe()).run_id != before:
                    break
                await asyncio.sleep(0.01)
            else:
                raise AssertionError(f"sweep {number} is not over")
            yield number

    try:
        yield steps()
    finally:
        await handle.terminate()
