"""A request that waits: side by side, reminded, opened to the next level, with those who stand in for others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.around import Around, OpenStep
from bot.facts import facts
from lessor import approvers
from lessor.contracts import Notice, Verb
from lessor.domain import transitions
from lessor.domain.absence import stands_in
from lessor.domain.approval import Step
from lessor.domain.lease import Capacity, Lease, State
from lessor.domain.pending import Question
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.worktime import Hours
from lessor.rendering import slack_renderer
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.world import ADMIN, FINANCE, MANAGER, MANAGER_2, REQUESTER, World
from tests.builders import ASKED, MORNINGS, a_lease, a_quote

LEAD = StepSpec("lead", ("lead:research",))
MONEY = StepSpec("money", ("group:finance",))
HOUR = timedelta(hours=1)


async def later(world: World, lease: Lease, by: timedelta) -> Lease:
    """What the workflow does when a reminder or the next level is due."""
    world.clock.moved += by
    now, lease = world.clock(), world.engine.leases[lease.id]
    requester = Person(lease.owner, tuple(lease.requester_ids))
    late = frozenset(n for n, step in enumerate(lease.steps) if step.escalate_at and step.escalate_at <= now)
    found = await approvers.restaff(world.engine.directory, lease.steps, lease.request.team, requester, now, late)
    return await world.move(lease, transitions.asking_about, found, now)


async def test_steps_of_one_stage_are_asked_side_by_side(world: World) -> None:
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), (LEAD, MONEY), "p")
    lease = await world.ask()
    manager, finance = world.slack.person("manager"), world.slack.person("finance")
    card = await finance.wait_for_message("GPU request")
    assert "*Can decide now:* *lead*: <@U0MANAGER>\n*money*: <@U0FINANCE>" in visible_text(card)
    await finance.click(card, "approve")
    await world.settled()
    card = await manager.wait_for_message("GPU request")
    assert "*Can decide now:* <@U0MANAGER>" in visible_text(card)
    assert "*Approved so far:* <@U0FINANCE>" in visible_text(card)
    assert buttons(await finance.wait_for_message("GPU request")) == ["Details"]
    await manager.click(card, "approve")
    await world.settled()
    assert world.engine.leases[lease.id].state is State.APPROVED


async def test_later_steps_are_named_beforehand(world: World) -> None:
    steps = (LEAD, replace(MONEY, stage=1))
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), steps, "p")
    await world.ask()
    card = visible_text(await world.slack.person("manager").wait_for_message("GPU request"))
    assert "*Can decide now:* *lead*: <@U0MANAGER>\nThen: money" in card


async def test_the_card_says_when_it_is_reminded_goes_further_and_lapses_in_the_readers_zone(world: World) -> None:
    lease = await world.ask()
    (step,) = lease.steps
    assert step.remind_at
    assert step.escalate_at
    assert step.lapses_at
    card = visible_text(await world.slack.person("manager-2").wait_for_message("GPU request"))
    assert f"Reminder {local(step.remind_at, 'Asia/Tokyo')}." in card
    assert f"Goes to the next level {local(step.escalate_at, 'Asia/Tokyo')}." in card
    assert f"Expires {local(step.lapses_at, 'Asia/Tokyo')} unless decided." in card


async def test_a_reminder_is_a_reply_under_the_cards_of_those_who_can_decide(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    before = len(await manager.dms())
    await later(world, lease, timedelta(minutes=16))
    assert [told[1] for told in world.engine.told][-1] is Notice.REMINDER
    posted = await manager.wait_for_message(lease.id, "gpu-approvals")
    (reply,) = (await manager.messages("gpu-approvals", posted["ts"]))[1:]
    assert "*Reminder:*" in visible_text(reply)
    assert "<@U0MANAGER>, <@U0MANAGER2>" in visible_text(reply)
    card = await manager.wait_for_message("GPU request")
    (reply,) = (await manager.messages(card["channel"], card["ts"]))[1:]
    assert "Nothing is approved by silence." in visible_text(reply)
    assert len([m for m in await manager.dms() if "thread_ts" not in m or m["thread_ts"] == m["ts"]]) == before
    assert await world.slack.person("requester").dms() != []
    assert not [m for m in await world.slack.person("requester").dms() if "Reminder:" in visible_text(m)]


async def test_a_reminder_told_twice_is_one_reply(world: World) -> None:
    lease = await world.ask()
    await later(world, lease, timedelta(minutes=16))
    world.engine.tell(lease.id, Notice.REMINDER)
    await world.settled()
    manager = world.slack.person("manager")
    posted = await manager.wait_for_message(lease.id, "gpu-approvals")
    assert len(await manager.messages("gpu-approvals", posted["ts"])) == 2


async def test_a_reminder_whose_answer_was_lost_is_found_again_in_its_thread(world: World) -> None:
    lease = await world.ask()
    await world.slack.add_fault("lose_answer", "chat.postMessage", times=3)
    await later(world, lease, timedelta(minutes=16))
    world.engine.tell(lease.id, Notice.REMINDER)
    await world.settled()
    manager = world.slack.person("manager")
    posted = await manager.wait_for_message(lease.id, "gpu-approvals")
    assert len(await manager.messages("gpu-approvals", posted["ts"])) == 2
    assert {call["method"] for call in await world.slack.calls()} >= {"conversations.replies"}


async def test_a_card_that_was_deleted_is_posted_anew_and_reminded_of(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await world.slack.person("admin").delete(await manager.wait_for_message(lease.id, "gpu-approvals"))
    await later(world, lease, timedelta(minutes=16))
    posted = await manager.wait_for_message(lease.id, "gpu-approvals")
    assert "Approve" in buttons(posted)
    assert len(await manager.messages("gpu-approvals", posted["ts"])) == 2


async def test_F08_the_next_level_is_asked_and_the_requester_told_who_that_is(world: World) -> None:
    lease = await world.ask()
    await later(world, lease, 5 * HOUR)
    admin, requester = world.slack.person("admin"), world.slack.person("requester")
    card = await admin.wait_for_message("GPU request")
    assert "Approve" in buttons(card)
    assert "also open to admins" in visible_text(card)
    told = await requester.wait_for_message("*Asked further:*")
    assert "nobody decided in time, so it is open to admins as well." in visible_text(told)
    assert "Can decide now: <@U0MANAGER>, <@U0MANAGER2>, <@U0ADMIN>" in visible_text(told)
    await admin.click(card, "approve")
    await world.settled()
    assert world.engine.leases[lease.id].decided_by == ADMIN.id
    assert buttons(await requester.wait_for_message(f"`{lease.id}`")) == []


async def test_who_stands_in_sees_for_whom_and_until_when(world: World) -> None:
    back = world.clock() + timedelta(days=3)
    away = replace(MANAGER, away_until=back, delegate=FINANCE.id)
    world.directory.people[:] = [
        REQUESTER,
        away,
        MANAGER_2,
        replace(FINANCE, stands_in=(stands_in(away, frozenset({"lead:research"})),)),
        ADMIN,
    ]
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), (LEAD,), "p")
    lease = await world.ask()
    finance = world.slack.person("finance")
    card = await finance.wait_for_message("GPU request")
    until = local(back, "Europe/London")
    assert f"<@U0FINANCE> (for <@U0MANAGER>, who is away until {until})" in visible_text(card)
    await finance.click(card, "approve")
    await world.settled()
    (step,) = world.engine.leases[lease.id].steps
    assert (step.votes[0].by, step.votes[0].stood_in) == (FINANCE.id, MANAGER.id)


async def test_what_an_approval_leaves_of_quota_and_budget_is_on_the_card(world: World) -> None:
    first = await world.ask(duration=timedelta(hours=8))
    await world.act(first, Verb.APPROVE, MANAGER.id)
    await world.ask(duration=timedelta(hours=8), purpose="another purpose")
    card = visible_text(await world.slack.person("manager-2").wait_for_message("another purpose"))
    assert "*Quota and budget after approval*" in card
    assert "team research: 99,980 of 100,000 USD in" in card
    assert f"*The requester has already:* `{first.id}` 2 x A100-80GB (*the same*, approved)" in card
    assert "*Capacity*\nunknown" in card


async def test_everybody_but_the_requester_and_the_channel_hears_nothing_of_a_decision(world: World) -> None:
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), (LEAD, MONEY), "p")
    lease = await world.ask()
    names = ("manager", "manager-2", "finance", "admin")
    before = {name: len(await world.slack.person(name).dms()) for name in names}
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    await world.act(lease, Verb.APPROVE, FINANCE.id)
    assert {name: len(await world.slack.person(name).dms()) for name in names} == before
    assert world.engine.leases[lease.id].state is State.APPROVED


async def test_nobody_is_reminded_outside_their_working_hours(world: World) -> None:
    now = world.clock() + timedelta(minutes=16)
    works = Hours("UTC", ((now - HOUR, 0),))
    rests = replace(works, days=tuple(day for day in range(7) if day != now.weekday()))
    world.directory.people[:] = [REQUESTER, replace(MANAGER, hours=works), replace(MANAGER_2, hours=rests), ADMIN]
    lease = await world.ask()
    await later(world, lease, timedelta(minutes=16))
    manager, resting = world.slack.person("manager"), world.slack.person("manager-2")
    card, other = await manager.wait_for_message("GPU request"), await resting.wait_for_message("GPU request")
    assert "*Reminder:*" in visible_text((await manager.messages(card["channel"], card["ts"]))[-1])
    assert len(await resting.messages(other["channel"], other["ts"])) == 1


async def test_F08_that_nobody_decided_everybody_hears_who_was_asked(world: World) -> None:
    lease = await world.ask()
    world.clock.moved += 25 * HOUR
    await world.move(world.engine.leases[lease.id], transitions.lapse, world.clock())
    requester = world.slack.person("requester")
    assert "*Expired:* your request" in visible_text(await requester.wait_for_message("*Expired:*"))
    for name in ("manager", "manager-2"):
        person = world.slack.person(name)
        card = await person.wait_for_message("GPU request")
        (reply,) = (await person.messages(card["channel"], card["ts"]))[1:]
        assert "*Not decided:*" in visible_text(reply)
        assert "nothing is approved by silence" in visible_text(reply)
    posted = await world.slack.person("manager").wait_for_message(lease.id, "gpu-approvals")
    assert "*Not decided:*" in visible_text(
        (await world.slack.person("manager").messages("gpu-approvals", posted["ts"]))[-1]
    )


async def test_a_denial_is_told_as_one_while_what_was_tried_is_looked_for(world: World) -> None:
    lease = await world.ask()
    tried = Capacity(1, ("a",), world.clock(), world.clock())
    world.engine.leases[lease.id] = replace(world.engine.leases[lease.id], capacity=tried)
    denied = await world.move(lease, transitions.deny, MANAGER, "use the pool", world.clock())
    assert denied.state is State.DELETING
    told = visible_text(await world.slack.person("requester").wait_for_message("use the pool"))
    assert "*Denied:* your request" in told
    assert "*Denied:* GPU request" in visible_text(await world.slack.person("manager").wait_for_message("GPU request"))


def test_whom_it_was_opened_to_is_said_in_words() -> None:
    further = "person:U0DEPUTY, lead:vision, budget-owner:ml, admins"
    step = Step("manager", ("lead:ml",), asked_at=ASKED, escalated=further, escalations=1)
    lease, opened = a_lease(State.AWAITING_APPROVAL, steps=(step,)), Around((OpenStep(step),))
    told = "<@U0DEPUTY>, the lead of vision, the budget owner of ml, admins"
    values = facts(lease, ASKED, opened)
    assert f"also open to {told}." in slack_renderer().parts("card.j2", zone="", **values)["note"]
    assert f"so it is open to {told} as well." in slack_renderer().parts("escalated.j2", zone="UTC", **values)["body"]


@pytest.mark.parametrize("template", ["card.j2", "waits.j2"])
def test_the_price_of_what_rests_at_night_says_what_its_hours_take_of_it(template: str) -> None:
    lease = a_lease(State.AWAITING_APPROVAL, quote=a_quote())
    told, hours = "98.32 USD an hour, about 786.56 USD for 8 h", ", 294.96 USD of it in its working hours"
    for one, more in ((lease, ""), (replace(lease, schedule=MORNINGS), hours)):
        text = "\n".join(slack_renderer().parts(template, zone="UTC", **facts(one, ASKED)).values())
        assert f"{told}{more}" in text
        assert ("of it in its working hours" in text) is bool(more)


def test_while_the_requester_has_to_answer_no_card_announces_a_reminder() -> None:
    step = Step("manager", ("lead:ml",), asked_at=ASKED, remind_at=ASKED + HOUR, escalate_at=ASKED + 2 * HOUR)
    lease = a_lease(State.AWAITING_APPROVAL, steps=(step,))
    asked = replace(lease, questions=(Question("U0MANAGER", "Why eight?", ASKED),))
    answered = replace(lease, questions=(Question("U0MANAGER", "Why eight?", ASKED, "it needs them"),))
    for one, announced in ((lease, True), (asked, False), (answered, True)):
        note = slack_renderer().parts("card.j2", zone="", **facts(one, ASKED))["note"]
        assert ("Reminder " in note, "Goes to the next level " in note) == (announced, announced)
