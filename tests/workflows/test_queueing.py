"""A lease in the queue of a cluster: what was made of it stays while it waits, and goes when it waits no longer."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import QUEUED, Verb
from lessor.domain.lease import State
from lessor.ports import NoCapacityError
from tests.world import MANAGER, REQUESTER, World


def queued(*numbers: int) -> list[Exception]:
    """The answers of a queue in which a lease moves up."""
    return [NoCapacityError("it waits", (f"number {one} of 3 that wait in queue gpus",), QUEUED) for one in numbers]


async def test_a_lease_in_a_queue_keeps_what_was_made_and_begins_when_its_turn_comes(world: World) -> None:
    world.cloud.fail["await_usable"] = queued(3, 2)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    waiting = await world.until(handle, State.WAITING_FOR_CAPACITY)
    assert waiting.capacity is not None
    assert (waiting.capacity.queued, waiting.capacity.tried) == (True, ("number 3 of 3 that wait in queue gpus",))
    assert len(world.cloud.alive(handle.id)) == 1
    await world.sleep(timedelta(minutes=21))
    assert (await world.until(handle, State.ACTIVE)).capacity is None
    assert world.cloud.times("launch") == 1
    steps = [one for one in world.events(handle) if one in ("provisioning", "queued", "still-queued", "ready")]
    assert steps == ["provisioning", "queued", "provisioning", "still-queued", "provisioning", "ready"]
    assert world.notifier.kinds(handle.id) == ["request", "decided", "waiting", "ready"]


async def test_a_lease_that_is_taken_out_of_its_queue_leaves_nothing_behind(world: World) -> None:
    world.cloud.fail["await_usable"] = queued(2)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    assert (await handle.result()).state == "withdrawn"
    assert world.cloud.alive(handle.id) == []


async def test_a_turn_that_never_comes_fails_after_the_waits_of_the_terms(world: World) -> None:
    world.cloud.fail["await_usable"] = queued(*[1] * 200)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    assert (await handle.result()).state == "failed"
    problem = (await world.lease(handle)).problem
    assert problem == "its turn did not come within 15 h; it was number 1 of 3 that wait in queue gpus"
    assert world.cloud.alive(handle.id) == []
