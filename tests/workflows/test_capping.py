"""A lease with a cap: its people hear of it in time, it is stopped exactly there, and never without a warning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lessor import contracts
from lessor.contracts import MeterInput, MeterReport, Notice, OverBudget, Verb
from lessor.domain import costing, storage
from lessor.domain.capping import MONEY_GONE
from lessor.domain.ladder import Why
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import Ceiling, Kind, Then
from lessor.domain.terms import AtCap, Terms
from tests.world import MANAGER, REQUESTER, Handle, World

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
TEN = Money(Decimal(10))
"""At 2.50 USD an hour it is used up after 4 of the 8 hours."""
SECOND = timedelta(seconds=1)


def billed(lease: Lease) -> timedelta:
    return lease.hours(lease.suspended_at or datetime.now(UTC))


async def paused(world: World, handle: Handle) -> Lease:
    return await world.when(handle, lambda one: one.suspended_at is not None, "a stop that was seen")


async def test_it_is_told_three_times_and_stopped_at_the_cap(world: World) -> None:
    handle = await world.active(cap=TEN)
    await world.sleep(4 * HOUR + MINUTE)
    lease = await paused(world, handle)
    assert lease.pause is not None
    assert (lease.pause.why, lease.cap_told) == (Why.BUDGET, (50, 80, 100))
    assert timedelta() <= billed(lease) - 4 * HOUR < 10 * SECOND
    events = world.events(handle)
    assert events.count("cap-reached") == 3
    assert events.index("budget-stopped") > max(i for i, e in enumerate(events) if e == "cap-reached")
    assert world.notifier.kinds(handle.id).count("cap") == 3


async def test_nobody_reached_nothing_stopped(world: World) -> None:
    world.notifier.silent[Notice.CAP] = 10_000
    handle = await world.active(cap=TEN)
    await world.sleep(5 * HOUR)
    lease = await world.lease(handle)
    assert (lease.state, lease.cap_told, lease.cap_stop_at) == (State.ACTIVE, (), None)
    world.notifier.silent[Notice.CAP] = 0
    await world.sleep(2 * MINUTE)
    told = await world.when(handle, lambda one: one.cap_stop_at is not None, "a delivered warning")
    assert told.state is State.ACTIVE
    await world.sleep(told.terms.notice)
    lease = await paused(world, handle)
    assert lease.pause is not None
    assert lease.pause.at >= (told.cap_stop_at or lease.pause.at)


async def test_whoever_pays_can_start_it_again_and_it_is_stopped_again_later(world: World) -> None:
    handle = await world.active(cap=TEN)
    await world.sleep(4 * HOUR + MINUTE)
    await paused(world, handle)
    refused = await world.act(handle, Verb.START, REQUESTER)
    assert (refused.ok, refused.code) == (False, "over-budget")
    assert "its cap of 10.00 USD is used up" in refused.message
    assert (await world.act(handle, Verb.START, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    await world.sleep(2 * HOUR + MINUTE)
    lease = await paused(world, handle)
    assert lease.cap_told == (50, 80, 100, 150)
    assert timedelta() <= billed(lease) - 6 * HOUR < 20 * SECOND


async def test_who_gets_it_while_the_former_owner_is_told_is_told_as_well(world: World) -> None:
    async def hand_on() -> None:
        del world.notifier.before[Notice.CAP]
        assert (await world.act(handle, Verb.TRANSFER, REQUESTER, to=MANAGER.id)).ok
        assert (await world.act(handle, Verb.TAKE, MANAGER)).ok

    handle = await world.active(cap=TEN)
    world.notifier.before[Notice.CAP] = hand_on
    await world.sleep(2 * HOUR + MINUTE)
    lease = await world.when(handle, lambda one: bool(one.cap_told), "a word to the new owner")
    assert (lease.owner, lease.cap_told) == (MANAGER.id, (50,))
    assert world.notifier.kinds(handle.id).count("cap") == 2


async def test_where_it_is_only_warned_it_runs_to_its_end(world: World) -> None:
    world.terms = Terms(at_cap=AtCap.WARN)
    handle = await world.active(cap=Money(Decimal(9)))
    await world.sleep(8 * HOUR + MINUTE)
    lease = await world.until(handle, State.STOPPED)
    assert lease.cap_told == (50, 80, 100, 150, 200)
    assert lease.ending_reason == "its end date"


async def test_where_it_ends_at_the_cap_it_is_warned_like_any_end(world: World) -> None:
    world.terms = Terms(at_cap=AtCap.END)
    handle = await world.active(cap=TEN)
    await world.sleep(4 * HOUR + MINUTE)
    lease = await world.until(handle, State.STOPPED)
    assert lease.ending_reason == "its end date"
    assert timedelta() <= lease.hours(lease.stopped_at or lease.requested_at) - 4 * HOUR < 10 * SECOND
    events = world.events(handle)
    assert events.index("shortened") < events.index("warned") < events.index("ended")


async def test_spot_machines_are_told_of_and_never_stopped(world: World) -> None:
    world.cloud.stoppable = False
    handle = await world.active(cap=TEN)
    await world.sleep(5 * HOUR)
    lease = await world.lease(handle)
    assert (lease.state, lease.cap_told, lease.cap_stop_at) == (State.ACTIVE, (50, 80, 100), None)
    assert world.cloud.times("stop") == 0


async def test_disks_are_billed_from_the_launch_until_they_were_seen_gone(world: World) -> None:
    world.cloud.disk_gib, world.cloud.disk_monthly, world.cloud.volatile = 1_000, Money(Decimal("0.08")), True
    handle = await world.active()
    lease = await world.lease(handle)
    assert lease.volatile
    [disks] = lease.storage
    assert (disks.start, disks.end, disks.gib) == (lease.spans[0].start, None, 1_000)
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    stopped = await world.until(handle, State.STOPPED)
    assert stopped.storage[0].end is None
    outcome = await handle.result()
    over = world.ledger.lease(handle.id)
    assert over is not None
    assert over.storage[0].end is not None
    assert over.storage[0].end - over.storage[0].start >= timedelta(days=7)
    assert over.spans[-1].end is not None
    assert over.spans[-1].end - over.spans[-1].start < HOUR
    now = over.closed_at or over.requested_at
    assert outcome.cost == str(over.cost(now))
    assert costing.storage_cost(over, now) == storage.cost(over.storage, now, "USD") != Money(Decimal(0))


async def test_a_payer_without_money_ends_it_with_its_warnings(world: World) -> None:
    handle = await world.active()
    words = "team research has spent 1,000 of 1,000 USD in 2026-11"
    told = OverBudget("team:research", words, datetime(2026, 11, 27, tzinfo=UTC))
    for _ in range(3):
        await handle.signal(contracts.SIGNAL_OVER_BUDGET, told)
    await world.told(handle, "over-budget")
    await world.sleep(2 * HOUR + MINUTE)
    lease = await world.until(handle, State.STOPPED)
    assert lease.ready_at is not None
    assert lease.ends_at is not None
    events = world.events(handle)
    assert events.count("over-budget") == 1
    assert events.index("over-budget") < events.index("warned") < events.index("ended")


async def test_the_regular_look_at_budgets_ends_leases_without_any_telemetry(world: World) -> None:
    """7 USD are spent after 2.8 of 8 hours; whoever looks before that tells nobody."""
    month_long = Ceiling("team:research", Decimal(7), Kind.MONEY, hard=False, then=Then.END)
    world.allow(month_long)
    handle = await world.active()

    async def look(number: int) -> MeterReport:
        with world.env.auto_time_skipping_disabled():
            report: MeterReport = await world.env.client.execute_workflow(
                contracts.METER_WORKFLOW,
                MeterInput(budgets=True, sources=False),
                id=f"budgets-{number}",
                task_queue=contracts.TASK_QUEUE,
                result_type=MeterReport,
            )
        return report

    assert not (await look(1)).stored
    assert "over-budget" not in world.events(handle)
    await world.sleep(3 * HOUR)
    for number in range(2, 5):
        await look(number)
    lease = await world.when(handle, lambda one: "over-budget" in world.events(handle), "word of it")
    assert world.events(handle).count("over-budget") == 1
    assert lease.ends_at is not None
    await world.sleep(MONEY_GONE + MINUTE)
    assert (await world.until(handle, State.STOPPED)).ending_reason == "its end date"
    assert world.ledger.last_tick() is None
