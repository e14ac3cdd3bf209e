"""Idle leases on a real Temporal server with the clock skipped: warned, cleared, stopped, started again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from lessor.contracts import Notice, Verb
from lessor.domain.idle import Verdict
from lessor.domain.ladder import Rung, Why
from lessor.domain.lease import Lease, State
from lessor.domain.resource import Condition
from tests.steering import Script
from tests.world import ADMIN, REQUESTER, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
IDLE_EVENTS = ("idle-", "snoozed", "verdict-disputed", "pause-asked", "start-asked", "suspended", "resumed", "spared")


@pytest.fixture
def meter(world: World) -> Script:
    world.script = Script()
    return world.script


async def idle(world: World, **changes: Any) -> tuple[Handle, datetime]:
    """A lease of four days that has been idle for an hour, and since when."""
    handle = await world.active(**({"duration": 4 * DAY} | changes))
    await world.sleep(2 * HOUR)
    return handle, await world.tell_idle(handle)


async def at(world: World, moment: datetime) -> None:
    await world.sleep(max(moment - await world.env.get_current_time(), timedelta()) + timedelta(seconds=30))


def happened(world: World, handle: Handle) -> list[str]:
    return [event for event in world.events(handle) if event.startswith(IDLE_EVENTS)]


async def told(world: World, handle: Handle, *rungs: Rung) -> Lease:
    def holds(lease: Lease) -> bool:
        return lease.idle is not None and tuple(one.rung for one in lease.idle.told) == rungs

    return await world.when(handle, holds, f"{rungs} told")


async def paused(world: World, handle: Handle) -> Lease:
    return await world.when(handle, lambda found: found.suspended_at is not None, "a stop")


async def test_what_does_nothing_is_warned_twice_then_stopped_and_starts_when_somebody_wants_it(
    world: World, meter: Script
) -> None:
    handle, since = await idle(world)
    first = await told(world, handle, Rung.WARN)
    assert first.idle
    assert first.idle.told[0].owner
    await at(world, since + 105 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    assert world.cloud.times("stop") == 0
    await at(world, since + 120 * MINUTE)
    lease = await paused(world, handle)
    assert (lease.state, lease.pause and lease.pause.why) == (State.SUSPENDED, Why.IDLE)
    assert [m.condition for m in world.cloud.alive(handle.id)] == [Condition.STOPPED]
    assert since + 120 * MINUTE <= lease.suspended_at < since + 122 * MINUTE  # type: ignore[operator]
    assert [r.gpus for r in world.ledger.held("research")] == [1]
    await world.told(handle, "paused")
    assert world.notifier.kinds(handle.id)[-3:] == ["idle-warning", "idle-final", "paused"]
    answer = await world.act(handle, Verb.START, REQUESTER)
    assert (answer.ok, answer.message) == (True, f"{handle.id}: is being started again")
    running = await world.until(handle, State.ACTIVE)
    assert (running.pause, running.idle) == (None, None)
    assert [m.condition for m in world.cloud.alive(handle.id)] == [Condition.RUNNING]
    assert happened(world, handle) == [
        *("idle-seen", "idle-seen", "idle-warned", "idle-seen", "idle-final-warned"),
        *("idle-stopped", "suspended", "start-asked", "resumed"),
    ]
    assert meter.calls == ["look_again", "look_again", "clear_to_stop"]


async def test_work_that_begins_again_clears_the_ladder(world: World, meter: Script) -> None:
    handle, since = await idle(world)
    await told(world, handle, Rung.WARN)
    await world.tell_idle(handle, Verdict.BUSY, idle_gpus=0)
    lease = await world.when(handle, lambda found: found.idle is None, "work")
    assert lease.disputed is None
    await world.told(handle, "idle-over")
    await at(world, since + 10 * HOUR)
    assert world.cloud.times("stop") == 0
    assert happened(world, handle) == ["idle-seen", "idle-seen", "idle-warned", "idle-cleared"]


@pytest.mark.parametrize("verdict", [Verdict.BUSY, Verdict.UNKNOWN, Verdict.WARMING_UP])
async def test_the_last_look_before_the_stop_decides(world: World, meter: Script, verdict: Verdict) -> None:
    handle, since = await idle(world)
    await at(world, since + 110 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    meter.verdict, meter.since = verdict, None
    await at(world, since + 120 * MINUTE)
    lease = await world.when(handle, lambda found: found.disputed is not None, "a doubt")
    assert (lease.state, lease.idle) == (State.ACTIVE, None)
    await world.told(handle, "idle-over")
    meter.verdict, meter.since = Verdict.IDLE, since + 121 * MINUTE
    await at(world, since + 180 * MINUTE)
    again = await world.when(handle, lambda found: found.idle is not None, "idleness that goes on")
    assert (again.disputed, again.idle and again.idle.told) == (None, ())
    assert world.cloud.times("stop") == 0
    await at(world, since + 121 * MINUTE + 120 * MINUTE)
    await paused(world, handle)


async def test_telemetry_that_does_not_answer_stops_nothing(world: World, meter: Script) -> None:
    handle, since = await idle(world)
    await told(world, handle, Rung.WARN)
    gone = [ApplicationError("prometheus does not answer", non_retryable=True)]
    meter.fail = {"look_again": list(gone), "clear_to_stop": list(gone)}
    await at(world, since + 105 * MINUTE)
    lease = await world.when(handle, lambda found: found.disputed is not None, "a doubt")
    assert (lease.idle, lease.disputed and lease.disputed.reason) == (None, "prometheus does not answer")
    await at(world, since + 300 * MINUTE)
    assert "idle-unknown" in happened(world, handle)
    assert "idle-stopped" not in happened(world, handle)[: happened(world, handle).index("idle-unknown")]


async def test_a_look_that_was_not_whole_holds_the_stop_back(world: World, meter: Script) -> None:
    handle, since = await idle(world)
    await at(world, since + 110 * MINUTE)
    meter.missed = 1
    await at(world, since + 120 * MINUTE)
    await world.when(handle, lambda found: bool(found.idle and found.idle.held_back), "a stop that is held back")
    assert world.cloud.times("stop") == 0
    meter.missed = 0
    await at(world, since + 126 * MINUTE)
    await paused(world, handle)


async def test_the_brake_holds_a_stop_back_and_it_is_announced_anew_after_long(world: World, meter: Script) -> None:
    handle, since = await idle(world)
    meter.against = "the brake is on: too many at once"
    await at(world, since + 120 * MINUTE)
    held = await world.when(handle, lambda found: bool(found.idle and found.idle.held_back), "a stop that is held back")
    assert (held.state, held.idle and held.idle.held_back) == (State.ACTIVE, "the brake is on: too many at once")
    await world.told(handle, "idle-held-back")
    await at(world, since + 9 * HOUR)
    assert happened(world, handle).count("idle-held-back") == 1
    meter.against = ""
    await at(world, since + 9 * HOUR + 50 * MINUTE)
    lease = await paused(world, handle)
    finals = [one.event.at for one in world.ledger.events(handle.id) if one.event.type == "idle-final-warned"]
    assert len(finals) == 2
    assert finals[1] > since + 9 * HOUR
    assert lease.pause
    assert lease.pause.at - finals[1] >= 15 * MINUTE


@pytest.mark.parametrize(
    ("verb", "details"),
    [
        (Verb.SNOOZE, {"until": 4 * HOUR, "reason": "it loads data"}),
        (Verb.DISPUTE, {"reason": "it waits for a queue"}),
        (Verb.SPARE, {"reason": "a demonstration"}),
    ],
)
async def test_who_speaks_while_the_last_look_is_under_way_comes_first(
    world: World, meter: Script, verb: Verb, details: dict[str, Any]
) -> None:
    handle, since = await idle(world)

    async def speak() -> None:
        meter.before.clear()
        now = await world.env.get_current_time()
        said = {**details, **({"until": now + details["until"]} if "until" in details else {})}
        assert (await world.act(handle, verb, ADMIN, **said)).ok

    await at(world, since + 110 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    meter.before["clear_to_stop"] = speak
    await at(world, since + 120 * MINUTE)
    await world.eventually(lambda: "clear_to_stop" in meter.calls, "the last look")
    await at(world, since + 180 * MINUTE)
    assert (await world.lease(handle)).state is State.ACTIVE
    assert world.cloud.times("stop") == 0
    assert "idle-stopped" not in world.events(handle)
    await world.told(handle, "idle-over")


async def test_who_speaks_while_the_warning_is_under_way_is_not_counted_as_warned(world: World, meter: Script) -> None:
    handle = await world.active(duration=4 * DAY)
    await world.sleep(2 * HOUR)

    async def speak() -> None:
        world.notifier.before.clear()
        until = await world.env.get_current_time() + 3 * HOUR
        assert (await world.act(handle, Verb.SNOOZE, REQUESTER, until=until, reason="it loads data")).ok

    world.notifier.before[Notice.IDLE_WARNING] = speak
    await world.tell_idle(handle)
    lease = await world.when(handle, lambda found: found.snooze is not None, "a snooze")
    await world.told(handle, "idle-over")
    lease = await world.lease(handle)
    assert lease.idle
    assert lease.idle.told == ()
    assert world.notifier.kinds(handle.id)[-2:] == ["idle-warning", "idle-over"]


async def test_a_snooze_ends_and_then_everything_comes_from_the_beginning(world: World, meter: Script) -> None:
    handle, since = await idle(world)
    await at(world, since + 110 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    until = since + 6 * HOUR
    answer = await world.act(handle, Verb.SNOOZE, REQUESTER, until=until, reason="an evaluation")
    assert answer.message == (
        f"{handle.id}: nothing is said or done about its being idle until {until:%Y-%m-%d %H:%M} UTC; "
        "then it is warned anew"
    )
    await at(world, until - 2 * MINUTE)
    assert world.notifier.kinds(handle.id).count("idle-warning") == 1
    await at(world, until)
    await told(world, handle, Rung.WARN)
    await at(world, until + 45 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    await at(world, until + 60 * MINUTE)
    await paused(world, handle)


async def test_nothing_is_stopped_while_nobody_can_be_warned(world: World, meter: Script) -> None:
    world.notifier.silent[Notice.IDLE_WARNING] = 8
    handle, since = await idle(world)
    await at(world, since + 4 * HOUR)
    lease = await world.lease(handle)
    assert (lease.state, lease.idle and lease.idle.told) == (State.ACTIVE, ())
    assert happened(world, handle).count("idle-warning-undelivered") == 1
    assert happened(world, handle).count("idle-seen") == 4
    await at(world, since + 5 * HOUR)
    late = await told(world, handle, Rung.WARN)
    assert late.idle
    first = late.idle.told[0].at
    await at(world, first + 50 * MINUTE)
    assert (await world.lease(handle)).state is State.ACTIVE
    await at(world, first + 60 * MINUTE)
    await paused(world, handle)


async def test_who_is_told_in_the_owners_place_has_two_hours(world: World, meter: Script) -> None:
    world.notifier.instead = "slack:channel"
    handle, since = await idle(world)
    await at(world, since + 175 * MINUTE)
    lease = await told(world, handle, Rung.WARN, Rung.FINAL)
    assert lease.idle
    assert [one.owner for one in lease.idle.told] == [False, False]
    await at(world, since + 179 * MINUTE)
    assert (await world.lease(handle)).state is State.ACTIVE
    await at(world, since + 181 * MINUTE)
    await paused(world, handle)
