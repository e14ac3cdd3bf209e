"""What can be typed: help, list in pages, show, extend, release, withdraw; and App Home."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.lease import State
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.world import World

DECIDE = ("Approve", "Approve with changes", "Deny", "Ask")


async def test_gpu_alone_says_what_can_be_typed(world: World) -> None:
    requester = world.slack.person("requester")
    for text in ("", "help", "  HELP "):
        await requester.command("/gpu", text)
    await world.settled()
    told = [visible_text(message) for message in await requester.ephemerals()]
    assert len(told) == 3
    assert len(set(told)) == 1
    assert "`/gpu extend ID WHEN [reason]`" in told[0]


async def test_list_shows_ones_own_and_turns_pages_in_place(world: World) -> None:
    ids = {(await world.ask(purpose=f"purpose number {n}")).id for n in range(23)}
    requester = world.slack.person("requester")
    await requester.command("/gpu", "list")
    first = await requester.wait_for_ephemeral("Your open leases")
    assert buttons(first)[-1] == "Next page"
    await requester.click(first, "next-page")
    await world.settled()
    (second,) = await requester.ephemerals()
    shown = visible_text(first) + visible_text(second)
    assert all(shown.count(f"`{one}`") == 1 for one in ids)
    assert "Next page" not in buttons(second)


async def test_list_of_a_team(world: World) -> None:
    lease = await world.ask()
    finance = world.slack.person("finance")
    await finance.command("/gpu", "list research")
    assert lease.id in visible_text(await finance.wait_for_ephemeral("Open leases of team research"))
    await finance.command("/gpu", "list")
    assert visible_text(await finance.wait_for_ephemeral("Your open leases")) == (
        "*Your open leases*: none. Ask for GPUs with `/gpu request`"
    )


async def test_show_gives_each_viewer_their_own_buttons(world: World) -> None:
    lease = await world.ask()
    for who, expected in (
        ("requester", ["Withdraw", "Details"]),
        ("manager", [*DECIDE, "Details"]),
        ("manager-2", [*DECIDE, "Details"]),
        ("finance", ["Details"]),
    ):
        person = world.slack.person(who)
        await person.command("/gpu", f"show {lease.id.upper()}")
        told = await person.wait_for_ephemeral("awaiting approval")
        assert (who, buttons(told)) == (who, expected)


async def test_only_those_who_may_use_it_see_how_to_get_in(world: World) -> None:
    lease = await world.running(await world.ask())
    for who, sees in (("requester", True), ("manager", True), ("finance", False)):
        person = world.slack.person(who)
        await person.command("/gpu", lease.id)
        told = visible_text(await person.wait_for_ephemeral("is *active*"))
        assert ("aws ssm start-session" in told) is sees


@pytest.mark.parametrize("text", ["show", "show nonsense", "show gpu-00000000", "release", "withdraw x", "extend"])
async def test_a_wrong_id_is_answered_with_what_to_do(world: World, text: str) -> None:
    requester = world.slack.person("requester")
    await requester.command("/gpu", text)
    await world.settled()
    (told,) = await requester.ephemerals()
    assert "/gpu" in visible_text(told)


async def test_extend_by_command(world: World) -> None:
    lease = await world.running(await world.ask())
    assert lease.ends_at is not None
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"extend {lease.id} 3 days it’s not converged yet")
    told = visible_text(await requester.wait_for_ephemeral("now ends"))
    extended = world.engine.leases[lease.id]
    assert extended.ends_at is not None
    assert told == f"`{lease.id}` now ends {local(extended.ends_at, 'Europe/Berlin')}."
    assert extended.ends_at == lease.ends_at + timedelta(days=3)
    reason = [s.event.data["reason"] for s in world.ledger.events(lease.id) if s.event.type == "extended"]
    assert reason == ["it’s not converged yet"]


async def test_release_by_command_asks_first(world: World) -> None:
    lease = await world.running(await world.ask())
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"release {lease.id}")
    asked = await requester.wait_for_ephemeral("Nothing happens unless you press the button.")
    assert world.engine.leases[lease.id].state is State.ACTIVE
    await requester.click(asked, "release")
    await requester.wait_for_ephemeral("is released: it is stopped now")
    assert world.engine.leases[lease.id].state is State.ENDING


async def test_withdraw_by_command_asks_first(world: World) -> None:
    lease = await world.ask()
    requester = world.slack.person("requester")
    await requester.command("/gpu", f"withdraw {lease.id}")
    await requester.click(await requester.wait_for_ephemeral("Withdraw your request"), "withdraw")
    await world.settled()
    assert world.engine.leases[lease.id].state is State.WITHDRAWN
    manager = world.slack.person("manager")
    assert buttons(await manager.wait_for_message("*Withdrawn:*", "gpu-approvals")) == []


async def test_home_shows_mine_with_buttons_and_what_waits_for_me(world: World) -> None:
    mine = await world.running(await world.ask())
    waiting = await world.ask(purpose="another purpose")
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.open_home()
    home = await requester.wait_for_home(mine.id)
    assert buttons(home)[0] == "Request GPUs"
    assert buttons(home).count("Extend") == 1
    assert "Approve" not in buttons(home)
    assert "Nothing waits for you." in visible_text(home)
    await manager.open_home()
    home = await manager.wait_for_home(waiting.id)
    assert mine.id not in visible_text(home)
    assert [b for b in buttons(home) if b != "Request GPUs"] == [*DECIDE, "Details"]
    await manager.click(home, "approve")
    await world.settled()
    assert world.engine.leases[waiting.id].state is State.APPROVED


async def test_home_opens_the_form(world: World) -> None:
    requester = world.slack.person("requester")
    await requester.open_home()
    await requester.click(await requester.wait_for_home("Nothing is open"), "request")
    await requester.wait_for_view("Price:")
