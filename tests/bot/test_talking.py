"""Questions and answers under the card, and decisions that have to be typed out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Notice, Verb
from lessor.domain.lease import State
from lessor.domain.terms import Terms
from lessor.sandbox.slack import buttons, visible_text
from tests.bot.world import FINANCE, MANAGER, MANAGER_2, World
from tests.builders import usd

DEAR = Terms(step_up=usd("10"))


async def test_a_question_reaches_the_requester_and_its_answer_whoever_asked(world: World) -> None:
    lease = await world.ask()
    manager, requester = world.slack.person("manager"), world.slack.person("requester")
    card = await manager.wait_for_message("GPU request")
    await manager.click(card, "ask")
    await manager.wait_for_view("A question about")
    assert (await manager.submit_view({"text": "  "}))["errors"] == {"text": "write something first"}
    assert (await manager.submit_view({"text": "Which data set? <!channel>"}))["errors"] == {}
    await world.settled()
    told = await requester.wait_for_message("*Question* from <@U0MANAGER>")
    assert "&gt; Which data set? &lt;!channel&gt;" in told["blocks"][1]["text"]["text"]
    assert buttons(told) == ["Answer"]
    posted = await manager.wait_for_message(lease.id, "gpu-approvals")
    thread = await manager.messages("gpu-approvals", posted["ts"])
    assert ["Which data set?" in visible_text(reply) for reply in thread[1:]] == [True]
    assert buttons(thread[1]) == []

    await requester.click(told, "reply")
    await requester.wait_for_view("Which data set?")
    assert (await requester.submit_view({"text": "The ranking logs of May"}))["errors"] == {}
    await world.settled()
    thread = await manager.messages("gpu-approvals", posted["ts"])
    assert "The ranking logs of May" in visible_text(thread[-1])
    direct = await manager.wait_for_message("GPU request")
    assert "The ranking logs of May" in visible_text(direct)
    replies = await manager.messages(direct["channel"], direct["ts"])
    assert "*Answer* from <@U0REQUESTER>" in visible_text(replies[-1])
    assert buttons(await requester.wait_for_message("*Question* from")) == []


async def test_questions_of_two_people_at_once_are_two_messages(world: World) -> None:
    lease = await world.ask()
    world.engine.quiet = True
    for who, text in ((MANAGER, "why so many?"), (MANAGER_2, "why so long?")):
        await world.act(lease, Verb.ASK, who.id, reason=text)
    world.engine.quiet = False
    world.engine.tell(lease.id, Notice.QUESTION)
    await world.settled()
    requester = world.slack.person("requester")
    await requester.wait_for_message("why so many?")
    told = await requester.wait_for_message("why so long?")
    await requester.click(told, "reply")
    await requester.wait_for_view("why so long?")
    assert (await requester.submit_view({"text": "it converges slowly"}))["errors"] == {}
    await world.settled()
    first, second = world.engine.leases[lease.id].questions
    assert (first.answer, second.answer) == ("", "it converges slowly")
    assert buttons(await requester.wait_for_message("why so many?")) == ["Answer"]
    assert buttons(await requester.wait_for_message("why so long?")) == []
    assert "it converges slowly" in "".join(visible_text(m) for m in await world.slack.person("manager-2").dms())


async def test_an_answer_to_nothing_is_refused_in_the_form(world: World) -> None:
    lease = await world.ask()
    answer = await world.act(lease, Verb.REPLY, lease.owner, reason="whatever")
    assert (answer.ok, answer.code) == (False, "no-question")


async def test_a_question_of_a_decided_request_has_no_button_any_more(world: World) -> None:
    lease = await world.ask()
    await world.act(lease, Verb.ASK, MANAGER.id, reason="why so many?")
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    told = await world.slack.person("requester").wait_for_message("why so many?")
    assert buttons(told) == []


async def test_an_expensive_approval_is_typed_out(world: World) -> None:
    world.engine.terms = DEAR
    lease = await world.ask(duration=timedelta(hours=8))
    manager = world.slack.person("manager")
    card = await manager.wait_for_message("GPU request")
    assert buttons(card)[0] == "Approve (type to confirm)"
    await manager.click(card, "approve-typed")
    view = await manager.wait_for_view(f"`{lease.id}`")
    assert "costs about *20.00 USD* for 8 h" in visible_text(view)
    sent = await manager.submit_view({"confirmation": "yes"})
    assert f"type {lease.id} to approve it, not 'yes'; nothing was decided yet" in sent["errors"]["confirmation"]
    assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL
    sent = await manager.submit_view({"confirmation": f" `{lease.id.upper()}` ", "reason": "for the deadline"})
    assert sent["errors"] == {}
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.state, lease.decided_by, lease.decided_reason) == (State.APPROVED, MANAGER.id, "for the deadline")


async def test_a_click_on_an_older_card_says_what_to_type_and_offers_the_form(world: World) -> None:
    lease = await world.ask(duration=timedelta(hours=8))
    manager = world.slack.person("manager")
    card = await manager.wait_for_message("GPU request")
    world.engine.leases[lease.id] = replace(world.engine.leases[lease.id], terms=DEAR)
    await manager.click(card, "approve")
    told = await manager.wait_for_ephemeral("an approval is typed out")
    assert f"type {lease.id} to approve it" in visible_text(told)
    assert buttons(told) == ["Approve (type to confirm)"]
    await manager.click(told, "approve-typed")
    await manager.wait_for_view(f"`{lease.id}`")
    assert (await manager.submit_view({"confirmation": lease.id}))["errors"] == {}
    await world.settled()
    assert world.engine.leases[lease.id].state is State.APPROVED


async def test_somebody_else_cannot_type_it_out(world: World) -> None:
    world.engine.terms = DEAR
    lease = await world.ask()
    await world.slack.change_channel("gpu-approvals", members=["U0FINANCE", "U0MANAGER"])
    finance = world.slack.person("finance")
    await finance.click(await finance.wait_for_message(lease.id, "gpu-approvals"), "approve-typed")
    await finance.wait_for_view("step 'manager' is decided by u0manager or u0manager2")
    answer = await world.act(lease, Verb.APPROVE, FINANCE.id, confirmation=lease.id)
    assert (answer.ok, answer.code) == (False, "not-approver")


@pytest.mark.parametrize("limit", ["1000", "20.01"])
async def test_what_is_cheaper_needs_one_click(world: World, limit: str) -> None:
    world.engine.terms = Terms(step_up=usd(limit))
    await world.ask(duration=timedelta(hours=8))
    assert buttons(await world.slack.person("manager").wait_for_message("GPU request"))[0] == "Approve"
