"""Leases that rest outside their hours, on a real Temporal server with the clock skipped."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.contracts import Notice, Verb
from lessor.domain.lease import Lease, State
from lessor.domain.resource import Condition
from lessor.domain.worktime import WEEK, next_close, next_open
from lessor.ports import LeaseQuery, NoCapacityError, PermanentError
from lessor.when.calendar import Schedule
from lessor.when.hours import Week
from tests.world import REQUESTER, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
async def scheduled(world: World) -> World:
    return await by_day(world)


async def by_day(world: World) -> World:
    """Hours from 08:00 to 19:00 in a zone where it is between 09:00 and 10:00 now."""
    east = (9 - (await world.env.get_current_time()).hour + 11) % 24 - 11
    world.schedules["days"] = Schedule(Week(WEEK, 8 * 60, 19 * 60), f"Etc/GMT{-east:+}")
    return world


async def resting(world: World, **changes: object) -> tuple[Handle, Lease]:
    """A lease of several days that has just been stopped for the night."""
    handle = await world.active(**{"schedule": "days", "duration": 10 * DAY} | changes)
    lease = await world.lease(handle)
    await sleep_until(world, next_close(lease.schedule, next_open(lease.schedule, lease.ready_at)))
    lease = await world.when(handle, lambda found: found.suspended_at is not None, "the night")
    return handle, lease


async def sleep_until(world: World, at: datetime | None) -> None:
    assert at
    await world.sleep(at + MINUTE - await world.env.get_current_time())


async def morning(world: World, lease: Lease) -> None:
    assert lease.suspended_at
    await sleep_until(world, next_open(lease.schedule, lease.suspended_at))


async def test_thirty_days_of_nights(scheduled: World) -> None:
    handle = await scheduled.active(schedule="days", duration=30 * DAY)
    outcome = await handle.result()
    events = scheduled.events(handle)
    nights = events.count("suspended")
    assert outcome.state == "closed"
    assert 29 <= nights <= 31
    assert events.count("suspend-warned") == events.count("suspending") == nights
    assert nights - 1 <= events.count("resumed") <= nights
    lease = await scheduled.lease(handle)
    assert len(lease.spans) == events.count("resumed") + 1
    assert 29 * 11 * HOUR <= lease.hours(lease.closed_at) <= 31 * 11 * HOUR
    order = [e for e in events if e in ("suspend-warned", "suspending", "suspended", "resumed")]
    usual = ["suspend-warned", "suspending", "suspended", "resumed"]
    assert order[: 4 * (nights - 1)] == usual * (nights - 1)
    assert scheduled.cloud.alive(handle.id) == []


async def test_a_night_is_seen_and_told_and_the_quota_stays_taken(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    assert lease.state is State.SUSPENDED
    assert [m.condition for m in scheduled.cloud.alive(handle.id)] == [Condition.STOPPED]
    assert [r.gpus for r in scheduled.ledger.held("research")] == [1]
    assert [h.state for h in scheduled.ledger.leases(LeaseQuery(states=("suspended",)))] == [State.SUSPENDED]
    await scheduled.told(handle, "suspended")
    assert (await scheduled.sweep()).places[0].told == ()
    await morning(scheduled, lease)
    await scheduled.until(handle, State.ACTIVE)
    assert [m.condition for m in scheduled.cloud.alive(handle.id)] == [Condition.RUNNING]
    await scheduled.told(handle, "resumed")
    assert scheduled.notifier.kinds(handle.id).count("suspending") == 1


async def test_nothing_is_stopped_while_nobody_can_be_told(scheduled: World) -> None:
    handle = await scheduled.active(schedule="days", duration=10 * DAY)
    scheduled.notifier.silent[Notice.SUSPENDING] = 30
    lease = await scheduled.lease(handle)
    closes = next_close(lease.schedule, next_open(lease.schedule, lease.ready_at))
    await sleep_until(scheduled, closes)
    assert (await scheduled.lease(handle)).state is State.ACTIVE
    assert scheduled.cloud.times("stop") == 0
    await scheduled.sleep(HOUR)
    stopped = await scheduled.when(handle, lambda found: found.suspended_at is not None, "a late stop")
    assert stopped.suspended_at > closes + 15 * MINUTE


async def test_it_runs_on_tonight_when_its_owner_says_so(scheduled: World) -> None:
    handle = await scheduled.active(schedule="days", duration=10 * DAY)
    lease = await scheduled.lease(handle)
    closes = next_close(lease.schedule, next_open(lease.schedule, lease.ready_at))
    await sleep_until(scheduled, closes - 10 * MINUTE)
    await scheduled.when(handle, lambda found: found.announced is not None, "an announcement")
    answer = await scheduled.act(handle, Verb.EXEMPT, REQUESTER)
    assert answer.ok
    assert answer.message.startswith(f"{handle.id}: runs on outside its hours until ")
    await sleep_until(scheduled, next_open(lease.schedule, closes))
    assert scheduled.cloud.times("stop") == 0
    assert (await scheduled.lease(handle)).state is State.ACTIVE


async def test_an_exemption_wakes_it(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    refused = await scheduled.act(handle, Verb.EXEMPT, REQUESTER, until=lease.suspended_at + 5 * HOUR)
    assert (refused.ok, refused.code) == (False, "no-reason")
    until = lease.suspended_at + 5 * HOUR
    assert (await scheduled.act(handle, Verb.EXEMPT, REQUESTER, until=until, reason="an evaluation")).ok
    await scheduled.until(handle, State.ACTIVE)
    await sleep_until(scheduled, until)
    await scheduled.until(handle, State.SUSPENDED)


async def test_a_start_that_fails_is_told_and_tried_again(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    scheduled.cloud.fail["start"] = [NoCapacityError("none", ("g5.xlarge",), "InsufficientInstanceCapacity")] * 2
    await morning(scheduled, lease)
    failed = await scheduled.when(handle, lambda found: found.capacity is not None, "a start that failed")
    assert (failed.state, failed.capacity.tries) == (State.SUSPENDED, 1)
    await scheduled.told(handle, "resume-failed")
    await scheduled.sleep(HOUR)
    await scheduled.when(handle, lambda found: found.capacity is not None and found.capacity.tries == 2, "another")
    await scheduled.sleep(2 * HOUR)
    assert (await scheduled.until(handle, State.ACTIVE)).capacity is None


async def test_what_is_gone_in_the_morning_is_cleaned_up(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    scheduled.turn(handle, Condition.GONE, "terminated")
    scheduled.cloud.fail["start"] = [PermanentError("it was terminated", "terminated")]
    await morning(scheduled, lease)
    assert (await handle.result()).state == "closed"
    assert "interrupted" in scheduled.events(handle)


async def test_a_stop_that_fails_is_tried_again_the_same_night(scheduled: World) -> None:
    scheduled.cloud.fail["stop"] = [PermanentError("stop protection is on", "OperationNotPermitted")]
    handle = await scheduled.active(schedule="days", duration=10 * DAY)
    lease = await scheduled.lease(handle)
    await sleep_until(scheduled, next_close(lease.schedule, next_open(lease.schedule, lease.ready_at)))
    await scheduled.when(handle, lambda found: found.problem != "", "a stop that failed")
    await scheduled.told(handle, "stop-failed")
    await scheduled.sleep(31 * MINUTE)
    await scheduled.when(handle, lambda found: found.suspended_at is not None, "the night")


async def test_the_end_comes_at_night(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    until = lease.suspended_at + 3 * HOUR
    answer = await scheduled.act(handle, Verb.SHORTEN, REQUESTER, until=until, reason="done")
    assert (answer.ok, answer.ends_at) == (True, until)
    await sleep_until(scheduled, until)
    stopped = await scheduled.until(handle, State.STOPPED)
    assert stopped.warned
    assert stopped.spans == lease.spans
    assert scheduled.ledger.held("research") == ()
    assert scheduled.events(handle)[-4:] == ["warned", "warned", "ended", "stopped"]


@pytest.mark.parametrize("verb", [Verb.RELEASE, Verb.KEEP, Verb.EXTEND])
async def test_people_act_on_what_rests(scheduled: World, verb: Verb) -> None:
    handle, lease = await resting(scheduled)
    assert (await scheduled.act(handle, verb, REQUESTER, until=lease.ends_at + HOUR)).ok
    after = await scheduled.until(handle, State.STOPPED if verb is Verb.RELEASE else State.SUSPENDED)
    assert after.spans == lease.spans


async def test_a_team_has_its_hours_and_spot_machines_have_none(scheduled: World) -> None:
    team = scheduled.directory.teams["research"]
    scheduled.directory.teams["research"] = replace(team, schedule="days")
    handle = await scheduled.active(duration=3 * DAY)
    assert (await scheduled.lease(handle)).schedule is not None
    unknown = await scheduled.ask(schedule="nights")
    denied = await scheduled.until(unknown, State.DENIED)
    assert "there is no schedule 'nights'; there are: days" in denied.decided_reason


async def test_a_lease_without_hours_does_no_more_than_before(scheduled: World) -> None:
    handle = await scheduled.active()
    assert (await handle.result()).state == "closed"
    started = [e for e in await scheduled.history(handle) if e.HasField("timer_started_event_attributes")]
    assert len(started) == 7


async def test_warnings_come_before_the_owners_night(world: World) -> None:
    """It is night for the owner at this time of day; the warnings of the last two hours come all the same."""
    hour = (await world.env.get_current_time()).hour
    closes = hour - 1 if hour > 12 else hour + 11
    world.waking = Week(WEEK, (closes - 8) * 60, closes * 60)
    handle = await world.active(duration=10 * DAY)
    lease = await world.lease(handle)
    await world.sleep(lease.ends_at - await world.env.get_current_time() + MINUTE)
    stopped = await world.until(handle, State.STOPPED)
    assert [warning.before for warning in stopped.warned] == [7 * DAY, 48 * HOUR, 2 * HOUR, 30 * MINUTE]
    for warning in stopped.warned[:2]:
        assert (warning.at.hour, warning.at.minute) == (closes - 1, 59)
        assert warning.at <= lease.ends_at - warning.before
    for warning in stopped.warned[2:]:
        assert timedelta() <= warning.at - (lease.ends_at - warning.before) < MINUTE


async def test_what_somebody_starts_at_night_is_billed_and_announced_before_it_rests_again(scheduled: World) -> None:
    handle, lease = await resting(scheduled)
    scheduled.turn(handle, Condition.RUNNING, "")
    assert (await scheduled.sweep()).places[0].told == (handle.id,)
    again = await scheduled.when(
        handle, lambda found: len(found.spans) > len(lease.spans), "a new stretch of billed time"
    )
    assert again.state is State.ACTIVE
    await scheduled.sleep(20 * MINUTE)
    await scheduled.when(handle, lambda found: found.suspended_at is not None, "rest")
    order = [
        e for e in scheduled.events(handle) if e in ("started-outside", "suspend-warned", "suspending", "suspended")
    ]
    assert order == ["suspend-warned", "suspending", "suspended", "started-outside", *order[:3]]
