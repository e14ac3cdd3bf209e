"""What else owners are told: stopped, held back, partly idle, never stopped, and what money has to do with it."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Notice, Verb
from lessor.domain import braking, capping, extension, idling, suspension
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Brake, Consent, Rung
from lessor.domain.lease import Event, changed
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.doing_nothing import HOUR, MINUTE, seen_idle, stopped, warned
from tests.bot.world import REQUESTER, World
from tests.builders import usd

ROW = ["Release now", "Stop, keep disk", "I am using it", "Wrong verdict", "Details"]


async def test_what_was_stopped_says_what_its_disks_cost_and_has_a_start_button(world: World) -> None:
    lease = await stopped(world, await seen_idle(world, await world.running(await world.ask())))
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("*Stopped for doing nothing:*")
    assert buttons(told) == ["Start again", "Extend", "Release now", "Wrong verdict"]
    assert f"`/gpu start {lease.id}`" in visible_text(told)
    assert all(buttons(m) == [] for m in await requester.dms() if "*Last warning:*" in visible_text(m))
    await world.act(lease, Verb.START, REQUESTER.id)
    assert world.engine.leases[lease.id].pause is None


async def test_what_its_owner_stopped_names_them_once(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.STOP, REQUESTER.id)
    now = world.clock()
    await world.move(world.engine.leases[lease.id], suspension.suspended, now, now)
    told = visible_text(await world.slack.person("requester").wait_for_message("*Stopped:*"))
    assert f"<@{REQUESTER.id}> asked for it.\n" in told
    assert told.count(REQUESTER.id) == 1


async def test_E19_some_idle_gpus_are_told_with_a_smaller_size_and_nothing_is_stopped(world: World) -> None:
    lease = await world.running(await world.ask())
    world.clock.moved += 2 * HOUR
    now = world.clock()
    evidence = Evidence(Verdict.BUSY, now - HOUR, now, gpus=8, idle_gpus=7, covered=1.0, peak_engine=0.9)
    await world.move(lease, idling.metered, evidence, IdleTerms(), now)
    told = await world.slack.person("requester").wait_for_message("*7 of 8 GPUs idle:*")
    text = visible_text(told)
    assert "only 1 of its 8 GPUs worked. It is not stopped for that" in text
    assert "`/gpu request 1 x A100-80GB`" in text
    assert buttons(told) == ["Release now", "Details"]


async def test_a_stop_that_is_held_back_says_why_and_settles_when_it_is_over(world: World) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    now = world.clock()
    lease = await world.move(lease, idling.held_back, "the brake is on: 12 of 40 leases fell idle at once", now)
    told = await world.slack.person("requester").wait_for_message("*Not stopped:*")
    assert "Because: the brake is on: 12 of 40 leases fell idle at once\n" in visible_text(told)
    assert "It runs on and costs 2.50 USD an hour." in visible_text(told)
    await world.move(lease, idling.metered, Evidence(Verdict.BUSY, now, now + MINUTE, gpus=2), IdleTerms(), now)
    assert await world.slack.person("requester").wait_for_message("this is over")


async def test_a_brake_that_holds_a_stop_back_is_told_with_a_name_and_on_the_readers_clock(world: World) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    now = world.clock()
    since = now.replace(second=0, microsecond=0) - HOUR
    words = braking.spelled(Brake(True, "U0ADMIN", since, "the racks move, ask by noon: room 3"))
    await world.move(lease, idling.held_back, words, now)
    told = visible_text(await world.slack.person("requester").wait_for_message("*Not stopped:*"))
    begun = local(since, "Europe/Berlin")
    because = f"Because: the brake is on since {begun}, by <@U0ADMIN>: the racks move, ask by noon: room 3\nIt runs on"
    assert because in told
    assert "UTC" not in told


async def test_a_cap_is_told_by_its_share_with_when_it_is_reached_and_what_follows(world: World) -> None:
    lease = await world.running(await world.ask(cap=usd("20")))
    world.clock.moved += 4 * HOUR + MINUTE
    world.engine.tell(lease.id, Notice.CAP)
    await world.settled()
    requester = world.slack.person("requester")
    told = visible_text(await requester.wait_for_message("*50 % of the cap:*"))
    assert "may cost 20.00 USD" in told
    assert "Cost so far: 10.04 USD, 2.50 USD an hour." in told
    assert lease.ready_at is not None
    assert f"the cap is reached {local(lease.ready_at + 8 * HOUR, 'Europe/Berlin')}" in told
    assert "When the cap is reached it is stopped, its disks are kept and charged; you are told before." in told
    lease = await world.move(lease, capping.told, 50, "slack:dm", world.clock())
    world.clock.moved += 3 * HOUR + 58 * MINUTE
    world.engine.tell(lease.id, Notice.CAP)
    await world.settled()
    lease = await world.move(lease, capping.told, 100, "slack:dm", world.clock())
    world.engine.tell(lease.id, Notice.CAP)
    await world.settled()
    last = visible_text(await requester.wait_for_message("*100 % of the cap:*"))
    assert "*It is stopped " in last
    assert len([m for m in await requester.dms() if "% of the cap:" in visible_text(m)]) == 2


async def test_used_up_money_says_whose_with_the_numbers_and_the_new_end(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(days=3)))
    now = world.clock()
    words = "1,002.00 of 1,000.00 USD in 2026-11"
    lease = await world.move(lease, extension.cut_short, "team:research", words, now)
    told = await world.slack.person("requester").wait_for_message("*Over budget:*")
    assert lease.ends_at is not None
    assert f"ends {local(lease.ends_at, 'Europe/Berlin')}" in visible_text(told)
    assert f"The money of team research is used up: {words}." in visible_text(told)
    assert buttons(told) == ["Release now", "Details"]


async def test_what_is_never_stopped_is_told_once_a_day_by_a_new_message_that_says_why(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(days=3)))
    lease, _ = await warned(world, await seen_idle(world, lease, terms=IdleTerms(stops=False)))
    requester = world.slack.person("requester")
    first = await requester.wait_for_message(
        "It is not stopped: the policy for it only warns. You are told again once a day."
    )
    world.clock.moved += timedelta(days=1)
    await warned(world, await seen_idle(world, lease))
    second = await requester.wait_for_message("does nothing, for 1 d 1 h")
    assert second["ts"] > first["ts"]
    assert (buttons(second), buttons(await requester.wait_for_message("a newer warning stands"))) == (ROW, [])


async def test_whose_stop_loses_local_disks_is_told_so_by_each_warning_and_after_the_stop(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(days=3)))
    now = world.clock()
    noted = Event("noted", now, "lessor", {})
    await world.engine.apply(changed(lease, noted, volatile=True, consent=Consent(REQUESTER.id, now)))
    lost = "*What is on its local disks is lost for good.* Its other disks are kept and charged"
    requester = world.slack.person("requester")
    lease, _ = await warned(world, await seen_idle(world, world.engine.leases[lease.id]))
    assert lost in visible_text(await requester.wait_for_message("does nothing, for 1 h"))
    world.clock.moved += 45 * MINUTE
    lease, _ = await warned(world, await seen_idle(world, lease), Rung.FINAL)
    assert lost in visible_text(await requester.wait_for_message("*Last warning:*"))
    world.clock.moved += 20 * MINUTE
    lease = await seen_idle(world, lease)
    assert lease.idle is not None
    lease = await world.move(lease, idling.stop, lease.idle.evidence, world.clock())
    await world.move(lease, suspension.suspended, world.clock(), world.clock())
    told = visible_text(await requester.wait_for_message("*Stopped for doing nothing:*"))
    assert "What was on its local disks is lost. Its other disks are kept" in told


async def test_a_cap_that_stops_it_says_what_is_lost_with_its_local_disks(world: World) -> None:
    lease = await world.running(await world.ask(cap=usd("20")))
    now = world.clock()
    noted = Event("noted", now, "lessor", {})
    await world.engine.apply(changed(lease, noted, volatile=True, consent=Consent(REQUESTER.id, now)))
    world.clock.moved += 4 * HOUR + MINUTE
    world.engine.tell(lease.id, Notice.CAP)
    await world.settled()
    told = visible_text(await world.slack.person("requester").wait_for_message("*50 % of the cap:*"))
    lost = "it is stopped, what is on its local disks is lost, its other disks are kept and charged; you are told"
    assert lost in told
