"""Budgets in a lease's life: refused with the numbers, taken with an extension, and people told once in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lessor.contracts import Alarm, PageInput, Verb
from lessor.domain.budget import MILLIONTHS, Entry
from lessor.domain.lease import Lease, State
from lessor.domain.policy import Outcome
from lessor.domain.quota import Account, Ceiling, Kind
from lessor.domain.worktime import WEEK
from lessor.when.calendar import Schedule
from lessor.when.hours import Week
from tests.builders import a_quota
from tests.world import AT_ONCE, MANAGER, REQUESTER, Handle, World


async def at_once(world: World, **changes: object) -> Handle:
    """A lease for which nobody was asked: eight hours for 20 USD, in one month or two."""
    world.decision = AT_ONCE
    handle = await world.ask(**changes)
    await world.when(handle, lambda lease: lease.ready_at is not None, "the use of it")
    await world.eventually(lambda: recorded(world, handle).ready_at is not None, "the use of it on record")
    return handle


async def test_a_request_beyond_the_budget_is_refused_with_the_numbers_and_takes_nothing(world: World) -> None:
    world.allow(money(9))
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    refused = await world.act(handle, Verb.APPROVE, MANAGER)
    assert (refused.ok, refused.code) == (False, "quota")
    assert refused.message.startswith("team research may use 9 USD in 20")
    assert "more do not fit. Ask for less or for less time" in refused.message
    assert (await world.lease(handle)).state is State.AWAITING_APPROVAL
    assert (world.ledger.held(), taken(world)) == ((), 0)
    world.allow(money(20))
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    assert taken(world) == 20
    await world.until(handle, State.ACTIVE)


async def test_an_automatic_approval_beyond_the_budget_is_a_denial(world: World) -> None:
    world.decision = AT_ONCE
    world.allow(money(1))
    handle = await world.ask()
    assert (await handle.result()).state == "denied"
    assert (await world.lease(handle)).decided_reason.startswith("team research may use 1 USD in 20")
    assert taken(world) == 0


async def test_people_are_told_once_when_a_limit_comes_near(world: World) -> None:
    world.allow(a_quota("research", 4), thresholds=(50, 80, 100))
    handles = [await at_once(world) for _ in range(4)]
    await world.eventually(lambda: len(alerts(world)) == 2, "two alerts")
    assert [(one.subject.split()[:2], one.subject[-4:], one.admins) for one in alerts(world)] == [
        (["team:research", "gpus"], " 50%", False),
        (["team:research", "gpus"], "100%", True),
    ]
    for handle in handles:
        assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
        await world.until(handle, State.STOPPED)
    for handle in [await at_once(world) for _ in range(4)]:
        await world.told(handle, "ready")
        assert await pages(world, handle) == 0
    assert len(alerts(world)) == 2


async def test_an_alert_says_who_reached_what_and_a_lease_that_reaches_nothing_costs_no_activity(world: World) -> None:
    world.allow(a_quota("research", 4, hard=False), thresholds=(50,))
    quiet, loud = await at_once(world), await at_once(world)
    await world.eventually(lambda: bool(alerts(world)), "the alert")
    [page] = alerts(world)
    words = f"team research holds 2 of 4 GPUs. {loud.id} of team research reached 50 %."
    assert page == PageInput(Alarm.BUDGET, page.subject, words, "research", "", False)
    assert [await pages(world, handle) for handle in (quiet, loud)] == [0, 1]


async def test_a_longer_lease_takes_more_budget_or_stays_as_it_is(world: World) -> None:
    world.allow(money(30))
    handle = await at_once(world)
    ends = (await world.lease(handle)).ends_at
    assert ends
    refused = await world.act(handle, Verb.EXTEND, REQUESTER, until=ends + timedelta(days=20))
    assert (refused.ok, refused.ends_at) == (False, ends)
    assert refused.message.startswith("team research may use 30 USD in 20")
    granted = await world.act(handle, Verb.EXTEND, REQUESTER, until=ends + timedelta(hours=2))
    assert (granted.ok, granted.ends_at) == (True, ends + timedelta(hours=2))
    assert 25 <= taken(world) < 26


async def test_a_lease_that_is_to_run_at_night_as_well_takes_more_budget_or_rests(world: World) -> None:
    world.schedules["half"] = Schedule(Week(WEEK, 0, 12 * 60), morning())
    handle = await at_once(world, schedule="half", duration=timedelta(days=20))
    used = taken(world)
    assert 590 <= used <= 630
    ends = (await world.lease(handle)).ends_at
    assert ends
    world.allow(money(max(int(one.commitment.money or 0) // MILLIONTHS for one in entries(world)) + 10))
    refused = await world.act(handle, Verb.EXEMPT, REQUESTER, until=ends - timedelta(hours=1), reason="a deadline")
    assert (refused.ok, refused.code) == (False, "budget")
    assert taken(world) == used
    world.allow(money(int(used) * 3))
    assert (await world.act(handle, Verb.EXEMPT, REQUESTER, until=ends - timedelta(hours=1), reason="a deadline")).ok
    assert 1_190 <= taken(world) <= 1_201


async def test_an_extension_that_is_denied_takes_no_budget(world: World) -> None:
    handle = await at_once(world)
    before, ends = taken(world), (await world.lease(handle)).ends_at
    assert ends
    world.decision = replace(AT_ONCE, outcome=Outcome.DENY)
    assert not (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends + timedelta(days=1))).ok
    assert abs(taken(world) - before) < 1


async def test_f29_what_was_stopped_costs_what_it_ran_however_often_it_is_recorded(world: World) -> None:
    handle = await at_once(world)
    await world.sleep(timedelta(hours=2))
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.until(handle, State.STOPPED)
    cost = (await world.lease(handle)).cost(datetime.now(UTC))
    assert cost is not None
    assert abs(taken(world) - cost.amount) < Decimal("0.01")
    before = taken(world)
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await handle.result()
    assert (taken(world), world.ledger.held()) == (before, ())


def morning() -> str:
    """A zone in which it is about six now: what runs from midnight to noon runs, at whatever hour this is played."""
    ahead = (6 - datetime.now(UTC).hour + 12) % 24 - 12
    return f"Etc/GMT{-ahead:+d}"


def recorded(world: World, handle: Handle) -> Lease:
    found = world.ledger.lease(handle.id)
    assert found
    return found


def money(most: int) -> Ceiling:
    return Ceiling("team:research", Decimal(most), Kind.MONEY)


def alerts(world: World) -> list[PageInput]:
    return [one for one in world.notifier.paged if one.alarm is Alarm.BUDGET]


def taken(world: World) -> Decimal:
    """What the team has used and planned of all months."""
    return Decimal(sum(e.commitment.money or 0 for e in entries(world))) / MILLIONTHS


def entries(world: World) -> tuple[Entry, ...]:
    months = [f"{year}-{month:02}" for year in range(2020, 2060) for month in range(1, 13)]
    return world.ledger.taken(Account("research"), months)


async def pages(world: World, handle: Handle) -> int:
    """How many page activities the lease had."""
    scheduled = [e.activity_task_scheduled_event_attributes for e in await world.history(handle)]
    return sum(one.activity_type.name == "page" for one in scheduled)
