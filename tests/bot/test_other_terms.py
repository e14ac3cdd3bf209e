"""Approve with changes, what the requester makes of them, suggestions and other offers taken by one click."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.proposals import alternatives, find, suggestions
from lessor.contracts import Notice, Verb
from lessor.domain import life
from lessor.domain.lease import Change, Event, Lease, State, changed
from lessor.domain.policy import Decision, Outcome, Reason, Suggestion
from lessor.domain.request import Market
from lessor.sandbox.slack import buttons, visible_text
from tests.bot.engine import STEPS
from tests.bot.world import MANAGER, REQUESTER, World
from tests.builders import a_decision, a_lease, a_quote, an_offer, usd

SPOT = Suggestion("cheaper", "spot would do for training", market="spot")


async def proposed(world: World, **values: Any) -> Lease:
    """A request whose manager proposes other terms in the form."""
    lease = await world.ask(duration=timedelta(hours=24))
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "counter")
    await manager.wait_for_view("Say what has to be different")
    assert (await manager.submit_view(values))["errors"] == {}
    await world.settled()
    return world.engine.leases[lease.id]


async def test_an_approver_proposes_and_the_requester_accepts(world: World) -> None:
    lease = await proposed(world, end="4h", market="spot", reason="the budget is nearly used up")
    assert lease.counter is not None
    assert (lease.counter.changes.duration, lease.counter.changes.market) == (timedelta(hours=4), Market.SPOT)
    card = visible_text(await world.slack.person("manager-2").wait_for_message("would approve it with changes"))
    assert "• 4 h after it is ready, not 1 d\n• spot, not on-demand" in card
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("Changes proposed:")
    assert "<@U0MANAGER> would approve" in visible_text(told)
    assert "the budget is nearly used up" in visible_text(told)
    assert buttons(told) == ["Accept the changes", "Keep my request", "Withdraw"]
    await requester.click(told, "accept")
    answer = await requester.wait_for_ephemeral("You accepted the changes")
    assert visible_text(answer) == f"You accepted the changes: `{lease.id}` is priced and judged again."
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.request.duration, lease.request.market) == (timedelta(hours=4), Market.SPOT)
    settled = await requester.wait_for_message("the proposed changes are settled")
    assert buttons(settled) == []


async def test_the_requester_keeps_the_request_and_the_card_says_so(world: World) -> None:
    lease = await proposed(world, count="1")
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.click(await requester.wait_for_message("Changes proposed:"), "decline")
    await requester.wait_for_ephemeral(f"You keep `{lease.id}` as it was asked for")
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.state, lease.counter, lease.request.need.count) == (State.AWAITING_APPROVAL, None, 2)
    card = await manager.wait_for_message("GPU request")
    assert "would approve it with changes" not in visible_text(card)
    assert "Approve" in buttons(card)


async def test_nobody_is_told_of_a_decision_while_changes_are_judged(world: World) -> None:
    lease = await proposed(world, end="4h")
    world.engine.leases[lease.id] = replace(lease, state=State.REQUESTED)
    requester = world.slack.person("requester")
    before = [visible_text(message) for message in await requester.dms()]
    for notice in (Notice.REQUEST, Notice.REMINDER, Notice.COUNTERED, Notice.QUESTION):
        world.engine.tell(lease.id, notice)
    await world.settled()
    said = [visible_text(message) for message in await requester.dms()]
    assert len(said) == len(before)
    assert not [text for text in said if "*Approved:*" in text]


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({}, "end", "say what has to be different"),
        ({"end": "yesterday"}, "end", "'yesterday' is not understood; write for example"),
        ({"end": "48h"}, "end", "longer than the 1 d that were asked for"),
        ({"count": "none"}, "count", "'none' is not a number of GPUs"),
        ({"count": "0"}, "count", "'0' is not a number of GPUs"),
    ],
)
async def test_what_cannot_be_proposed_speaks_at_its_field(
    world: World, values: dict[str, str], field: str, words: str
) -> None:
    lease = await world.ask(duration=timedelta(hours=24))
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "counter")
    await manager.wait_for_view("Say what has to be different")
    sent = await manager.submit_view(values)
    assert words in sent["errors"][field]
    assert world.engine.leases[lease.id].counter is None


async def test_who_cannot_decide_is_not_asked_for_other_terms(world: World) -> None:
    lease = await world.ask()
    await world.slack.change_channel("gpu-approvals", members=["U0FINANCE", "U0MANAGER"])
    finance = world.slack.person("finance")
    for action in ("counter", "ask"):
        await finance.click(await finance.wait_for_message(lease.id, "gpu-approvals"), action)
        view = await finance.wait_for_view("step 'manager' is decided by u0manager or u0manager2")
        assert [block["type"] for block in view["blocks"]] == ["section"]
        await finance.close_view(view)


async def test_a_suggestion_is_used_by_one_click_and_judged_again(world: World) -> None:
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), STEPS, "p1", (SPOT,))
    lease = await world.ask()
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("waits for a decision")
    assert "*Suggested by the policy*\nUse it\nspot would do for training" in visible_text(told)
    world.engine.decision = a_decision(Outcome.APPROVE)
    await requester.click(told, "revise")
    await requester.wait_for_ephemeral(f"Changed: `{lease.id}` is priced and judged again")
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.request.market, lease.state) == (Market.SPOT, State.APPROVED)
    assert [act.verb for act in world.engine.acts] == [Verb.REVISE]


async def test_a_suggestion_that_does_not_hold_any_more_changes_nothing(world: World) -> None:
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), STEPS, "p1", (SPOT,))
    lease = await world.ask()
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("waits for a decision")
    kept = world.engine.leases[lease.id]
    assert kept.decision is not None
    await world.move(kept, _without_suggestions, world.clock())
    await requester.click(told, "revise")
    answer = await requester.wait_for_ephemeral("does not hold any more")
    assert f"see /gpu show {lease.id}" in visible_text(answer)
    assert world.engine.acts == []


async def test_another_offer_is_taken_while_there_is_no_capacity(world: World) -> None:
    lease = await world.ask()
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    await world.move(lease, life.start_provisioning, world.clock())
    quote = world.engine.leases[lease.id].quote
    assert quote is not None
    other = an_offer(instance_type="g6.12xlarge", gpu_model="L4", gpu_count=4, hourly=usd("4.60"))
    world.engine.leases[lease.id] = replace(
        world.engine.leases[lease.id], quote=replace(quote, alternatives=(other, quote.offer))
    )
    await world.move(lease, life.wait_for_capacity, ("g5.xlarge in us-east-1a",), world.clock())
    requester = world.slack.person("requester")
    told = await requester.wait_for_message("No capacity yet")
    assert (
        "*Also possible, perhaps at once*\nTake this instead\ng6.12xlarge (4 x L4, on-demand): 4.60 USD an hour"
        in visible_text(told)
    )
    assert buttons(told) == ["Take this instead", "Withdraw"]
    world.engine.decision = a_decision(Outcome.APPROVE)
    await requester.click(told, "revise")
    await world.settled()
    assert world.engine.leases[lease.id].request.need.instance_type == "g6.12xlarge"
    assert buttons(await requester.wait_for_message("No capacity yet")) == []


async def test_only_the_requester_revises(world: World) -> None:
    world.engine.decision = Decision(Outcome.REQUIRE, (Reason("large", "x"),), STEPS, "p1", (SPOT,))
    lease = await world.ask()
    key = suggestions(world.engine.leases[lease.id])[0].key
    answer = await world.act(lease, Verb.REVISE, MANAGER.id, changes=find(lease, key).changes)  # type: ignore[union-attr]
    assert (answer.ok, answer.code) == (False, "not-owner")
    assert REQUESTER.id == world.engine.leases[lease.id].owner


def test_a_key_names_what_is_proposed_and_nothing_else() -> None:
    dear, cheap = an_offer(instance_type="p5.48xlarge"), an_offer(instance_type="g6.xlarge", hourly=usd("1"))
    lease = a_lease(State.AWAITING_APPROVAL, quote=a_quote(alternatives=(cheap, dear)))
    keys = [one.key for one in alternatives(lease)]
    turned = a_lease(State.AWAITING_APPROVAL, quote=a_quote(alternatives=(dear, cheap)))
    assert [one.key for one in alternatives(turned)] == keys[::-1]
    assert find(turned, keys[0]) == alternatives(lease)[0]
    assert find(lease, "nonsense") is None


def test_offers_of_other_regions_and_the_one_that_is_quoted_are_left_out() -> None:
    elsewhere = an_offer(instance_type="g6.xlarge", region="eu-west-1")
    quote = a_quote(alternatives=(elsewhere, an_offer()))
    assert alternatives(a_lease(State.AWAITING_APPROVAL, quote=quote)) == ()


def test_a_suggestion_without_a_change_offers_no_button() -> None:
    decision = a_decision(suggestions=(Suggestion("talk", "ask your neighbour"), SPOT))
    lease = a_lease(State.AWAITING_APPROVAL, decision=decision)
    assert [one.text for one in suggestions(lease)] == ["spot would do for training"]


def _without_suggestions(lease: Lease, now: datetime) -> Change:
    assert lease.decision is not None
    return changed(lease, Event("noted", now, "lessor", {}), decision=replace(lease.decision, suggestions=()))
