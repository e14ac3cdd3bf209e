"""Leases that are stopped until somebody starts them, and a meter that speaks at any other time. Time is skipped."""

from __future__ import annotations

import pytest

from lessor.contracts import SIGNAL_OVER_BUDGET, OverBudget, Verb
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Rung, Why
from lessor.domain.lease import State
from tests.steering import Script
from tests.workflows.test_idle import DAY, HOUR, MINUTE, at, idle, meter, paused, told
from tests.world import MANAGER, REQUESTER, Handle, World

__all__ = ["meter"]


async def test_who_asks_has_it_stopped_at_once_and_its_end_comes_all_the_same(world: World, meter: Script) -> None:
    handle = await world.active()
    answer = await world.act(handle, Verb.STOP, MANAGER)
    assert answer.ok
    assert answer.message.startswith(f"{handle.id}: is being stopped; its disks are kept and still cost money, and its")
    lease = await paused(world, handle)
    assert lease.pause
    assert lease.pause.why is Why.ASKED
    await world.told(handle, "paused")
    outcome = await handle.result()
    assert outcome.state == "closed"
    assert world.events(handle).count("warned") >= 1
    assert "resumed" not in world.events(handle)
    ended = await world.lease(handle)
    assert ended.spans[-1].end == lease.spans[-1].end
    assert meter.calls == []


async def test_a_start_takes_what_it_needs_of_the_budget_first(world: World, meter: Script) -> None:
    handle = await world.active()
    await world.act(handle, Verb.STOP, REQUESTER)
    await paused(world, handle)
    refused = await world.act(handle, Verb.SNOOZE, REQUESTER, until=await world.env.get_current_time() + HOUR)
    assert (refused.ok, refused.code) == (False, "paused")
    twice = await world.act(handle, Verb.STOP, REQUESTER)
    assert (twice.ok, twice.code) == (False, "paused")
    assert (await world.act(handle, Verb.START, REQUESTER)).ok
    await world.until(handle, State.ACTIVE)
    again = await world.act(handle, Verb.START, REQUESTER)
    assert (again.ok, again.code) == (False, "not-paused")


async def test_a_lease_that_the_meter_never_spoke_of_does_no_more_than_before(world: World, meter: Script) -> None:
    handle = await world.active()
    assert (await handle.result()).state == "closed"
    assert meter.calls == []
    started = [e for e in await world.history(handle) if e.HasField("timer_started_event_attributes")]
    assert len(started) == 7


async def test_it_is_all_kept_when_the_workflow_continues_as_new(
    world: World, meter: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.rhythm.ACTS_LIMIT", 2)
    handle, since = await idle(world)
    await told(world, handle, Rung.WARN)
    first = (await handle.describe()).run_id
    for _ in range(2):
        assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok
    newest = world.env.client.get_workflow_handle(handle.id)
    await at(world, since + 105 * MINUTE)
    lease = await told(world, newest, Rung.WARN, Rung.FINAL)
    assert (await newest.describe()).run_id != first
    assert lease.idle
    assert lease.idle.evidence.since == since
    await at(world, since + 120 * MINUTE)
    await paused(world, newest)


async def test_what_the_meter_says_at_any_other_time_does_no_harm(world: World, meter: Script) -> None:
    over = OverBudget("team:research", "1,000.00 of 1,000.00 USD are used", await world.env.get_current_time())

    async def everything_is_said(handle: Handle) -> None:
        for verdict in Verdict:
            await world.tell_idle(handle, verdict)
        await handle.signal(SIGNAL_OVER_BUDGET, over)

    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await everything_is_said(handle)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    ends_at = (await world.lease(handle)).ends_at
    await world.act(handle, Verb.STOP, REQUESTER)
    await paused(world, handle)
    for verdict in Verdict:
        await world.tell_idle(handle, verdict)
    assert (await world.lease(handle)).ends_at == ends_at
    await world.act(handle, Verb.RELEASE, REQUESTER)
    await world.until(handle, State.STOPPED)
    await everything_is_said(handle)
    assert (await handle.result()).state == "closed"
    assert meter.calls == []
    assert not {"idle-seen", "idle-cleared", "idle-unknown", "over-budget"} & set(world.events(handle))


async def test_a_look_that_takes_long_puts_no_warning_of_the_end_off(world: World, meter: Script) -> None:
    """It is tried for five minutes, and after two of them the lease warns of its end."""
    handle = await world.active()
    ends_at = (await world.lease(handle)).ends_at
    assert ends_at
    meter.fail["look_again"] = [RuntimeError("prometheus does not answer") for _ in range(100)]
    await at(world, ends_at - 32 * MINUTE)
    await world.tell_idle(handle)
    await world.eventually(lambda: "look_again" in meter.calls, "a look that takes long")
    await at(world, ends_at - 26 * MINUTE)
    lease = await world.when(handle, lambda found: found.disputed is not None, "a look that was given up")
    (warning,) = lease.warned
    assert (warning.before, warning.at - (ends_at - 30 * MINUTE) < MINUTE / 2) == (30 * MINUTE, True)
    assert "idle-warned" not in world.events(handle)


async def test_what_has_no_stop_is_told_once_a_day(world: World, meter: Script) -> None:
    meter.terms = IdleTerms(stops=False)
    handle, since = await idle(world)
    for day in range(3):
        await at(world, since + HOUR + day * DAY)
        await told(world, handle, *(Rung.WARN,) * (day + 1))
    assert world.cloud.times("stop") == 0
    assert "idle-final-warned" not in world.events(handle)
