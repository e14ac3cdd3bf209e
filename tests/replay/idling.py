"""Stories of leases that do nothing: warned, spoken for, stopped and started again, or ended for want of money."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from lessor.contracts import (
    METER_WORKFLOW,
    SIGNAL_OVER_BUDGET,
    TASK_QUEUE,
    MeterInput,
    MeterReport,
    Notice,
    OverBudget,
    Verb,
)
from lessor.domain.idle import Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.resource import Condition
from tests.replay.moves import HOUR, MINUTE, Runs, do, finished, held, run, used_and_released
from tests.steering import Script
from tests.workflows.test_idle import at, idle, paused, told
from tests.world import ADMIN, REQUESTER, Handle, World

DAY = timedelta(days=1)


async def stopped_for_nothing(world: World) -> Runs:
    """The warning reaches nobody at first, the brake holds the stop back; stopped, it is started from outside."""
    script = _script(world)
    world.notifier.silent[Notice.IDLE_WARNING] = 1
    handle, since = await idle(world)
    script.against = "the brake is on"
    await at(world, since + 130 * MINUTE)
    await world.told(handle, "idle-held-back")
    script.against = ""
    await at(world, since + 170 * MINUTE)
    await paused(world, handle)
    await world.told(handle, "paused")
    world.turn(handle, Condition.RUNNING, "")
    assert (await world.sweep()).places[0].told == (handle.id,)
    await world.until(handle, State.ACTIVE)
    return await used_and_released(world, handle)


async def spoken_for(world: World) -> Runs:
    """Snoozed; seen busy in part; called wrong; unknown; spared by an administrator; then stopped by its owner."""
    _script(world)
    world.cloud.volatile = True
    handle, since = await idle(world)
    await do(world, handle, Verb.CONSENT)
    await do(world, handle, Verb.SNOOZE, until=since + 90 * MINUTE, reason="it loads data")
    await world.tell_idle(handle, Verdict.BUSY, gpus=8, idle_gpus=7)
    await world.told(handle, "partly-idle")
    await at(world, since + 95 * MINUTE)
    await _idle_again(world, handle, "verdict-disputed", Verb.DISPUTE, reason="it waits for a queue")
    await world.tell_idle(handle, Verdict.BUSY, idle_gpus=0)
    await _idle_again(world, handle, "spared", Verb.SPARE, ADMIN, reason="a demonstration")
    await world.tell_idle(handle, Verdict.UNKNOWN)
    await world.eventually(lambda: "idle-unknown" in world.events(handle), "that nothing is known")
    await do(world, handle, Verb.STOP, confirmation=handle.id)
    await paused(world, handle)
    return await finished(handle, "closed")


async def started_in_vain(world: World) -> Runs:
    """Stopped by its owner, and again while it is starting."""
    handle = await world.active()
    await do(world, handle, Verb.STOP)
    await paused(world, handle)
    with held() as gate:
        world.cloud.before["start"] = gate.pass_through
        await do(world, handle, Verb.START)
        await gate.reached()
        await do(world, handle, Verb.STOP)
    await world.eventually(lambda: world.events(handle).count("suspended") == 2, "that it is stopped again")
    return await finished(handle, "closed")


async def capped(world: World) -> Runs:
    """It has a cap of its own, is told of it, and is stopped there."""
    handle = await world.active(cap=Money(Decimal(10)))
    await world.sleep(4 * HOUR + MINUTE)
    await paused(world, handle)
    return await finished(handle, "closed")


async def metered(world: World) -> Runs:
    """One tick of the meter, which is the first of its hour."""
    await world.active()
    with world.env.auto_time_skipping_disabled():
        report = await world.env.client.execute_workflow(
            METER_WORKFLOW, MeterInput(budgets=True), id="meter-1", task_queue=TASK_QUEUE, result_type=MeterReport
        )
    assert report.leases == 1
    return [run(world, "meter-1")]


async def money_gone(world: World) -> Runs:
    """The team's money is used up: it ends in two hours, with its warnings."""
    handle = await world.active(duration=4 * DAY)
    over = OverBudget("team:research", "1,000.00 of 1,000.00 USD are used", await world.env.get_current_time())
    await handle.signal(SIGNAL_OVER_BUDGET, over)
    await world.told(handle, "over-budget")
    return await finished(handle, "closed")


def _script(world: World) -> Script:
    world.script = Script()
    return world.script


async def _idle_again(
    world: World, handle: Handle, event: str, verb: Verb, by: Person = REQUESTER, **said: str
) -> None:
    """Idle once more, until somebody says something to it."""
    await world.tell_idle(handle)
    await told(world, handle, Rung.WARN)
    await do(world, handle, verb, by, **said)
    await world.eventually(lambda: event in world.events(handle), event)
