"""Leases that are offered, taken over, shared, and left without an owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Verb
from lessor.domain import offboarding
from lessor.domain.lease import Lease
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.world import MANAGER_2, REQUESTER, World


async def offered(world: World) -> Lease:
    """A lease in use that its owner offers to the second manager by command."""
    lease = await world.running(await world.ask())
    await world.slack.person("requester").command("/gpu", f"transfer {lease.id} @manager-2")
    await world.slack.person("requester").wait_for_ephemeral("is offered to")
    await world.settled()
    return world.engine.leases[lease.id]


async def test_a_transfer_is_offered_and_accepted(world: World) -> None:
    lease = await offered(world)
    requester, receiver = world.slack.person("requester"), world.slack.person("manager-2")
    assert lease.transfer is not None
    assert lease.transfer.expires is not None
    told = visible_text(await requester.wait_for_ephemeral("is offered to"))
    assert told == (
        f"`{lease.id}` is offered to <@U0MANAGER2>, who can take it over until "
        f"{local(lease.transfer.expires, 'Europe/Berlin')}. Nothing moves before; team *research* would pay."
    )
    card = await receiver.wait_for_message("*Offered to you:*")
    assert buttons(card) == ["Take over", "Decline", "Details"]
    assert "by <@U0REQUESTER>" in visible_text(card)
    await receiver.click(card, "take")
    await receiver.wait_for_ephemeral("is yours now")
    await world.settled()
    lease = world.engine.leases[lease.id]
    assert (lease.owner, lease.former_owners) == (MANAGER_2.id, (REQUESTER.id,))
    mine = await receiver.wait_for_message("*Transferred:*")
    assert "aws ssm start-session" in visible_text(mine)
    theirs = await requester.wait_for_message("*Transferred:*")
    assert "aws ssm start-session" not in visible_text(theirs)
    assert buttons(await receiver.wait_for_message("this offer is settled")) == []


async def test_who_has_given_it_away_is_not_shown_how_to_get_in_any_more(world: World) -> None:
    lease = await offered(world)
    requester = world.slack.person("requester")
    assert "aws ssm start-session" in visible_text(await requester.wait_for_message("*Ready:*"))
    await world.act(lease, Verb.TAKE, MANAGER_2.id)
    said = "\n".join(visible_text(message) for message in await requester.dms())
    assert "aws ssm start-session" not in said
    assert "It belongs to <@U0MANAGER2>, is active" in said


async def test_a_declined_offer_stays_with_its_owner(world: World) -> None:
    lease = await offered(world)
    receiver = world.slack.person("manager-2")
    await receiver.click(await receiver.wait_for_message("*Offered to you:*"), "decline")
    told = visible_text(await receiver.wait_for_ephemeral("You declined"))
    assert told == f"You declined `{lease.id}`; it stays with <@U0REQUESTER>."
    await world.settled()
    assert world.engine.leases[lease.id].owner == REQUESTER.id
    assert buttons(await receiver.wait_for_message("this offer is settled")) == []


async def test_take_by_command_says_when_nothing_is_offered(world: World) -> None:
    lease = await world.running(await world.ask())
    finance = world.slack.person("finance")
    await finance.command("/gpu", f"take {lease.id}")
    await finance.wait_for_ephemeral("is not offered to anybody now")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("transfer {}", "say who; write /gpu transfer ID @person [team:KEY]"),
        ("transfer {} nobody", "nobody active is called 'nobody'"),
        ("transfer that-one @manager", "'that-one' is no lease id; write /gpu transfer ID @person"),
        ("transfer", "the lease id is missing; write /gpu transfer ID @person"),
        ("share {} vision", "cannot be shared with all of team vision"),
        ("transfer {} @manager-2 team:vision", "is not in team vision"),
    ],
)
async def test_wrong_input_says_what_to_write(world: World, text: str, words: str) -> None:
    world.directory.teams["vision"] = replace(world.directory.teams["research"], key="vision")
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", text.format(lease.id))
    told = await requester.wait_for_ephemeral(words)
    assert buttons(told) == []
    kept = world.engine.leases[lease.id]
    assert (kept.owner, kept.transfer, kept.co_owners) == (lease.owner, None, ())


@pytest.mark.parametrize("name", ["@manager-2", "manager-2", "manager-2@example.com", "U0MANAGER2", "<@U0MANAGER2|x>"])
async def test_A18_a_person_is_found_in_every_form(world: World, name: str) -> None:
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"share {lease.id} {name}")
    await requester.wait_for_ephemeral("is shared with <@U0MANAGER2>")
    assert [act.to for act in world.engine.acts if act.verb is Verb.SHARE] == [MANAGER_2.id]


async def test_a_shared_lease_is_told_shown_and_warned_of(world: World) -> None:
    lease = await world.running(await world.ask())
    requester, other = world.slack.person("requester"), world.slack.person("manager-2")
    await requester.command("/gpu", f"share {lease.id} @manager-2")
    told = await other.wait_for_message("*Shared with you:*")
    assert "aws ssm start-session" in visible_text(told)
    await world.settled()
    await world.warn(world.engine.leases[lease.id], timedelta(minutes=30))
    warned = await other.wait_for_message("ends in 30 min")
    assert "cannot be reached" not in visible_text(warned)
    await requester.wait_for_message("ends in 30 min")
    await requester.command("/gpu", f"unshare {lease.id} @manager-2")
    await requester.wait_for_ephemeral(f"`{lease.id}` is not shared with <@U0MANAGER2> any more.")
    assert world.engine.leases[lease.id].co_owners == ()


async def test_F03_a_lease_is_shared_with_its_whole_team(world: World) -> None:
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"share {lease.id} team")
    await requester.wait_for_ephemeral("is shared with everybody of its team")
    await world.settled()
    assert world.engine.leases[lease.id].co_owners[0].id == "team:research"
    told = world.slack.core.store.posts["C0TEAMRESEARCH"]
    assert [post.text for post in told] == [f"Shared with you: `{lease.id}` (2 x A100-80GB) of <@U0REQUESTER>"]


async def test_F01_a_lease_whose_owner_left_is_offered_to_the_lead_then_the_team(world: World) -> None:
    lease = await world.running(await world.ask())
    circles = (("person:U0MANAGER",), ("team:research",), ("admins",))
    await world.move(lease, offboarding.owner_left, REQUESTER.id, circles, world.clock())
    manager = world.slack.person("manager")
    card = await manager.wait_for_message("*Owner left:*")
    assert buttons(card) == ["Take over", "Decline", "Details"]
    assert "Nothing is stopped because of this alone." in visible_text(card)
    world.clock.moved += timedelta(hours=25)
    await world.move(lease, offboarding.unanswered, world.clock())
    posted = await manager.wait_for_message("*Without an owner:*", "team-research")
    assert buttons(posted) == ["Take over", "Decline", "Details"]
    assert buttons(await manager.wait_for_message("it has an owner again, or is over")) == []
    await manager.click(posted, "take")
    await world.settled()
    assert world.engine.leases[lease.id].owner == "U0MANAGER"
    assert "*Transferred:*" in visible_text(await manager.wait_for_message("*Transferred:*"))


async def test_show_offers_what_waits_for_the_reader(world: World) -> None:
    lease = await offered(world)
    receiver = world.slack.person("manager-2")
    await receiver.command("/gpu", f"show {lease.id}")
    shown = await receiver.wait_for_ephemeral("is *active*")
    assert buttons(shown) == ["Take over", "Decline", "Details"]
    assert "*Offered to* <@U0MANAGER2> until" in visible_text(shown)
