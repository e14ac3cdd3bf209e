"""Slack is down for hours: what it held up is told afterwards, and what nobody hears is given up on record."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import Alarm, Notice, Verb
from lessor.domain.lease import Event, State
from lessor.domain.terms import Terms
from lessor.ports import PermanentError
from tests.builders import a_quota
from tests.workflows.test_budgets import alerts, at_once
from tests.world import MANAGER, REQUESTER, Handle, World
from workflows import rhythm

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


async def test_what_an_outage_of_hours_held_up_is_told_when_it_is_over(world: World) -> None:
    handle = await world.active()
    world.notifier.down = {Notice.STOPPED, Notice.CLOSED}
    await released(world, handle)
    await world.sleep(HOUR)
    await world.until(handle, State.CLOSED)
    assert world.notifier.kinds(handle.id)[-1] == "ready"
    world.notifier.down.clear()
    assert (await handle.result()).state == "closed"
    assert sorted(world.notifier.kinds(handle.id)[-2:]) == ["closed", "stopped"]
    assert "message-undelivered" not in world.events(handle)


async def test_a_late_message_holds_up_none_behind_it(world: World) -> None:
    world.notifier.down = {Notice.READY}
    handle = await world.active()
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.sleep(5 * MINUTE)
    await world.told(handle, "stopped")
    world.notifier.down.clear()
    await world.sleep(5 * MINUTE)
    await world.told(handle, "ready")


async def test_the_last_message_is_given_up_after_two_hours_and_on_record(world: World) -> None:
    """A closed lease of which something is found again is taken down by a new run, which has to wait for this one."""
    handle = await world.active()
    world.notifier.down = {Notice.CLOSED}
    await released(world, handle)
    assert (await handle.result()).state == "closed"
    closed, given_up = (stored.event for stored in world.ledger.events(handle.id)[-2:])
    data = {"message": "closed", "problem": "Slack does not answer"}
    assert given_up == Event("message-undelivered", given_up.at, "lessor", data)
    assert 2 * HOUR - 5 * MINUTE <= given_up.at - closed.at <= 2 * HOUR + 5 * MINUTE
    assert world.notifier.in_vain[Notice.CLOSED] == pytest.approx(34, abs=2)
    assert await scheduled(world, handle) == ["request", "decided", "ready", "stopped", "closed", "closed"]


async def test_what_is_refused_for_good_is_given_up_at_once(world: World) -> None:
    handle = await world.active()
    world.notifier.fail[Notice.STOPPED] = [PermanentError("the workspace is gone")]
    world.notifier.silent[Notice.CLOSED] = 1
    await released(world, handle)
    assert (await handle.result()).state == "closed"
    found = [stored.event for stored in world.ledger.events(handle.id)]
    assert [event.data for event in found if event.type == "message-undelivered"] == [
        {"message": "stopped", "problem": "the workspace is gone"},
        {"message": "closed", "problem": "nobody could be reached"},
    ]
    assert found[-1].at - found[-2].at < MINUTE


async def test_a_newer_message_takes_the_place_of_a_late_one_of_its_kind(world: World) -> None:
    handle = await world.active()
    ends_at = (await world.lease(handle)).ends_at
    assert ends_at is not None
    world.notifier.down = {Notice.EXTENDED}
    for hours in (1, 2):
        assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + hours * HOUR)).ok
        await world.sleep(5 * MINUTE)
    world.notifier.down.clear()
    await world.sleep(10 * MINUTE)
    await world.told(handle, "extended")
    await world.sleep(10 * MINUTE)
    assert world.notifier.kinds(handle.id).count("extended") == 1


async def test_nobody_is_called_late_to_a_lease_that_is_over(world: World) -> None:
    world.terms = Terms(verify_interval=11 * MINUTE, cleanup_limit=12 * MINUTE)
    world.notifier.down = {Notice.BLOCKED, Notice.HELD_UP}
    handle = await world.active()
    world.cloud.fail["delete"] = [PermanentError("termination protection is on") for _ in range(30)]
    await released(world, handle)
    await world.sleep(HOUR)
    await world.until(handle, State.BLOCKED)
    world.cloud.fail["delete"].clear()
    assert (await handle.result()).state == "closed"
    assert world.events(handle)[-1] == "closed"
    assert "blocked" not in world.notifier.kinds(handle.id)


async def test_what_was_overtaken_on_its_way_is_not_tried_on(world: World) -> None:
    """The request is withdrawn while its card is tried for the first time."""
    world.notifier.down = {Notice.REQUEST}
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    assert (await handle.result()).state == "withdrawn"
    assert world.notifier.kinds(handle.id) == ["decided"]
    assert world.events(handle)[-1] == "withdrawn"
    assert world.notifier.in_vain[Notice.REQUEST] == 8


async def test_the_next_run_goes_on_with_late_messages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.allow(a_quota("research", 1), thresholds=(100,))
    world.notifier.down = {Notice.READY, Alarm.BUDGET}
    handle = await at_once(world)
    await world.sleep(10 * MINUTE)
    monkeypatch.setattr(rhythm, "ACTS_LIMIT", 1)
    assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok
    await world.eventually(lambda: "kept" in world.events(handle), "an act on record")
    await world.sleep(HOUR)
    latest = world.env.client.get_workflow_handle(handle.id)
    assert (await latest.describe()).run_id != handle.first_execution_run_id
    world.notifier.down.clear()
    await world.sleep(10 * MINUTE)
    await world.told(handle, "ready")
    assert [one.subject.split()[0] for one in alerts(world)] == ["team:research"]


async def test_a_click_on_a_card_that_could_not_be_redrawn_grants_no_later_end(world: World) -> None:
    world.terms = Terms(auto_extensions=0)
    handle = await world.active()
    ends_at = (await world.lease(handle)).ends_at
    assert ends_at is not None
    assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + HOUR)).ok
    await world.told(handle, "extension-asked")
    world.notifier.down = {Notice.EXTENSION_ASKED}
    assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=ends_at + 9 * HOUR)).ok
    await world.sleep(10 * MINUTE)
    early = await world.act(handle, Verb.GRANT, MANAGER, via="slack")
    assert (early.code, (await world.lease(handle)).ends_at) == ("changed", ends_at)
    world.notifier.down.clear()
    await world.sleep(10 * MINUTE)
    assert (await world.act(handle, Verb.GRANT, MANAGER, via="slack")).ok
    assert (await world.lease(handle)).ends_at == ends_at + 9 * HOUR


async def released(world: World, handle: Handle) -> None:
    """Given back twice: what the first stops need not wait to be deleted."""
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.until(handle, State.STOPPED)
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok


async def scheduled(world: World, handle: Handle) -> list[str]:
    """The notices of a lease, by the activities that its history has of them."""
    found = [event.activity_task_scheduled_event_attributes for event in await world.history(handle)]
    inputs = [one.input.payloads for one in found if one.activity_type.name == "notify"]
    return [one["notice"] for one in await world.env.client.data_converter.decode([p for ps in inputs for p in ps])]
