"""The watch over places, with real workflows: what it tells, what it takes down, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import RunsReport, Verb
from lessor.domain.lease import State
from lessor.domain.resource import Condition
from lessor.ports import PermanentError
from tests.fakes import throttled
from tests.world import REQUESTER, World

MINUTE = timedelta(minutes=1)


async def test_an_interrupted_lease_is_told_and_the_others_are_not(world: World) -> None:
    lost, stopped, kept = [await world.active() for _ in range(3)]
    await world.sleep(11 * MINUTE)
    world.turn(lost, Condition.GONE, "Server.SpotInstanceTermination")
    world.turn(stopped, Condition.STOPPED, "User initiated")
    before = (await kept.describe()).history_length
    outcome = await world.sweep()
    assert set(outcome.places[0].told) == {lost.id, stopped.id}
    assert (outcome.places[0].complete, outcome.places[0].resources, outcome.places[0].leases) == (True, 3, 3)
    assert (await world.until(stopped, State.STOPPED)).ending_reason == "interrupted: User initiated"
    ended = await world.until(lost, State.DELETING, State.CLOSED)
    assert ended.ending_reason == "interrupted: Server.SpotInstanceTermination"
    assert (await kept.describe()).history_length == before
    assert world.cloud.times("conditions") == 1
    await world.told(lost, "interrupted")
    assert (await world.sweep()).places[0].told == ()


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


async def test_a_terminated_lease_is_taken_down_and_can_be_asked_for_again(world: World) -> None:
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    await handle.terminate("cleaning up")
    assert [r.lease_id for r in world.ledger.held("research")] == [handle.id]
    outcome = await world.sweep()
    assert outcome.runs == RunsReport(1, (handle.id,))
    record = await world.recorded(handle, State.CLOSED)
    assert record.ending_reason == "terminated: an administrator ended its workflow"
    assert world.cloud.alive(handle.id) == []
    assert world.ledger.held("research") == ()
    assert world.events(handle)[-2:] == ["terminated", "closed"]
    await world.told(handle, "cancelled")
    await world.told(handle, "closed")
    await world.active()


async def test_a_terminated_request_that_holds_nothing_is_closed(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.sleep(11 * MINUTE)
    await handle.terminate()
    assert (await world.sweep()).runs.resumed == (handle.id,)
    await world.recorded(handle, State.CLOSED)
    assert world.cloud.calls.count("look") == 0
    assert world.events(handle)[-1] == "terminated"
    await world.told(handle, "decided")


async def test_a_lease_of_moments_ago_is_given_time(world: World) -> None:
    old = await world.ask()
    await world.until(old, State.AWAITING_APPROVAL)
    await world.sleep(10 * MINUTE)
    new = await world.ask()
    await world.until(new, State.AWAITING_APPROVAL)
    for handle in (old, new):
        await handle.terminate()
    assert (await world.sweep()).runs == RunsReport(1, (old.id,))
    assert (await world.recorded(old, State.CLOSED)).ending_reason.startswith("terminated: ")
    assert (await world.recorded(new, State.AWAITING_APPROVAL)).ending_reason == ""


async def test_open_leases_are_not_resumed(world: World) -> None:
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    assert (await world.sweep()).runs == RunsReport(1)
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
