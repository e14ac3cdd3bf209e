"""Section A, decisions: two people at once, many cards, other workspaces, late clicks, and whose clock is shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.contracts import Notice
from lessor.domain import transitions
from lessor.domain.lease import State
from lessor.sandbox.slack import RunningSandbox, Workspace, buttons, running_slack_sandbox, visible_text
from lessor.sandbox.slack.default_workspace import DEFAULT
from lessor.when import local
from tests.bot.fixtures import slack, world
from tests.bot.world import MANAGER, REQUESTER, World, a_world

__all__ = ["slack", "world"]


async def test_A26_of_two_approvals_at_once_one_counts_and_the_other_is_told_so(
    slack: RunningSandbox, sqlite_url: str
) -> None:
    async with a_world(slack, sqlite_url) as world, a_world(slack, sqlite_url, engine=world.engine) as other:
        lease = await world.ask()
        first, second = slack.person("manager"), slack.person("manager-2")
        cards = [await who.wait_for_message("GPU request") for who in (first, second)]
        await asyncio.gather(first.click(cards[0], "approve"), second.click(cards[1], "approve"))
        await world.settled()
        await other.settled()
        await world.settled()
        lease = world.engine.leases[lease.id]
        assert lease.state is State.APPROVED
        events = [stored.event.type for stored in world.ledger.events(lease.id)]
        assert events.count("approved") == 1
        loser, winner = (second, "U0MANAGER") if lease.decided_by == MANAGER.id else (first, "U0MANAGER2")
        assert lease.decided_at is not None
        zone = "Asia/Tokyo" if loser is second else "America/New_York"
        told = [visible_text(m) for m in await loser.ephemerals()]
        assert told == [f"`{lease.id}`: already approved by <@{winner}> at {local(lease.decided_at, zone)}"]
        everything = [post.text for posts in slack.core.store.posts.values() for post in posts]
        assert not [text for text in everything if "did not work" in text]


async def test_A27_of_five_open_cards_only_the_clicked_one_is_decided(world: World) -> None:
    leases = [await world.ask(purpose=f"purpose number {n}") for n in range(5)]
    manager = world.slack.person("manager")
    card = await manager.wait_for_message(leases[1].id, "gpu-approvals")
    await manager.click(card, "approve")
    await world.settled()
    states = [world.engine.leases[lease.id].state for lease in leases]
    assert states == [State.AWAITING_APPROVAL, State.APPROVED, *[State.AWAITING_APPROVAL] * 3]
    open_cards = [m for m in await manager.messages("gpu-approvals") if buttons(m)]
    assert len(open_cards) == 4


async def test_A28_a_click_with_another_workspace_id_finds_the_request(world: World) -> None:
    lease = await world.ask()
    await world.slack.switch(interaction_team_id="T0ANOTHER")
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "approve")
    await world.settled()
    assert world.engine.leases[lease.id].state is State.APPROVED


async def test_A28_both_forms_of_an_id_are_one_person_who_cannot_approve_their_own(sqlite_url: str) -> None:
    people = [{**p, "enterprise_id": "W0REQUESTER"} if p["name"] == "requester" else p for p in DEFAULT["people"]]
    channels = [{**c, "members": ["requester", "manager"]} for c in DEFAULT["channels"]]
    data = {**DEFAULT, "people": people, "channels": channels, "enterprise_id": "E0SANDBOX"}
    workspace = Workspace.from_data(data)
    async with running_slack_sandbox(workspace=workspace) as slack, a_world(slack, sqlite_url) as world:
        world.directory.people[0] = replace(REQUESTER, ids=("U0REQUESTER",), groups=("managers",))
        lease = await world.ask()
        await slack.switch(enterprise_ids=True)
        requester = slack.person("requester")
        await requester.click(await requester.wait_for_message(lease.id, "gpu-approvals"), "approve")
        told = visible_text(await requester.wait_for_ephemeral("your own request"))
        assert told == "this is your own request; somebody else has to decide it"
        await world.settled()
        assert [a.code for a in world.engine.answers.values()] == ["own-request"]
        assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL


async def test_A28_somebody_of_another_organisation_is_refused_visibly(sqlite_url: str) -> None:
    outsider = {"id": "U0OUTSIDE", "name": "outsider", "role": "Partner", "team_id": "T0PARTNER"}
    outsider["email"] = "manager@example.com"
    channels = [
        {**c, "members": [*c["members"], "outsider"]} if c["name"] == "gpu-approvals" else c
        for c in DEFAULT["channels"]
    ]
    workspace = Workspace.from_data({**DEFAULT, "people": [*DEFAULT["people"], outsider], "channels": channels})
    async with running_slack_sandbox(workspace=workspace) as slack, a_world(slack, sqlite_url) as world:
        lease = await world.ask()
        partner = slack.person("outsider")
        await partner.click(await partner.wait_for_message(lease.id, "gpu-approvals"), "approve")
        told = visible_text(await partner.wait_for_ephemeral("another organisation"))
        assert told == (
            "You belong to another organisation, and only people of this one can use lessor here. Nothing was done."
        )
        await world.settled()
        assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL


async def test_A30_after_expiry_cards_have_no_buttons_and_a_stale_click_hears_when(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    stale = await manager.wait_for_message("GPU request")
    world.engine.quiet = True
    lease = await world.move(lease, transitions.lapse, world.clock() + timedelta(hours=25))
    await manager.click(stale, "approve")
    await world.settled()
    assert lease.closed_at is not None
    told = visible_text(await manager.wait_for_ephemeral("expired at"))
    assert told == f"`{lease.id}`: expired at {local(lease.closed_at, 'America/New_York')} without a decision"
    assert buttons(await manager.wait_for_message("*Expired:*")) == []
    assert world.engine.leases[lease.id].state is State.LAPSED


async def test_A30_expiry_itself_redraws_every_card(world: World) -> None:
    lease = await world.ask()
    await world.move(lease, transitions.lapse, world.clock() + timedelta(hours=25))
    for who in ("manager", "manager-2"):
        person = world.slack.person(who)
        assert buttons(await person.wait_for_message("*Expired:*")) == []
    card = await world.slack.person("manager").wait_for_message("*Expired:*", "gpu-approvals")
    assert buttons(card) == []


async def test_A30_what_was_told_of_an_escalation_has_no_buttons_after_expiry(world: World) -> None:
    lease = await world.ask()
    world.engine.tell(lease.id, Notice.ESCALATED)
    await world.settled()
    requester = world.slack.person("requester")
    assert "Withdraw" in buttons(await requester.wait_for_message("*Asked further:*"))
    await world.move(lease, transitions.lapse, world.clock() + timedelta(hours=25))
    told = await requester.dms()
    assert [one for one in told if buttons(one) and "Request" not in buttons(one)[0]] == []
    assert not [one for one in told if "*Asked further:*" in visible_text(one)]


@pytest.mark.parametrize(
    ("who", "shown"),
    [
        ("manager-2", "Monday 1 June 2026 18:00 JST"),
        ("manager", "Monday 1 June 2026 05:00 EDT"),
    ],
)
async def test_A33_every_reader_sees_the_end_in_their_own_zone(world: World, who: str, shown: str) -> None:
    ends = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)
    world.clock.set(datetime(2026, 5, 31, 12, 0, tzinfo=UTC))
    lease = await world.ask(until=ends)
    assert lease.request.until == ends
    assert shown in visible_text(await world.slack.person(who).wait_for_message("GPU request"))
    card = visible_text(await world.slack.person(who).wait_for_message(lease.id, "gpu-approvals"))
    assert f"<!date^{int(ends.timestamp())}^{{date_short_pretty}} {{time}}|Monday 1 June 2026 09:00 UTC>" in card
    assert "(Monday 1 June 2026 09:00 UTC)" in card
