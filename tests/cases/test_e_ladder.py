"""Section E, the ladder: who is warned of an idle lease, when, and what has to come before a stop."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from lessor.contracts import Notice, Verb
from lessor.domain import idling, rungs
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import State
from lessor.domain.request import Need
from lessor.domain.rungs import Step
from lessor.domain.worktime import Hours
from lessor.sandbox.slack import RunningSandbox, visible_text
from tests.bot.doing_nothing import seen_idle, warned
from tests.bot.fixtures import slack
from tests.bot.world import MANAGER, MANAGER_2, REQUESTER, a_world
from tests.cases.conftest import leases
from tests.idleness import DAY, HOUR, MINUTE, after, seen_again, told_idle
from tests.idleness import warned as told_of
from tests.steering import Script
from tests.workflows.test_idle import at, idle, paused, told
from tests.world import World

__all__ = ["leases", "slack"]


async def test_E08_memory_that_is_held_is_stopped_after_two_warnings_and_a_day_only(leases: World) -> None:
    leases.script = Script(Verdict.HELD)
    handle = await leases.active(duration=4 * DAY)
    await leases.sleep(2 * HOUR)
    since = await leases.tell_idle(handle, Verdict.HELD)
    await told(leases, handle, Rung.WARN)
    await at(leases, since + 22 * HOUR)
    assert leases.notifier.kinds(handle.id).count("idle-warning") == 1
    assert (await leases.lease(handle)).state is State.ACTIVE
    await at(leases, since + 23 * HOUR)
    lease = await told(leases, handle, Rung.WARN, Rung.FINAL)
    assert lease.idle
    assert lease.idle.told[-1].at - lease.idle.told[0].at >= 21 * HOUR
    await at(leases, since + 24 * HOUR)
    await paused(leases, handle)


async def test_E08_who_answers_that_it_serves_is_left_alone(leases: World) -> None:
    leases.script = Script(Verdict.HELD)
    handle = await leases.active(duration=4 * DAY)
    await leases.sleep(2 * HOUR)
    since = await leases.tell_idle(handle, Verdict.HELD)
    await told(leases, handle, Rung.WARN)
    await leases.act(handle, Verb.DISPUTE, (await leases.directory.members("admins"))[0], reason="it serves requests")
    await at(leases, since + 24 * HOUR)
    assert (await leases.lease(handle)).state is State.ACTIVE
    assert leases.cloud.times("stop") == 0


def test_E13_the_earliest_stop_is_the_window_and_the_warning_after_the_run() -> None:
    """A run of 12 minutes, a window of 10: the clock starts when the run ends, and the notice comes on top."""
    terms: dict[str, Any] = {
        "window": 10 * MINUTE,
        "warn": 10 * MINUTE,
        "final": 15 * MINUTE,
        "stop": 25 * MINUTE,
        "notice": 15 * MINUTE,
    }
    lease = told_idle(since=after(12 * MINUTE), **terms)
    ended = after(12 * MINUTE)
    step = rungs.next_step(lease, ended)
    assert step == Step(Rung.WARN, ended + 10 * MINUTE)
    lease = told_of(lease, ended + 10 * MINUTE)
    lease = told_of(lease, ended + 15 * MINUTE, Rung.FINAL)
    assert rungs.next_step(lease, ended) == Step(Rung.STOP, ended + 25 * MINUTE)


def test_E13_a_run_that_begins_and_ends_between_two_warnings_starts_the_clock_anew() -> None:
    lease = told_of(told_idle(), after(HOUR))
    later = replace(seen_again(lease, after(3 * HOUR)), since=after(2 * HOUR))
    again = idling.metered(lease, later, IdleTerms(), after(3 * HOUR))
    assert rungs.next_step(again.lease, after(3 * HOUR)) == Step(Rung.WARN, after(3 * HOUR))
    assert rungs.stops_at(again.lease, after(3 * HOUR)) == after(4 * HOUR)


async def test_E23_each_owner_hears_of_their_own_leases_and_of_all_of_them(
    slack: RunningSandbox, sqlite_url: str
) -> None:
    owners = [REQUESTER] * 4 + [MANAGER] * 3 + [MANAGER_2] * 3
    async with a_world(slack, sqlite_url) as world:
        theirs: dict[str, set[str]] = defaultdict(set)
        for owner in owners:
            other = MANAGER if owner is not MANAGER else MANAGER_2
            lease = await world.ask(requester=owner.id, need=Need("L4", 1))
            lease = await seen_idle(world, await world.running(lease, by=other.id))
            _, delivery = await warned(world, lease)
            assert (delivery.delivered, delivery.owner) == (True, True)
            theirs[owner.id].add(lease.id)
        heard: dict[str, set[str]] = {}
        for role, person in (("requester", REQUESTER), ("manager", MANAGER), ("manager-2", MANAGER_2)):
            cards = [visible_text(m) for m in await slack.person(role).dms() if "does nothing" in visible_text(m)]
            heard[person.id] = {one for text in cards for one in world.engine.leases if one in text}
    assert heard == theirs
    assert len(set().union(*heard.values())) == 10


async def test_E24_without_an_owner_who_can_be_reached_others_hear_it_two_hours_before(leases: World) -> None:
    leases.script = Script()
    leases.notifier.instead = "slack:channel"
    handle, _ = await idle(leases)
    lease = await told(leases, handle, Rung.WARN)
    assert lease.idle
    assert not lease.idle.told[0].owner
    first = lease.idle.told[0].at
    await at(leases, first + 2 * HOUR - MINUTE)
    assert (await leases.lease(handle)).state is State.ACTIVE
    await at(leases, first + 2 * HOUR)
    stopped = await paused(leases, handle)
    assert stopped.suspended_at
    assert stopped.suspended_at - first >= 2 * HOUR


async def test_E24_where_nobody_at_all_is_reached_nothing_is_ever_stopped(leases: World) -> None:
    leases.script = Script()
    leases.notifier.silent[Notice.IDLE_WARNING] = 10_000
    handle, since = await idle(leases)
    await at(leases, since + 2 * DAY)
    lease = await leases.lease(handle)
    assert (lease.state, lease.idle and lease.idle.told) == (State.ACTIVE, ())
    assert leases.cloud.times("stop") == 0


FRIDAY = datetime(2026, 11, 20, 16, 0, tzinfo=UTC)
"""17:00 in Madrid."""


@pytest.mark.parametrize(
    ("only_hours", "holidays", "expected"),
    [
        (True, (), datetime(2026, 11, 23, 11, 0, tzinfo=UTC)),
        (True, (date(2026, 11, 23),), datetime(2026, 11, 24, 11, 0, tzinfo=UTC)),
        (False, (), FRIDAY + 4 * HOUR),
    ],
    ids=["monday-noon", "tuesday-noon", "continuous"],
)
def test_E25_working_hours_only_where_that_is_wanted(
    only_hours: bool, holidays: tuple[date, ...], expected: datetime
) -> None:
    madrid = Hours("Europe/Madrid", ((FRIDAY - 30 * DAY, 60),), (0, 1, 2, 3, 4), 9 * 60, 18 * 60, holidays)
    terms: dict[str, Any] = {
        "working_hours_only": only_hours,
        "window": 4 * HOUR,
        "warn": 4 * HOUR,
        "final": 5 * HOUR,
        "stop": 6 * HOUR,
    }
    lease = replace(told_idle(), idle=None, ends_at=FRIDAY + 20 * DAY)
    idle_since_friday = told_idle(lease, since=FRIDAY, hours=madrid, **terms)
    assert rungs.next_step(idle_since_friday, FRIDAY) == Step(Rung.WARN, expected)


def test_E26_a_stop_at_the_end_of_the_day_happens_and_not_a_moment_before() -> None:
    """Due at 23:59, looked at at 23:55 and at midnight: a step is an instant, and due from then on."""
    since = datetime(2026, 11, 27, 21, 59, tzinfo=UTC)
    lease = told_of(told_idle(since=since), since + HOUR)
    lease = told_of(lease, since + 105 * MINUTE, Rung.FINAL)
    assert not idling.deliverable(lease, Rung.STOP, since + 116 * MINUTE)
    assert idling.deliverable(lease, Rung.STOP, since + 120 * MINUTE)
    assert idling.deliverable(lease, Rung.STOP, since + 121 * MINUTE)


async def test_E26_two_keep_alive_windows_that_overlap_give_their_union(leases: World) -> None:
    leases.script = Script()
    handle, since = await idle(leases)
    await told(leases, handle, Rung.WARN)
    admin = (await leases.directory.members("admins"))[0]
    for length in (6 * HOUR, 4 * HOUR):
        assert (await leases.act(handle, Verb.SNOOZE, admin, until=since + length, reason="a demonstration")).ok
    await at(leases, since + 5 * HOUR)
    assert leases.notifier.kinds(handle.id).count("idle-warning") == 1
    await at(leases, since + 6 * HOUR)
    await told(leases, handle, Rung.WARN)
    assert leases.notifier.kinds(handle.id).count("idle-warning") == 2
