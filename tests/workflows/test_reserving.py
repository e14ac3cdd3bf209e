"""Reservations for a future start, and waiting for capacity with alternatives."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from lessor.contracts import Verb
from lessor.domain.lease import State, minute
from lessor.domain.money import Money
from lessor.domain.pending import Changes
from lessor.domain.quote import Quote
from lessor.ports import NoCapacityError, RetryableError
from tests.world import MANAGER, REQUESTER, SECOND, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


async def reserved(world: World, ahead: timedelta = 3 * DAY, **changes: object) -> Handle:
    """An approved lease that begins in a few days."""
    start = await world.env.get_current_time() + ahead
    handle = await world.ask(start=start, **changes)
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.APPROVED)
    return handle


async def test_a_reservation_takes_its_quota_at_once_and_starts_its_clock_when_it_is_usable(world: World) -> None:
    handle = await reserved(world)
    await world.told(handle, "reserved")
    lease = await world.lease(handle)
    assert [r.gpus for r in world.ledger.held("research")] == [1]
    await world.sleep(2 * DAY)
    assert world.cloud.times("launch") == 0
    await world.sleep(DAY + MINUTE)
    active = await world.until(handle, State.ACTIVE)
    assert active.ready_at >= lease.request.start
    assert active.ends_at == active.ready_at + 8 * HOUR
    assert world.events(handle)[-4:] == ["approved", "reserved", "provisioning", "ready"]


async def test_a_price_that_rose_before_the_start_is_decided_again(world: World) -> None:
    handle = await reserved(world)
    world.cloud.hourly = Money(Decimal("5.00"), "USD")
    await world.sleep(3 * DAY + MINUTE)
    await world.until(handle, State.AWAITING_APPROVAL)
    assert world.ledger.held("research") == ()
    assert world.cloud.times("launch") == 0
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)


async def test_a_reservation_that_is_taken_back_gives_its_quota_back(world: World) -> None:
    handle = await reserved(world)
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    assert (await handle.result()).state == "withdrawn"
    assert world.ledger.held("research") == ()
    assert world.cloud.times("launch") == 0


async def test_nothing_is_created_for_who_left_before_the_start(world: World) -> None:
    """Whoever asked is not there any more; what others hold too is created for them."""
    mine, shared = await reserved(world), await reserved(world)
    assert (await world.act(shared, Verb.SHARE, REQUESTER, to=SECOND.id)).ok
    world.directory.closed.add(REQUESTER.id)
    await world.sleep(3 * DAY + MINUTE)
    lease = await world.until(mine, State.DENIED)
    assert lease.decided_reason == (
        "it was approved, but it cannot be created any more: "
        "U0REQUESTER is not an active person of this organisation; nothing was created"
    )
    await world.until(shared, State.ACTIVE)
    assert [r.lease_id for r in world.ledger.held("research")] == [shared.id]


async def test_an_end_that_came_before_it_could_start_fails_with_words(world: World) -> None:
    """Its price could not be read for a day; nothing is created for an end that has passed."""
    start = await world.env.get_current_time() + 3 * HOUR
    handle = await reserved(world, 3 * HOUR, duration=None, until=start + 2 * HOUR)
    world.cloud.fail["quote"] = [RetryableError("throttled") for _ in range(5_000)]
    await world.sleep(3 * HOUR + DAY + HOUR)
    assert (await handle.result()).state == "failed"
    lease = await world.lease(handle)
    assert lease.problem.startswith(f"the end asked for, {minute(lease.request.until)}, came before it could start")
    assert world.cloud.times("launch") == 0
    assert world.ledger.held("research") == ()


async def test_an_approval_that_comes_after_the_start_starts_at_once(world: World) -> None:
    start = await world.env.get_current_time() + HOUR
    handle = await world.ask(start=start)
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.sleep(2 * HOUR)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    assert "reserved" not in world.events(handle)


async def test_who_waits_for_capacity_sees_what_else_there_is(world: World) -> None:
    offers = world.cloud.offers

    def quote(need, place, market, now):  # type: ignore[no-untyped-def]
        found = Quote(need, offers(need, place, market)[0], now, "catalogue 2026-06-01")
        other = replace(found.offer, instance_type="g6.xlarge")
        return replace(found, alternatives=(found.offer, other))

    world.cloud.quote = quote  # type: ignore[method-assign]
    world.cloud.fail["launch"] = [NoCapacityError("none", ("g5.xlarge",), "InsufficientInstanceCapacity")] * 2
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    waiting = await world.until(handle, State.WAITING_FOR_CAPACITY)
    assert [one.instance_type for one in waiting.capacity.alternatives] == ["g6.xlarge"]
    assert [r.gpus for r in world.ledger.held("research")] == [1]
    revised = await world.act(handle, Verb.REVISE, REQUESTER, changes=Changes(instance_type="g6.xlarge"))
    assert revised.ok
    asked = await world.until(handle, State.AWAITING_APPROVAL)
    assert asked.request.need.instance_type == "g6.xlarge"
    assert world.ledger.held("research") == ()
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    assert [r.gpus for r in world.ledger.held("research")] == [1]
