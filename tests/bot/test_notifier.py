"""What people are told of a lease that runs, ends and goes, and who hears it when the owner cannot."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Notice, Verb
from lessor.domain import life, pausing, suspension, transitions
from lessor.domain.errors import Refused
from lessor.domain.resource import Condition
from lessor.domain.terms import Terms
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.busy import busy
from tests.bot.world import FINANCE, REQUESTER, World
from tests.builders import a_sighting, an_instance

HALF_AN_HOUR = timedelta(minutes=30)


async def test_ready_names_the_access_command_the_end_and_the_price(world: World) -> None:
    lease = await world.running(await world.ask())
    told = await world.slack.person("requester").wait_for_message("Ready:")
    text = visible_text(told)
    assert "```\naws ssm start-session --target i-0aaa\n```" in text
    assert "It costs 2.50 USD an hour." in text
    assert lease.ends_at is not None
    assert f"It ends {local(lease.ends_at, 'Europe/Berlin')}." in text
    assert buttons(told) == ["Extend", "Release now"]


async def test_every_notice_is_told_twice_without_a_second_message(world: World) -> None:
    lease = await world.running(await world.ask())
    world.engine.leases[lease.id] = busy(lease)
    for notice in Notice:
        counts = []
        for _ in range(2):
            world.engine.tell(lease.id, notice)
            await world.settled()
            counts.append(sum(len(posts) for posts in world.slack.core.store.posts.values()))
        delivery = world.engine.told[-1][2]
        assert delivery.delivered or delivery.problem, notice
        assert counts[0] == counts[1], notice


async def test_a_warning_offers_extend_release_keep_and_says_what_is_left(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert (delivery.delivered, delivery.via) == (True, "slack:dm")
    told = await world.slack.person("requester").wait_for_message("ends in 30 min")
    assert buttons(told) == ["Extend", "Release now", "Keep until the end"]
    assert "It can be extended by 29 d 16 h at most" in visible_text(told)


async def test_without_allowance_the_extend_button_is_absent(world: World) -> None:
    world.engine.terms = Terms(max_total=timedelta(hours=8))
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    await world.warn(lease, HALF_AN_HOUR)
    told = await world.slack.person("requester").wait_for_message("ends in 30 min")
    assert buttons(told) == ["Release now", "Keep until the end"]
    assert "It has reached the longest time allowed (8 h) and cannot be extended." in visible_text(told)


async def test_an_extension_settles_the_warning_and_moves_the_end_in_the_ready_message(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.warn(lease, HALF_AN_HOUR)
    assert lease.ends_at is not None
    await world.act(lease, Verb.EXTEND, REQUESTER.id, until=lease.ends_at + timedelta(days=1))
    messages = await world.slack.person("requester").dms()
    settled = next(m for m in messages if "this warning is settled" in visible_text(m))
    assert buttons(settled) == []
    assert [m for m in messages if "ends in 30 min" in visible_text(m)] == []
    ready = next(m for m in messages if "Ready:" in visible_text(m))
    assert local(lease.ends_at + timedelta(days=1), "Europe/Berlin") in visible_text(ready)


async def test_a_second_warning_of_the_same_distance_belongs_to_the_new_end(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.warn(lease, HALF_AN_HOUR)
    assert lease.ends_at is not None
    await world.act(lease, Verb.EXTEND, REQUESTER.id, until=lease.ends_at + timedelta(days=1))
    await world.warn(lease, HALF_AN_HOUR)
    await world.warn(lease, HALF_AN_HOUR)
    messages = await world.slack.person("requester").dms()
    assert len([m for m in messages if "ends in 30 min" in visible_text(m)]) == 1
    assert len([m for m in messages if "this warning is settled" in visible_text(m)]) == 1


async def test_stopped_then_closed_with_hours_cost_and_proof(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    now = world.clock()
    await world.move(lease, life.stopped, now, now)
    requester = world.slack.person("requester")
    stopped = await requester.wait_for_message("Stopped:")
    assert buttons(stopped) == ["Restore"]
    assert f"({lease.request.need}), released by <@U0REQUESTER>" in visible_text(stopped)
    later = now + timedelta(days=7)
    lease = await world.move(lease, life.start_deleting, later)
    gone = a_sighting(an_instance(condition=Condition.GONE), at=later)
    while not lease.final:
        lease = await world.move(lease, life.looked, gone, later)
    closed = visible_text(await requester.wait_for_message("Closed:"))
    assert f"Proof of deletion: {lease.proof}" in closed
    assert "cost 0.00 USD" in closed
    assert "It ended: released by <@U0REQUESTER>." in closed
    assert buttons(await requester.wait_for_message("Stopped:")) == []


async def test_blocked_pages_the_administrators_with_what_is_left(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    now = world.clock()
    await world.move(lease, life.start_deleting, now)
    late = now + timedelta(hours=1)
    await world.move(lease, life.looked, a_sighting(an_instance("i-0stuck"), at=late), late)
    paged = await world.slack.person("admin").wait_for_message("Needs hands:", "gpu-admins")
    assert "Left:\ninstance:i-0stuck" in visible_text(paged)


async def test_a_deactivated_owner_is_skipped_and_the_lead_hears_why(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.slack.change_person("requester", deleted=True)
    world.forget_profiles()
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert (delivery.delivered, delivery.via) == (True, "slack:dm")
    told = await world.slack.person("manager").wait_for_message("ends in 30 min")
    assert "You get this because <@U0REQUESTER>, who owns it, cannot be reached." in visible_text(told)


async def test_without_owner_and_lead_the_team_channel_hears_it_then_the_administrators(world: World) -> None:
    lease = await world.running(await world.ask())
    for who in ("requester", "manager"):
        await world.slack.change_person(who, deleted=True)
    world.forget_profiles()
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert (delivery.delivered, delivery.via) == (True, "slack:channel")
    told = world.slack.core.store.posts["C0TEAMRESEARCH"]
    assert [post.text for post in told] == [f"`{lease.id}` (2 x A100-80GB) ends in 30 min"]
    await world.slack.change_channel("team-research", is_archived=True)
    delivery = await world.warn(lease, timedelta(minutes=15))
    assert (delivery.delivered, delivery.via) == (True, "slack:channel")
    await world.slack.person("admin").wait_for_message("ends in 15 min", "gpu-admins")


async def test_a_repeated_notice_updates_the_message_and_posts_nothing_new(world: World) -> None:
    lease = await world.running(await world.ask())
    before = len(await world.slack.person("requester").dms())
    world.engine.tell(lease.id, Notice.READY)
    await world.settled()
    assert len(await world.slack.person("requester").dms()) == before


async def test_a_message_whose_answer_was_lost_is_found_again(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.slack.add_fault("lose_answer", "chat.postMessage")
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert delivery.delivered
    await world.warn(lease, HALF_AN_HOUR)
    messages = await world.slack.person("requester").dms()
    assert len([m for m in messages if "ends in 30 min" in visible_text(m)]) == 1


async def test_a_request_whose_workflow_was_ended_loses_its_buttons_and_says_so(world: World) -> None:
    lease = await world.ask()
    await world.move(lease, life.resumed, "an administrator ended its workflow", world.clock())
    card = await world.slack.person("manager").wait_for_message("Ended (terminated):", "gpu-approvals")
    assert "terminated: an administrator ended its workflow" in visible_text(card)
    assert buttons(card) == []
    told = await world.slack.person("requester").wait_for_message("To ask again: `/gpu request`")
    assert "It ended: terminated: an administrator ended its workflow." in visible_text(told)


async def test_a_request_that_an_operator_cancelled_says_so_on_its_card(world: World) -> None:
    lease = await world.ask()
    await world.move(lease, life.cancel, "operator", world.clock())
    card = await world.slack.person("manager").wait_for_message("*Cancelled* by operator", "gpu-approvals")
    assert buttons(card) == []
    await world.slack.person("requester").wait_for_message("Cancelled:")


async def test_a_lease_whose_workflow_was_ended_says_why_to_its_owner(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.move(lease, life.resumed, "an administrator ended its workflow", world.clock())
    told = await world.slack.person("requester").wait_for_message("Cancelled:")
    assert "terminated: an administrator ended its workflow" in visible_text(told)


async def test_a_machine_that_does_not_stop_is_told_to_owner_and_administrators_until_it_does(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    now = world.clock()
    lease = await world.move(lease, life.stop_failed, "AWS refused: not allowed", now)
    assert lease.next_try is not None
    requester, admin = world.slack.person("requester"), world.slack.person("admin")
    told = visible_text(await requester.wait_for_message("Not stopped:"))
    assert told == (
        f"*Not stopped:* `{lease.id}` (2 x A100-80GB) could not be stopped: AWS refused: not allowed\n"
        "It still runs and costs 2.50 USD an hour; nothing was deleted.\n"
        f"Next try: {local(lease.next_try, 'Europe/Berlin')}"
    )
    paged = visible_text(await admin.wait_for_message("Not stopped:", "gpu-admins"))
    assert "cannot be reached" not in paged
    await world.move(lease, life.stop_failed, "AWS refused: still not allowed", now + HALF_AN_HOUR)
    messages = [visible_text(m) for m in await requester.dms()]
    assert len([m for m in messages if "could not be stopped" in m]) == 1
    await world.move(lease, life.stopped, now, now)
    told = visible_text(await admin.wait_for_message("could not be stopped at first", "gpu-admins"))
    assert told == f"`{lease.id}` (2 x A100-80GB) could not be stopped at first; it is stopped now"


async def test_a_machine_that_is_to_rest_and_does_not_stop_is_never_said_to_rest(world: World) -> None:
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.STOP, REQUESTER.id)
    now = world.clock()
    lease = await world.move(lease, suspension.suspend_failed, "AWS refused: not allowed", now)
    assert lease.announced
    assert lease.announced.next_try
    requester = world.slack.person("requester")
    told = visible_text(await requester.wait_for_message("Not stopped:"))
    assert told == (
        f"*Not stopped:* `{lease.id}` (2 x A100-80GB) could not be stopped: AWS refused: not allowed\n"
        "It still runs and costs 2.50 USD an hour; nothing was deleted.\n"
        f"Next try: {local(lease.announced.next_try, 'Europe/Berlin')}"
    )
    await world.move(lease, pausing.runs_on, "it belongs to the auto scaling group train", now)
    told = visible_text(await requester.wait_for_message("group train"))
    assert told.splitlines()[1:] == ["It still runs and costs 2.50 USD an hour; nothing was deleted.", "It runs on."]


async def test_a_recorded_act_without_effect_is_told_to_the_one_who_did_it(world: World) -> None:
    lease = await world.running(await world.ask())
    at = world.clock()
    change = transitions.refused_attempt(lease, FINANCE.id, "extend", Refused("not-owner", "it is not yours"), at)
    lease = await world.move(lease, lambda _: change)
    world.engine.tell(lease.id, Notice.REFUSED)
    await world.settled()
    finance = world.slack.person("finance")
    (told,) = [visible_text(m) for m in await finance.dms()]
    assert told == (
        f"*No effect:* your extend of `{lease.id}`, which was recorded, had no effect\n"
        "Because: it is not yours\n"
        f"It came to its turn {local(at, 'Europe/London')}. The lease is active now."
    )
    assert [m for m in await world.slack.person("requester").dms() if "No effect" in visible_text(m)] == []
    assert world.engine.told[-1][2].via == "slack:dm"


async def test_a_recorded_act_of_somebody_unknown_reaches_nobody_and_says_so(world: World) -> None:
    lease = await world.ask()
    change = transitions.refused_attempt(lease, "operator", "extend", Refused("x", "y"), world.clock())
    lease = await world.move(lease, lambda _: change)
    world.engine.tell(lease.id, Notice.REFUSED)
    await world.settled()
    delivery = world.engine.told[-1][2]
    assert (delivery.delivered, delivery.problem) == (False, "operator is no person who could be told")
