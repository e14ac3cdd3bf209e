"""Stories of how long a lease lasts, when it begins, and in which hours it runs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from lessor.contracts import Notice, Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.worktime import next_close, next_open
from lessor.ports import NoCapacityError, PermanentError
from tests.replay.moves import HOUR, MINUTE, Runs, do, finished, used_and_released
from tests.workflows.test_extending import asked as asked_for_longer
from tests.workflows.test_hours import by_day, morning, resting, sleep_until
from tests.world import MANAGER, SECOND, World

DAY = timedelta(days=1)


async def granted(world: World) -> Runs:
    """One later end is granted after a reminder, the next is rejected."""
    handle = await asked_for_longer(world, 2 * HOUR)
    await world.sleep(16 * MINUTE)
    await world.told(handle, "reminder")
    await do(world, handle, Verb.GRANT, SECOND)
    await world.told(handle, "extension-decided")
    lease = await world.lease(handle)
    assert lease.ends_at is not None
    await do(world, handle, Verb.EXTEND, until=lease.ends_at + 3 * HOUR, reason="and one more")
    await do(world, handle, Verb.REJECT, SECOND, reason="once is enough")
    await do(world, handle, Verb.EXTEND, until=lease.ends_at + 4 * HOUR, reason="or one more after all")
    await do(world, handle, Verb.WITHDRAW)
    return await finished(handle, "closed")


async def wished_in_vain(world: World) -> Runs:
    """Nobody answers, not even the next level: the lease runs on a while and ends as it was."""
    handle = await asked_for_longer(world, 2 * DAY)
    runs = await finished(handle, "closed")
    assert {"escalated", "extension-lapsed"} <= set(world.events(handle))
    return runs


async def shortened(world: World) -> Runs:
    handle = await world.active()
    lease = await world.lease(handle)
    assert lease.ready_at is not None
    await do(world, handle, Verb.SHORTEN, until=lease.ready_at + 2 * HOUR, reason="it converges")
    return await finished(handle, "closed")


async def reserved(world: World) -> Runs:
    """Approved for a later day, by which the price has risen: decided again, and begun then."""
    handle = await world.ask(start=await world.env.get_current_time() + DAY)
    await world.until(handle, State.AWAITING_APPROVAL)
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.told(handle, "reserved")
    world.cloud.hourly = Money(Decimal("5.00"))
    await world.sleep(DAY + MINUTE)
    await world.until(handle, State.AWAITING_APPROVAL)
    await do(world, handle, Verb.APPROVE, MANAGER)
    return await used_and_released(world, handle)


async def outage(world: World) -> Runs:
    """Slack is down: one message is told late, another takes the place of an earlier one, the last is given up."""
    world.notifier.down = {Notice.READY, Notice.EXTENDED, Notice.CLOSED}
    handle = await world.active()
    lease = await world.lease(handle)
    assert lease.ends_at is not None
    for hours in (1, 2):
        await do(world, handle, Verb.EXTEND, until=lease.ends_at + hours * HOUR)
        await world.sleep(5 * MINUTE)
    world.notifier.down = {Notice.CLOSED}
    await world.sleep(10 * MINUTE)
    await world.told(handle, "ready")
    await world.told(handle, "extended")
    runs = await used_and_released(world, handle)
    assert world.events(handle)[-1] == "message-undelivered"
    return runs


async def rested(world: World) -> Runs:
    """Stopped for the night; it does not start at once in the morning, and runs through the night after that."""
    handle, night = await resting(await by_day(world))
    await world.told(handle, "suspended")
    world.cloud.fail["start"] = [NoCapacityError("none", ("g5.xlarge",), "InsufficientInstanceCapacity")]
    await morning(world, night)
    await world.told(handle, "resume-failed")
    await world.sleep(HOUR)
    await world.until(handle, State.ACTIVE)
    await world.told(handle, "resumed")
    closes = next_close(night.schedule, await world.env.get_current_time())
    assert closes is not None
    await sleep_until(world, closes - 10 * MINUTE)
    await do(world, handle, Verb.EXEMPT)
    await sleep_until(world, next_open(night.schedule, closes))
    return await used_and_released(world, handle)


async def ended_at_night(world: World) -> Runs:
    """The stop for the night fails at first; woken for an evaluation, it rests again when its end comes."""
    world.cloud.fail["stop"] = [PermanentError("stop protection is on", "OperationNotPermitted")]
    handle = await (await by_day(world)).active(schedule="days", duration=10 * DAY)
    lease = await world.lease(handle)
    assert lease.ready_at is not None
    await sleep_until(world, next_close(lease.schedule, next_open(lease.schedule, lease.ready_at)))
    await world.told(handle, "stop-failed")
    await world.sleep(31 * MINUTE)
    night = await world.when(handle, lambda found: found.suspended_at is not None, "the night")
    assert night.suspended_at is not None
    until = night.suspended_at + 4 * HOUR
    await do(world, handle, Verb.EXEMPT, until=until, reason="an evaluation")
    await world.until(handle, State.ACTIVE)
    await sleep_until(world, until)
    await world.when(handle, lambda found: found.suspended_at is not None, "the rest of the night")
    await do(world, handle, Verb.SHORTEN, until=until + 3 * HOUR, reason="evaluated")
    return await finished(handle, "closed")
