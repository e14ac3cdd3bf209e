"""Working hours and reservations as owners meet them: announced, kept running, stopped, started again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lessor.contracts import Notice, Verb
from lessor.domain import suspension
from lessor.domain.lease import Event, Lease, State, changed
from lessor.domain.worktime import Hours
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.world import MANAGER, World

OFFICE = Hours("UTC", ((datetime(2026, 1, 1, tzinfo=UTC), 0),), tuple(range(7)), 9 * 60, 18 * 60)
EVENING = datetime(2026, 11, 30, 17, 45, tzinfo=UTC)


async def in_the_evening(world: World) -> Lease:
    """A lease with working hours a quarter of an hour before they close."""
    world.clock.set(EVENING)
    lease = await world.running(await world.ask(duration=timedelta(days=3), schedule="office"))
    noted = changed(lease, Event("noted", world.clock(), "lessor", {}), schedule=OFFICE)
    await world.engine.apply(noted)
    world.engine.tell(lease.id, Notice.SUSPENDING)
    await world.settled()
    return await world.move(noted.lease, suspension.announced, "slack:dm", world.clock())


async def test_the_stop_is_announced_and_called_off_by_a_form(world: World) -> None:
    lease = await in_the_evening(world)
    assert lease.announced is not None
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("is stopped")
    opens = datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert buttons(told) == ["Keep running tonight", "Details"]
    assert f"is stopped {local(lease.announced.stops_at, 'Europe/Berlin')}, outside its working hours" in visible_text(
        told
    )
    assert f"starts again by itself {local(opens, 'Europe/Berlin')}" in visible_text(told)
    await requester.click(told, "exempt")
    view = await requester.wait_for_view("is stopped outside its working hours")
    assert int(view["blocks"][2]["element"]["initial_date_time"]) == int(opens.timestamp())
    sent = await requester.submit_view({"reason": "the run ends at night"})
    assert sent["errors"] == {}
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert lease.exemption is not None
    assert (lease.exemption.until, lease.exemption.reason) == (opens, "the run ends at night")
    assert buttons(await requester.wait_for_message("this pause is over, or was called off")) == []


async def test_a_typed_end_wins_and_a_wrong_one_asks(world: World) -> None:
    lease = await in_the_evening(world)
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message("is stopped"), "exempt")
    await requester.wait_for_view("is stopped outside its working hours")
    sent = await requester.submit_view({"reason": "x", "end": "sometime"})
    assert "'sometime' is not understood" in sent["errors"]["end"]
    assert (await requester.submit_view({"reason": "x", "end": "in 6 h"}))["errors"] == {}
    await world.settled()
    exemption = world.engine.leases[lease.id].exemption
    assert exemption is not None
    assert abs(exemption.until - world.clock() - timedelta(hours=6)) < timedelta(minutes=1)


async def test_exempt_by_command(world: World) -> None:
    lease = await in_the_evening(world)
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"exempt {lease.id} tomorrow 6:00 the run ends at night")
    told = visible_text(await requester.wait_for_ephemeral("runs on outside its working hours until"))
    assert told.endswith("Tuesday 1 December 2026 06:00 CET.")
    await requester.command("/gpu", f"exempt {lease.id} tomorrow 7:00")
    await requester.wait_for_ephemeral("say why it has to run outside its hours")


async def test_a_lease_without_hours_cannot_be_exempted(world: World) -> None:
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"exempt {lease.id} in 3 h because")
    await requester.wait_for_ephemeral("runs round the clock")


async def test_stopped_for_the_night_then_running_again(world: World) -> None:
    lease = await in_the_evening(world)
    requester = world.slack.person("requester")
    world.clock.moved += timedelta(minutes=20)
    lease = await world.move(lease, suspension.suspend, world.clock())
    lease = await world.move(lease, suspension.suspended, world.clock(), world.clock())
    told = await requester.wait_for_message("*Stopped until its working hours:*")
    assert buttons(told) == ["Extend", "Run outside working hours", "Release now"]
    assert "It starts again Tuesday 1 December 2026 10:00 CET." in visible_text(told)
    assert buttons(await requester.wait_for_message("this pause is over, or was called off")) == []
    ready = await requester.wait_for_message("*Ready:*")
    assert (buttons(ready), "It is suspended now." in visible_text(ready)) == ([], True)
    world.clock.moved += timedelta(hours=16)
    lease = await world.move(lease, suspension.resume_failed, "no capacity in us-east-1a", world.clock())
    failed = await requester.wait_for_message("*Not started:*")
    assert "Because: no capacity in us-east-1a." in visible_text(failed)
    await world.slack.person("admin").wait_for_message("*Not started:*", "gpu-admins")
    lease = await world.move(lease, suspension.started_again, world.clock(), world.clock())
    running = await requester.wait_for_message("*Running again:*")
    assert buttons(running) == ["Extend", "Release now"]
    assert "aws ssm start-session" in visible_text(running)
    settled = [visible_text(m) for m in await requester.dms() if "this pause is over" in visible_text(m)]
    assert len(settled) == 2
    assert lease.state is State.ACTIVE


async def test_a_reservation_says_when_it_starts(world: World) -> None:
    start = (world.clock() + timedelta(days=3)).replace(microsecond=0)
    lease = await world.ask(start=start)
    card = visible_text(await world.slack.person("manager").wait_for_message("GPU request"))
    assert f"*Start*\n{local(start, 'America/New_York')}" in card
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    noted = changed(world.engine.leases[lease.id], Event("reserved", world.clock(), "lessor", {}))
    await world.engine.apply(noted)
    await world.settled()
    told = await world.slack.person("requester").wait_for_message("*Reserved:*")
    assert f"starts {local(start, 'Europe/Berlin')}" in visible_text(told)
    assert buttons(told) == ["Withdraw"]
    await world.act(lease, Verb.WITHDRAW, lease.owner)
    gone = await world.slack.person("requester").wait_for_message("It is withdrawn now.")
    assert (buttons(gone), replace(lease, state=State.WITHDRAWN).final) == ([], True)
