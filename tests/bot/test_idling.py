"""What people answer to a warning, by button, form and command; and what a click on an old card is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lessor.contracts import Verb
from lessor.domain import idling, life
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.ladder import Why
from lessor.domain.lease import Change, Event, Lease, State, changed
from lessor.sandbox.slack import RunningSandbox, buttons, visible_text
from lessor.when import local
from tests.bot.doing_nothing import HOUR, MINUTE, seen_idle, stopped, warned
from tests.bot.world import FINANCE, REQUESTER, World, a_world


async def idle(world: World, **terms: Any) -> tuple[Lease, dict[str, Any]]:
    """A warned lease, and its card with the owner."""
    lease = await seen_idle(world, await world.running(await world.ask()), terms=IdleTerms(**terms))
    lease, _ = await warned(world, lease)
    return lease, await world.slack.person("requester").wait_for_message("does nothing")


async def busy_again(world: World, lease: Lease) -> Lease:
    now = world.clock() + MINUTE
    return await world.move(lease, idling.metered, Evidence(Verdict.BUSY, now, now, gpus=2), IdleTerms(), now)


def events(world: World, lease: Lease, type: str) -> list[dict[str, str]]:
    return [one.event.data for one in world.ledger.events(lease.id) if one.event.type == type]


async def test_I_am_using_it_asks_why_and_for_how_long(world: World) -> None:
    lease, card = await idle(world, snooze_most=timedelta(days=3))
    requester = world.slack.person("requester")
    await requester.click(card, "snooze")
    form = await requester.wait_for_view("looks idle since")
    assert "You can say this 3 more times before it has to be seen at work." in visible_text(form)
    options = form["blocks"][1]["element"]["options"]
    assert [one["value"] for one in options] == ["1h", "4h", "tomorrow"]
    assert options[2]["text"]["text"].startswith("Until tomorrow, ")
    assert form["blocks"][1]["element"]["initial_option"]["value"] == "1h"
    before = world.clock()
    sent = await requester.submit_view({"length": "4h", "reason": "evaluation runs on the processor"}, form)
    assert sent["errors"] == {}
    await world.settled()
    snooze = world.engine.leases[lease.id].snooze
    assert snooze is not None
    assert (snooze.by, snooze.reason) == (REQUESTER.id, "evaluation runs on the processor")
    assert abs(snooze.until - before - timedelta(hours=4)) < MINUTE
    done = visible_text(await requester.wait_for_view("is left alone until"))
    assert local(snooze.until, "Europe/Berlin") in done
    settled = await requester.wait_for_message("left alone until")
    assert buttons(settled) == []


async def test_tomorrow_is_nine_on_the_persons_clock_and_never_beyond_what_is_allowed(world: World) -> None:
    lease, card = await idle(world, snooze_most=timedelta(hours=2))
    requester = world.slack.person("requester")
    await requester.click(card, "snooze")
    form = await requester.wait_for_view("looks idle since")
    options = form["blocks"][1]["element"]["options"]
    assert [one["value"] for one in options] == ["1h", "tomorrow"]
    assert options[1]["text"]["text"].startswith("As long as allowed, ")
    before = world.clock()
    assert (await requester.submit_view({"length": "tomorrow", "reason": "x"}, form))["errors"] == {}
    await world.settled()
    snooze = world.engine.leases[lease.id].snooze
    assert snooze is not None
    assert timedelta() < snooze.until - before <= timedelta(hours=2, seconds=30)


async def test_a_reason_of_blanks_and_too_many_snoozes_speak_at_their_fields(world: World) -> None:
    lease, card = await idle(world, snoozes=0)
    requester = world.slack.person("requester")
    await requester.click(card, "snooze")
    form = await requester.wait_for_view("looks idle since")
    sent = await requester.submit_view({"length": "1h", "reason": " \u00a0 "}, form)
    assert sent["errors"] == {"reason": "Say what it is used for: the reason goes on record."}
    sent = await requester.submit_view({"length": "1h", "reason": "x"}, form)
    assert "0 are allowed; an administrator can snooze or spare it" in sent["errors"]["length"]
    assert world.engine.leases[lease.id].snooze is None


async def test_wrong_verdict_is_on_record_with_the_figures_and_is_listed(world: World) -> None:
    lease, card = await idle(world)
    requester = world.slack.person("requester")
    await requester.click(card, "dispute")
    form = await requester.wait_for_view("Say what it was doing")
    sent = await requester.submit_view({"reason": " "}, form)
    assert sent["errors"]["reason"].startswith("Say what it was doing")
    assert (await requester.submit_view({"reason": "it <loads> data"}, form))["errors"] == {}
    await world.settled()
    (data,) = events(world, lease, "verdict-disputed")
    assert (data["reason"], data["peak_engine"], data["gpus"]) == ("it <loads> data", "0.004", "2")
    assert buttons(await requester.wait_for_message("the verdict is not believed for now")) == []
    await world.slack.person("admin").command("/gpu", "admin verdicts")
    shown = visible_text(await world.slack.person("admin").wait_for_ephemeral("*Verdicts called wrong*"))
    assert "in the last 30 days: 1" in shown
    assert f"`{lease.id}`" in shown
    assert "by <@U0REQUESTER>: idle since" in shown
    assert "engine 0.004" in shown
    assert "> it <loads> data" in shown


async def test_stop_keeps_the_disk_and_start_again_starts_it(world: World) -> None:
    lease, card = await idle(world)
    requester = world.slack.person("requester")
    await requester.click(card, "stop")
    told = visible_text(await requester.wait_for_ephemeral("is being stopped"))
    assert f"`/gpu start {lease.id}` starts it again." in told
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.state, lease.pause and lease.pause.why) == (State.SUSPENDED, Why.ASKED)
    await requester.command("/gpu", f"start {lease.id}")
    await requester.wait_for_ephemeral("is being started again")
    await world.settled()
    assert world.engine.leases[lease.id].pause is None


async def test_a_stop_that_loses_local_disks_is_typed_out(world: World) -> None:
    lease, _ = await idle(world)
    await world.engine.apply(with_local_disks(world, lease))
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"stop {lease.id}")
    asked = await requester.wait_for_ephemeral("and keep its disks?")
    assert "*What is on its local disks is lost for good.*" in visible_text(asked)
    assert buttons(asked) == ["Stop (type to confirm)", "Details"]
    await requester.click(asked, "stop-typed")
    form = await requester.wait_for_view("loses what is on its local disks")
    sent = await requester.submit_view({"confirmation": "gpu-00000000"}, form)
    assert f"type {lease.id} to stop it all the same" in sent["errors"]["confirmation"]
    assert world.engine.leases[lease.id].pause is None
    assert (await requester.submit_view({"confirmation": lease.id.upper()}, form))["errors"] == {}
    await world.settled()
    assert world.engine.leases[lease.id].pause is not None


def with_local_disks(world: World, lease: Lease) -> Change:
    return changed(world.engine.leases[lease.id], Event("noted", world.clock(), "lessor", {}), volatile=True)


async def test_consent_is_asked_for_where_a_stop_loses_data(world: World) -> None:
    lease, _ = await idle(world)
    await world.engine.apply(with_local_disks(world, lease))
    lease = await seen_idle(world, world.engine.leases[lease.id])
    world.clock.moved += MINUTE
    lease, _ = await warned(world, await seen_idle(world, lease))
    requester = world.slack.person("requester")
    card = await requester.wait_for_message("nobody has agreed to that")
    assert "It is not stopped: a stop loses what is on its local disks" in visible_text(card)
    assert "Local disks may be lost" in buttons(card)
    await requester.click(card, "consent")
    await requester.wait_for_ephemeral("may be stopped now when it does nothing")
    await world.settled()
    assert world.engine.leases[lease.id].consent is not None


@pytest.mark.parametrize("action", ["snooze", "dispute"])
async def test_a_click_on_an_old_card_is_told_what_holds_now(world: World, action: str) -> None:
    lease, card = await idle(world)
    world.engine.quiet = True
    await busy_again(world, lease)
    requester = world.slack.person("requester")
    await requester.click(card, action)
    await requester.wait_for_view(f"{lease.id} is not seen idle any more, so nothing is stopped")
    await world.settled()
    assert buttons(await requester.wait_for_message("works again, nothing is stopped")) == []


async def test_stop_on_an_old_card_names_the_state_and_takes_its_buttons(world: World) -> None:
    lease, card = await idle(world)
    world.engine.quiet = True
    await world.move(lease, life.release, REQUESTER.id, world.clock())
    requester = world.slack.person("requester")
    await requester.click(card, "stop")
    await requester.wait_for_ephemeral("is ending")
    await world.settled()
    assert buttons(await requester.wait_for_message("this warning is settled")) == []


async def test_what_was_stopped_can_be_disputed_too(world: World) -> None:
    lease = await stopped(world, await seen_idle(world, await world.running(await world.ask())))
    requester = world.slack.person("requester")
    await requester.click(await requester.wait_for_message("*Stopped for doing nothing:*"), "dispute")
    form = await requester.wait_for_view("Say what it was doing")
    assert (await requester.submit_view({"reason": "it was waiting for labels"}, form))["errors"] == {}
    await world.settled()
    (data,) = events(world, lease, "verdict-disputed")
    assert data["stopped"] == "yes"


async def test_the_commands_ask_for_what_is_missing_and_hold_to_whose_it_is(world: World) -> None:
    lease, _ = await idle(world)
    requester, finance = world.slack.person("requester"), world.slack.person("finance")
    await requester.command("/gpu", "snooze")
    await requester.wait_for_ephemeral("the lease id is missing; write /gpu snooze ID WHEN reason")
    await requester.command("/gpu", "start now")
    await requester.wait_for_ephemeral("'now' is no lease id; write /gpu start ID")
    await requester.command("/gpu", f"snooze {lease.id} in 2 h “a demo”")
    await requester.wait_for_ephemeral("is left alone until")
    snooze = world.engine.leases[lease.id].snooze
    assert snooze is not None
    assert snooze.reason == "a demo"
    await finance.command("/gpu", f"snooze {lease.id} 1h x")
    await finance.wait_for_ephemeral("belongs to somebody else")
    await finance.command("/gpu", f"stop {lease.id}")
    await finance.wait_for_ephemeral("belongs to somebody else")
    await requester.command("/gpu", f"consent {lease.id}")
    await requester.wait_for_ephemeral("needs no consent: a stop loses nothing of it")
    await requester.command("/gpu", f"dispute {lease.id} it loads data")
    await requester.wait_for_ephemeral("Thank you")
    assert FINANCE.id not in {act.by for act in world.engine.acts if act.verb is Verb.STOP}


async def test_E22_show_names_the_policy_in_force_of_what_works_too(slack: RunningSandbox, sqlite_url: str) -> None:
    plan = IdlePlan(teams={"research": {"stop": timedelta(hours=6)}})
    async with a_world(slack, sqlite_url, idle=plan) as world:
        lease = await world.running(await world.ask())
        requester = slack.person("requester")
        await requester.command("/gpu", f"show {lease.id}")
        told = await requester.wait_for_ephemeral("*Idle policy in force*")
        assert "• team research: stopped after 6 h\n" in visible_text(told)
        await requester.click(told, "details")
        view = visible_text(await requester.wait_for_view("*Idle policy in force*"))
        assert "• team research: stopped after 6 h\n" in view


async def test_home_and_lists_say_that_it_is_idle_and_when_it_is_stopped(world: World) -> None:
    lease, _ = await idle(world)
    requester = world.slack.person("requester")
    await requester.open_home()
    home = await requester.wait_for_home("idle for")
    assert lease.idle is not None
    stops = local(lease.idle.evidence.since + 2 * HOUR, "Europe/Berlin")
    assert f"idle for 1 h, is stopped {stops}, ends" in visible_text(home)
    assert "I am using it" in buttons(home)
    await requester.command("/gpu", f"show {lease.id}")
    shown = visible_text(await requester.wait_for_ephemeral("*Does nothing* since"))
    assert f"It is stopped {stops} unless it works before." in shown
    assert "*Idle policy in force*\n• built in: idle throughout 1 h" in shown
