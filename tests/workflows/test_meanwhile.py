"""What people do in the very moment in which a lease awaits something else: a price, a message, its next run."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest
from temporalio.testing import WorkflowEnvironment

from lessor.contracts import SIGNAL_ACT, Act, Notice, Verb
from lessor.domain.lease import State
from lessor.domain.pending import Changes
from lessor.domain.terms import Terms
from lessor.ports import PermanentError
from tests.temporal import dev_server
from tests.workflows.test_reserving import reserved
from tests.world import MANAGER, REQUESTER, Handle, World, idle_world
from workflows import rhythm

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


async def test_a_reservation_withdrawn_while_its_price_could_not_be_read_is_withdrawn(world: World) -> None:
    reached, go = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        assert go.wait(60)

    handle = await reserved(world)
    world.cloud.before["quote"] = hold
    world.cloud.fail["quote"] = [PermanentError("this account is closed")]
    skipping = asyncio.create_task(world.sleep(3 * DAY + MINUTE))
    assert await asyncio.to_thread(reached.wait, 60)
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    go.set()
    await skipping
    async with asyncio.timeout(60):
        assert (await handle.result()).state == "withdrawn"
    assert world.cloud.times("launch") == 0
    assert world.ledger.held("research") == ()


async def test_an_end_that_moves_as_the_next_run_begins_is_written_on_the_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with dev_server() as env, idle_world(env) as world:
        async with world.working():
            handle = await world.active()
            ends_at = (await world.lease(handle)).ends_at
        assert ends_at is not None
        sooner = ends_at - HOUR
        monkeypatch.setattr(rhythm, "ACTS_LIMIT", 2)
        await _signal(handle, Act("one", Verb.KEEP, REQUESTER.id))
        await _signal(handle, Act("two", Verb.SHORTEN, REQUESTER.id, until=sooner))
        async with world.working():
            await world.eventually(lambda: world.cloud.ends.get(handle.id) == sooner, "it on the machine")
            await _renewed(world, handle)


async def test_a_request_that_changes_as_the_next_run_begins_is_judged_before_others_act(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with idle_world(server) as world:
        handle = await world.ask()
        monkeypatch.setattr(rhythm, "ACTS_LIMIT", 1)
        await _signal(handle, Act("one", Verb.KEEP, REQUESTER.id))
        await _signal(handle, Act("two", Verb.REVISE, REQUESTER.id, changes=Changes(duration=6 * HOUR)))
        await _signal(handle, Act("three", Verb.APPROVE, MANAGER.id))
        async with world.working():
            active = await world.recorded(handle, State.ACTIVE)
            assert active.request.duration == 6 * HOUR
            await _renewed(world, handle)


async def test_a_warning_under_way_to_the_former_owner_does_not_count_for_the_new_one(world: World) -> None:
    go, reached = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        reached.set()
        await go.wait()

    handle = await world.active()
    assert (await world.act(handle, Verb.TRANSFER, REQUESTER, to=MANAGER.id)).ok
    world.notifier.before[Notice.WARNING] = hold
    skipping = asyncio.create_task(world.sleep(7 * HOUR + 31 * MINUTE))
    await asyncio.wait_for(reached.wait(), 60)
    del world.notifier.before[Notice.WARNING]
    assert (await world.act(handle, Verb.TAKE, MANAGER)).ok
    go.set()
    await skipping
    await world.told(handle, "transferred")
    assert (await world.lease(handle)).warned == ()
    await world.sleep(15 * MINUTE)
    await world.when(handle, lambda found: bool(found.warned), "a warning of the new owner")
    assert world.notifier.kinds(handle.id).count("warning") == 2


async def test_a_click_on_the_card_of_an_earlier_wish_grants_no_later_end(world: World) -> None:
    """The card of the second wish is still under way."""
    go, reached = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        reached.set()
        await go.wait()

    world.terms = Terms(auto_extensions=0)
    handle = await world.active()
    ends_at = (await world.lease(handle)).ends_at
    assert ends_at is not None
    assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + HOUR)).ok
    await world.told(handle, "extension-asked")
    world.notifier.before[Notice.EXTENSION_ASKED] = hold
    assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + 9 * HOUR)).ok
    await asyncio.wait_for(reached.wait(), 60)
    early = await world.act(handle, Verb.GRANT, MANAGER, via="slack")
    assert (early.code, (await world.lease(handle)).ends_at) == ("changed", ends_at)
    go.set()
    await world.eventually(lambda: world.notifier.kinds(handle.id).count("extension-asked") == 2, "the second card")
    assert (await world.act(handle, Verb.GRANT, MANAGER, via="slack")).ok
    assert (await world.lease(handle)).ends_at == ends_at + 9 * HOUR


async def _signal(handle: Handle, act: Act) -> None:
    """What reaches a workflow while no worker runs comes to it all at once."""
    await handle.signal(SIGNAL_ACT, act)


async def _renewed(world: World, handle: Handle) -> None:
    """The lease goes on in another run than the one that the handle stands for."""
    latest = world.env.client.get_workflow_handle(handle.id)
    for _ in range(500):
        if (await latest.describe()).run_id != handle.first_execution_run_id:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{handle.id} never continued as new")
