"""A later end that people decide on: asked, granted, rejected, typed out; and an earlier one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Verb
from lessor.domain import extension
from lessor.domain.lease import Lease
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.terms import Terms
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from lessor.when.end import written
from tests.bot.world import FINANCE, MANAGER, REQUESTER, World
from tests.builders import usd

DAY = timedelta(days=1)
ASKS = Decision(
    Outcome.REQUIRE, (Reason("third", "extended twice already"),), (StepSpec("lead", ("lead:research",)),), "p"
)


async def wished(world: World) -> Lease:
    """A lease in use whose requester asks by command for a day more, which the lead decides."""
    world.engine.extension = ASKS
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    await world.slack.person("requester").command("/gpu", f"extend {lease.id} 1 day one more epoch")
    await world.slack.person("requester").wait_for_ephemeral("Not extended yet")
    await world.settled()
    return world.engine.leases[lease.id]


async def test_a_wish_is_put_before_the_deciders_and_runs_on_meanwhile(world: World) -> None:
    lease = await wished(world)
    assert lease.wish is not None
    assert lease.ends_at is not None
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    told = visible_text(await requester.wait_for_message("*Asked:* a later end"))
    assert f"It would end {local(lease.wish.until, 'Europe/Berlin')} and cost about 60.00 USD more." in told
    assert "Can decide now: <@U0MANAGER>." in told
    assert lease.runs_until is not None
    assert f"Meanwhile it runs until {local(lease.runs_until, 'Europe/Berlin')} at the longest." in told
    for channel in ("gpu-approvals", ""):
        card = await manager.wait_for_message("*Extension asked*", channel)
        assert buttons(card) == ["Grant", "Reject", "Details"]
        assert "• third: extended twice already" in visible_text(card)
        assert "one more epoch" in visible_text(card)
        assert "1 d later" in visible_text(card)
    assert "<!date^" in visible_text(await manager.wait_for_message("*Extension asked*", "gpu-approvals"))


async def test_a_granted_wish_moves_the_end_and_takes_the_buttons_away(world: World) -> None:
    lease = await wished(world)
    assert lease.wish is not None
    manager, requester = world.slack.person("manager"), world.slack.person("requester")
    await manager.click(await manager.wait_for_message("*Extension asked*"), "grant")
    told = visible_text(await manager.wait_for_ephemeral("You granted it"))
    assert local(lease.wish.until, "America/New_York") in told
    await world.settled()
    assert world.engine.leases[lease.id].ends_at == lease.wish.until
    await requester.wait_for_message("*Extended:*")
    for channel in ("gpu-approvals", ""):
        assert buttons(await manager.wait_for_message("*Settled:* the extension", channel)) == []
    said = [visible_text(message) for message in await requester.dms()]
    assert not [text for text in said if "*Not extended:*" in text or "*Decided:*" in text]


async def test_a_rejected_wish_says_why_and_when_it_ends(world: World) -> None:
    lease = await wished(world)
    assert lease.ends_at is not None
    manager, requester = world.slack.person("manager"), world.slack.person("requester")
    await manager.click(await manager.wait_for_message("*Extension asked*"), "reject")
    await manager.wait_for_view("Reject the extension")
    assert (await manager.submit_view({"reason": " "}))["errors"] == {
        "reason": "say why in a few words; the requester reads this"
    }
    assert (await manager.submit_view({"reason": "others wait for it"}))["errors"] == {}
    await world.settled()
    told = visible_text(await requester.wait_for_message("*Not extended:*"))
    assert "<@U0MANAGER> decided:\n\n> others wait for it" in told
    assert f"It ends {local(lease.ends_at, 'Europe/Berlin')}." in told
    assert "your wish for a later end is settled" in visible_text(
        await requester.wait_for_message("your wish for a later end is settled")
    )


async def test_a_wish_is_taken_back_by_a_button(world: World) -> None:
    lease = await wished(world)
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.click(await requester.wait_for_message("*Asked:* a later end"), "withdraw")
    await requester.wait_for_ephemeral("You took the wish for a later end")
    await world.settled()
    assert (world.engine.leases[lease.id].wish, world.engine.leases[lease.id].ends_at) == (None, lease.ends_at)
    assert "<@U0REQUESTER> does without it." in visible_text(await requester.wait_for_message("*Taken back:*"))
    for channel in ("gpu-approvals", ""):
        assert buttons(await manager.wait_for_message("*Settled:* the extension", channel)) == []


async def test_a_wish_that_nobody_decides_is_told_as_such(world: World) -> None:
    lease = await wished(world)
    assert lease.runs_until is not None
    world.clock.moved += timedelta(days=3)
    await world.move(lease, extension.lapse, world.clock())
    told = visible_text(await world.slack.person("requester").wait_for_message("*Not decided:*"))
    assert "Nobody decided in time, and nothing is extended by silence." in told


async def test_F05_nobody_grants_their_own_wish(world: World) -> None:
    lease = await wished(world)
    answer = await world.act(lease, Verb.GRANT, REQUESTER.id)
    assert (answer.ok, answer.code) == (False, "own-request")


async def test_a_dear_extension_is_typed_out(world: World) -> None:
    world.engine.terms = Terms(step_up=usd("50"))
    lease = await wished(world)
    manager = world.slack.person("manager")
    card = await manager.wait_for_message("*Extension asked*")
    assert buttons(card)[0] == "Grant (type to confirm)"
    await manager.click(card, "grant-typed")
    assert "costs about *60.00 USD* more" in visible_text(await manager.wait_for_view("The later end of"))
    assert "confirmation" in (await manager.submit_view({"confirmation": "no"}))["errors"]
    assert (await manager.submit_view({"confirmation": lease.id}))["errors"] == {}
    await world.settled()
    assert world.engine.leases[lease.id].extensions == 1


async def test_who_cannot_decide_on_the_wish_is_told_at_once(world: World) -> None:
    await wished(world)
    await world.slack.change_channel("gpu-approvals", members=["U0FINANCE", "U0MANAGER"])
    finance = world.slack.person("finance")
    await finance.click(await finance.wait_for_message("*Extension asked*", "gpu-approvals"), "reject")
    await finance.wait_for_view("is decided by u0manager")


async def test_a_wish_of_a_co_owner_tells_them_too(world: World) -> None:
    world.engine.extension = ASKS
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    await world.act(lease, Verb.SHARE, REQUESTER.id, to=FINANCE.id)
    ends_at = world.engine.leases[lease.id].ends_at
    assert ends_at is not None
    world.directory.people[:] = [
        replace(p, teams=("research",)) if p.id == FINANCE.id else p for p in world.directory.people
    ]
    await world.act(lease, Verb.EXTEND, FINANCE.id, until=ends_at + DAY, reason="mine too")
    await world.slack.person("requester").wait_for_message("*Asked:* a later end")


async def test_shorten_by_command(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(days=3)))
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"shorten {lease.id} in 5 h done with it")
    told = visible_text(await requester.wait_for_ephemeral("now ends"))
    await world.settled()
    ends_at = world.engine.leases[lease.id].ends_at
    assert ends_at is not None
    assert told == f"`{lease.id}` now ends {local(ends_at, 'Europe/Berlin')}."
    assert abs(ends_at - world.clock() - timedelta(hours=5)) < timedelta(minutes=1)
    (reason,) = [s.event.data["reason"] for s in world.ledger.events(lease.id) if s.event.type == "shortened"]
    assert reason == "done with it"
    assert "*Shortened:*" in visible_text(await requester.wait_for_message("*Shortened:*"))


async def test_a_bare_length_may_mean_two_ends_so_both_are_offered(world: World) -> None:
    lease = await world.running(await world.ask(duration=timedelta(days=3)))
    assert lease.ends_at is not None
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"shorten {lease.id} 1 day")
    told = visible_text(await requester.wait_for_ephemeral("may mean"))
    earlier = (lease.ends_at - DAY).replace(second=0, microsecond=0)
    assert f"Write /gpu shorten {lease.id} in 1 day, or /gpu shorten {lease.id} " in told
    offered = told.rpartition(" ")[2]
    assert offered[:16] == written(earlier, "Europe/Berlin")[:16]
    assert world.engine.leases[lease.id].ends_at == lease.ends_at
    await requester.command("/gpu", f"shorten {lease.id} {offered}")
    await requester.wait_for_ephemeral("now ends")


@pytest.mark.parametrize("text", ["shorten", "shorten that-one 3h", "exempt", "exempt {} whenever", "shorten {}"])
async def test_what_is_wrong_is_said_with_what_to_write(world: World, text: str) -> None:
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", text.format(lease.id))
    await world.settled()
    (told,) = await requester.ephemerals()
    assert "write" in visible_text(told)
    assert world.engine.leases[lease.id].ends_at == lease.ends_at


async def test_only_a_steward_shortens(world: World) -> None:
    lease = await world.running(await world.ask())
    finance = world.slack.person("finance")
    await finance.command("/gpu", f"shorten {lease.id} 1 day")
    await finance.wait_for_ephemeral("belongs to somebody else")
    assert MANAGER.id != world.engine.leases[lease.id].owner
