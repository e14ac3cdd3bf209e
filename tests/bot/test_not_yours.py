"""Whoever cannot do something is told at once, not after a form or a question; a denial has a reason."""

from __future__ import annotations

import pytest

from lessor.domain.lease import State
from lessor.sandbox.slack import buttons, visible_text
from tests.bot.world import World


@pytest.mark.parametrize("text", ["release {}", "extend {}", "extend {} 3 days", "extend {} whenever"])
async def test_a_command_on_somebody_elses_lease_says_so_at_once(world: World, text: str) -> None:
    lease = await world.running(await world.ask())
    finance = world.slack.person("finance")
    await finance.command("/gpu", text.format(lease.id))
    told = await finance.wait_for_ephemeral("belongs to somebody else")
    assert visible_text(told).startswith(f"{lease.id} belongs to somebody else; its owner, the lead of team research")
    assert buttons(told) == []
    assert world.engine.leases[lease.id].ends_at == lease.ends_at


async def test_only_the_requester_is_asked_whether_to_withdraw(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await manager.command("/gpu", f"withdraw {lease.id}")
    told = await manager.wait_for_ephemeral("only its requester can withdraw it")
    assert buttons(told) == []


async def test_who_cannot_decide_is_not_asked_for_a_reason(world: World) -> None:
    lease = await world.ask()
    await world.slack.change_channel("gpu-approvals", members=["U0FINANCE", "U0MANAGER"])
    finance = world.slack.person("finance")
    await finance.click(await finance.wait_for_message(lease.id, "gpu-approvals"), "deny")
    view = await finance.wait_for_view("step 'manager' is decided by u0manager or u0manager2")
    assert [block["type"] for block in view["blocks"]] == ["section"]


@pytest.mark.parametrize("reason", ["   ", " \n\t ", "\u200b \u2060"])
async def test_a_denial_with_blanks_as_its_reason_keeps_the_form(world: World, reason: str) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "deny")
    await manager.wait_for_view("The requester reads this.")
    sent = await manager.submit_view({"reason": reason})
    assert sent["errors"] == {"reason": "say why in a few words; the requester reads this"}
    assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL
    assert (await manager.submit_view({"reason": "too dear"}))["errors"] == {}
    await world.settled()
    assert world.engine.leases[lease.id].decided_reason == "too dear"
