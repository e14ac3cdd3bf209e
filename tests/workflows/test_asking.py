"""Nobody is left waiting: reminders, the next level, the lapse, in the working time of those who decide."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lessor import contracts
from lessor.contracts import Verb
from lessor.domain.lease import Lease, State
from lessor.domain.people import StandIn
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.ports import DirectoryUnavailableError
from lessor.when.hours import written
from tests.builders import OFFICE
from tests.world import ADMIN, MANAGER, REQUESTER, SECOND, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FINANCE = replace(SECOND, id="U0FINANCE", email="finance@example.com", leads=(), groups=("finance",))
LEAD = StepSpec("team lead", ("lead:research",))
MONEY = StepSpec("money", ("group:finance",))


def needs(*steps: StepSpec) -> Decision:
    return Decision(Outcome.REQUIRE, (Reason("big", "costs a lot"),), steps, "v1")


def moments(world: World, handle: Handle, kind: str) -> list[datetime]:
    return [stored.event.at for stored in world.ledger.events(handle.id) if stored.event.type == kind]


def minutes_after(world: World, handle: Handle, kind: str) -> list[int]:
    (asked, *_) = moments(world, handle, "asked")
    return [round((at - asked) / MINUTE) for at in moments(world, handle, kind)]


async def waiting(world: World, **changes: object) -> Handle:
    handle = await world.ask(**changes)
    await world.until(handle, State.AWAITING_APPROVAL)
    return handle


def people(world: World, **now: object) -> None:
    """From now on the manager is the only lead, and is like this."""
    world.directory.people[:] = [REQUESTER, replace(MANAGER, **now), ADMIN, FINANCE]  # type: ignore[arg-type]


async def test_those_who_decide_are_reminded_ever_less_often_and_the_next_level_is_asked(world: World) -> None:
    people(world)
    handle = await waiting(world)
    await world.sleep(17 * HOUR)
    assert minutes_after(world, handle, "reminded") == [15, 30, 60, 120, 480, 960]
    assert minutes_after(world, handle, "escalated") == [240]
    lease = await world.lease(handle)
    assert lease.steps[0].approvers == ("lead:research", "admins")
    told = world.notifier.kinds(handle.id)
    assert (told.count("reminder"), told.count("escalated"), told[0]) == (6, 1, "request")
    assert (await world.act(handle, Verb.APPROVE, ADMIN)).ok
    await world.until(handle, State.ACTIVE)


async def test_nothing_is_approved_by_silence(world: World) -> None:
    people(world)
    handle = await waiting(world)
    outcome = await handle.result()
    assert outcome.state == "lapsed"
    assert minutes_after(world, handle, "lapsed") == [24 * 60]
    assert world.notifier.kinds(handle.id)[-1] == "decided"
    assert world.cloud.times("launch") == 0


async def test_over_a_weekend_nobody_is_asked_twice_in_two_zones(world: World) -> None:
    """Every reminder and escalation falls into the hours of somebody who can decide, and takes their hours only."""
    now = await world.env.get_current_time()
    friday = (now + (4 - now.weekday()) % 7 * DAY).replace(hour=15, minute=30, second=0, microsecond=0)
    friday += 7 * DAY if friday < now else timedelta()
    berlin, new_york = (written(OFFICE, zone, friday) for zone in ("Europe/Berlin", "America/New_York"))
    world.directory.people[:] = [
        REQUESTER,
        replace(MANAGER, hours=berlin),
        replace(SECOND, hours=new_york),
        replace(ADMIN, hours=berlin),
    ]
    await world.sleep(friday - now)
    handle = await waiting(world)
    lease = await world.lease(handle)
    assert lease.steps[0].hours == (berlin, new_york)
    await world.sleep(4 * DAY)
    rung = [*moments(world, handle, "reminded"), *moments(world, handle, "escalated")]
    assert {at.weekday() for at in rung} <= {0, 1, 4}
    (asked, *_) = moments(world, handle, "asked")
    (escalated,) = moments(world, handle, "escalated")
    assert (escalated - asked) // HOUR == 4
    assert escalated.weekday() == 4


async def test_of_one_zone_the_escalation_waits_for_monday(world: World) -> None:
    now = await world.env.get_current_time()
    days = (4 - now.weekday()) % 7 or 7
    friday = (now + days * DAY).replace(hour=10, minute=0, second=0, microsecond=0)
    tokyo = written(OFFICE, "Asia/Tokyo", friday)
    people(world, hours=tokyo)
    await world.sleep(friday - now)
    handle = await waiting(world)
    await world.sleep(2 * DAY)
    assert moments(world, handle, "reminded") == moments(world, handle, "escalated") == []
    await world.sleep(19 * HOUR)
    (escalated,) = moments(world, handle, "escalated")
    monday = friday.replace(hour=0) + 3 * DAY
    assert monday + 4 * HOUR <= escalated < monday + 4 * HOUR + MINUTE


async def test_a_later_step_is_asked_when_its_turn_comes_with_who_is_there_then(world: World) -> None:
    people(world)
    world.decision = needs(LEAD, replace(MONEY, stage=1))
    handle = await waiting(world)
    world.directory.people.remove(FINANCE)
    await world.sleep(3 * HOUR)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    lease = await world.when(handle, lambda found: found.steps[1].asked_at is not None, "the second step")
    second = lease.steps[1]
    assert second.approvers == ("group:finance", "admins")
    assert second.asked_at is not None
    assert second.asked_at - moments(world, handle, "asked")[0] >= 3 * HOUR
    assert len(moments(world, handle, "asked")) == 2
    assert (await world.act(handle, Verb.APPROVE, ADMIN)).ok
    await world.until(handle, State.ACTIVE)


async def test_steps_side_by_side_are_asked_together_and_decided_in_any_order(world: World) -> None:
    people(world)
    world.decision = needs(LEAD, MONEY)
    handle = await waiting(world)
    assert len(moments(world, handle, "asked")) == 2
    assert (await world.act(handle, Verb.APPROVE, FINANCE)).state == "awaiting-approval"
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    lease = await world.until(handle, State.ACTIVE)
    assert [s.votes[0].by for s in lease.steps] == [MANAGER.id, FINANCE.id]
    assert "staff" not in await activities(handle)


async def test_a_quick_approval_looks_nobody_up_again(world: World) -> None:
    handle = await waiting(world)
    await world.sleep(14 * MINUTE)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    # The end is written on what was made once the lease is in use.
    for _ in range(1_000):
        if "set_end" in (done := await activities(handle)):
            break
        await asyncio.sleep(0.01)
    assert done == ["assess", "provision", "set_end"]


async def activities(handle: Handle) -> list[str]:
    """The remote activities of the lease but messages, in order."""
    names = [
        event.activity_task_scheduled_event_attributes.activity_type.name
        async for event in handle.fetch_history_events()
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    return [name for name in names if name != "notify"]


async def test_an_approver_who_leaves_while_they_are_asked_is_replaced_at_once(world: World) -> None:
    people(world)
    handle = await waiting(world)
    people(world, active=False)
    await handle.signal(contracts.SIGNAL_RESTAFF)
    lease = await world.when(handle, lambda found: "admins" in found.steps[0].approvers, "administrators to be asked")
    assert lease.steps[0].escalated == "admins"
    assert minutes_after(world, handle, "escalated") == [0]
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).code == "inactive"
    assert (await world.act(handle, Verb.APPROVE, ADMIN)).ok


async def test_nobody_left_to_decide_is_a_denial_with_words(world: World) -> None:
    people(world)
    handle = await waiting(world)
    world.directory.people[:] = [REQUESTER]
    await handle.signal(contracts.SIGNAL_RESTAFF)
    outcome = await handle.result()
    assert outcome.state == "denied"
    assert (await world.lease(handle)).decided_reason.startswith("nobody but the requester could decide")


async def test_looking_people_up_changes_nothing_while_nobody_has_changed(world: World) -> None:
    people(world)
    handle = await waiting(world)
    before = await world.lease(handle)
    await handle.signal(contracts.SIGNAL_RESTAFF)
    await world.sleep(MINUTE)
    assert (await world.lease(handle)).steps == before.steps
    assert world.events(handle) == ["requested", "assessed", "asked"]


async def test_a_directory_that_is_down_stops_no_reminder(world: World) -> None:
    people(world)
    handle = await waiting(world)

    async def down(_: str) -> tuple[()]:
        raise DirectoryUnavailableError("Slack does not answer")

    up = world.directory.members
    world.directory.members = down  # type: ignore[method-assign,assignment]
    await world.sleep(50 * MINUTE)
    assert len(moments(world, handle, "reminded")) >= 2
    world.directory.members = up  # type: ignore[method-assign]
    await world.sleep(4 * HOUR)
    assert len(moments(world, handle, "escalated")) == 1


async def test_a_stand_in_decides_and_the_record_says_for_whom(world: World) -> None:
    deputy = replace(FINANCE, id="U0DEPUTY", email="d@example.com", groups=())
    lent = StandIn(MANAGER.id, tuple(MANAGER.all_ids), tuple(MANAGER.refs))
    away = datetime(2200, 1, 1, tzinfo=UTC)
    people(world, away_until=away, delegate="U0DEPUTY")
    world.directory.people.append(replace(deputy, stands_in=(lent,)))
    handle = await waiting(world)
    assert (await world.lease(handle)).steps[0].approvers == ("lead:research",)
    assert (await world.act(handle, Verb.APPROVE, deputy)).ok
    lease: Lease = await world.until(handle, State.ACTIVE)
    assert (lease.decided_by, lease.steps[0].votes[0].stood_in) == ("U0DEPUTY", MANAGER.id)


async def test_who_stands_in_for_the_requester_decides_nothing_of_theirs(world: World) -> None:
    lent = StandIn(REQUESTER.id, tuple(REQUESTER.all_ids), ("lead:research", "admins"))
    friend = replace(FINANCE, id="U0FRIEND", email="f@example.com", groups=(), stands_in=(lent,))
    people(world)
    world.directory.people.append(friend)
    handle = await waiting(world)
    answer = await world.act(handle, Verb.APPROVE, friend)
    assert (answer.ok, answer.code) == (False, "own-request")
    assert world.events(handle)[-1] == "refused"


async def test_a_lead_who_asks_is_decided_by_the_next_level(world: World) -> None:
    people(world)
    handle = await waiting(world, requester=MANAGER.id)
    lease = await world.lease(handle)
    assert (lease.steps[0].approvers, lease.steps[0].escalated) == (("lead:research", "admins"), "admins")
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).code == "own-request"
    assert (await world.act(handle, Verb.APPROVE, ADMIN)).ok
    await world.until(handle, State.ACTIVE)
