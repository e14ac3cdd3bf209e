"""App Home: everything that is mine, that waits for me, and how much is left; in pages, within Slack's limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import Verb
from lessor.domain.absence import stands_in
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.world import ADMIN, FINANCE, MANAGER, MANAGER_2, REQUESTER, World

ASKS = Decision(Outcome.REQUIRE, (Reason("third", "x"),), (StepSpec("lead", ("lead:research",)),), "p")


async def test_wishes_and_offers_wait_beside_requests(world: World) -> None:
    world.engine.extension = ASKS
    lease = await world.running(await world.ask(duration=timedelta(hours=8)))
    request = await world.ask(purpose="another purpose")
    assert lease.ends_at is not None
    await world.act(lease, Verb.EXTEND, REQUESTER.id, until=lease.ends_at + timedelta(days=1), reason="more")
    await world.act(lease, Verb.TRANSFER, REQUESTER.id, to=MANAGER.id)
    manager = world.slack.person("manager")
    await manager.open_home()
    home = await manager.wait_for_home("*Waiting for you*")
    text = visible_text(home)
    assert f"`{request.id}`" in text
    assert "*later end asked*" in text
    assert "about 60.00 USD more" in text
    assert "*offered to you by <@U0REQUESTER>*" in text
    shown = [one for one in buttons(home) if one != "Request GPUs"]
    assert shown == [
        *("Approve", "Approve with changes", "Deny", "Ask", "Details"),
        *("Grant", "Reject", "Details"),
        *("Take over", "Decline", "Details"),
    ]
    await manager.click(home, "take")
    await world.settled()
    assert world.engine.leases[lease.id].owner == MANAGER.id


async def test_my_leases_show_cost_and_end_and_turn_pages(world: World) -> None:
    ids = [(await world.ask(purpose=f"purpose number {n}")).id for n in range(12)]
    requester = world.slack.person("requester")
    await requester.open_home()
    first = await requester.wait_for_home("*Yours*")
    assert buttons(first)[-1] == "Next page"
    await requester.click(first, "home-page")
    second = await requester.wait_for_home(lambda home: "First page" in buttons(home))
    shown = visible_text(first) + visible_text(second)
    assert all(shown.count(f"`{one}`") == 1 for one in ids)
    assert "Next page" not in buttons(second)
    await requester.click(second, "home-page")
    await requester.wait_for_home(lambda home: "First page" not in buttons(home))


async def test_what_waits_turns_pages_by_itself(world: World) -> None:
    ids = [(await world.ask(purpose=f"purpose number {n}")).id for n in range(11)]
    manager = world.slack.person("manager")
    await manager.open_home()
    first = await manager.wait_for_home("*Waiting for you*")
    assert buttons(first).count("Approve") == 10
    await manager.click(first, "home-page")
    second = await manager.wait_for_home(lambda home: "First page" in buttons(home))
    assert buttons(second).count("Approve") == 1
    assert all((visible_text(first) + visible_text(second)).count(f"`{one}`") == 1 for one in ids)


async def test_my_absence_for_whom_i_stand_in_and_my_teams_numbers(world: World) -> None:
    back = world.clock() + timedelta(days=2)
    away = replace(MANAGER, away_until=back, delegate=MANAGER_2.id)
    deputy = replace(MANAGER_2, stands_in=(stands_in(away),))
    world.directory.people[:] = [REQUESTER, away, deputy, FINANCE, ADMIN]
    manager, other = world.slack.person("manager"), world.slack.person("manager-2")
    await manager.open_home()
    home = visible_text(await manager.wait_for_home("*You are away*"))
    assert f"*You are away* until {local(back, 'America/New_York')}. <@U0MANAGER2> decides for you." in home
    assert "*Your teams*\n*team research*: 0 GPUs held now" in home
    assert "• team research: 8 of 8 A100-80GB left" in home
    await other.open_home()
    home = visible_text(await other.wait_for_home("*You stand in for*"))
    assert "*You stand in for* <@U0MANAGER>: what waits for them is below as well." in home


async def test_somebody_without_a_team_sees_so(world: World) -> None:
    finance = world.slack.person("finance")
    await finance.open_home()
    await finance.wait_for_home("You are in no team.")
