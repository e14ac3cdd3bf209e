"""Machines that somebody starts, or deletes, behind our back while they rest."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Notice, Verb
from lessor.domain.lease import State
from lessor.domain.resource import Condition
from tests.world import REQUESTER, World

MINUTE = timedelta(minutes=1)


async def test_what_is_started_during_its_grace_is_stopped_again(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    before = await world.until(handle, State.STOPPED)
    await world.sleep(11 * MINUTE)
    world.turn(handle, Condition.RUNNING, "")
    assert (await world.sweep()).places[0].told == (handle.id,)
    lease = await world.when(handle, lambda found: len(found.spans) == 2 and found.state is State.STOPPED, "a stop")
    assert lease.stopped_at == before.stopped_at, "the grace is no longer for it"
    assert all(one.condition is Condition.STOPPED for one in world.cloud.alive(handle.id))
    assert world.events(handle)[-2:] == ["started-outside", "stopped"]
    assert (await world.sweep()).places[0].told == ()


async def test_what_is_deleted_during_its_grace_is_cleaned_up_after(world: World) -> None:
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    await world.until(handle, State.STOPPED)
    await world.sleep(11 * MINUTE)
    world.turn(handle, Condition.GONE, "terminated outside")
    assert (await world.sweep()).places[0].told == (handle.id,)
    await world.recorded(handle, State.CLOSED)
    assert "interrupted" in world.events(handle)
    assert (await world.lease(handle)).ending_reason == "interrupted: terminated outside"
    await world.told(handle, Notice.INTERRUPTED.value)
