"""Away and back, and what is left of quotas and budgets, by command."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from lessor.contracts import Verb
from lessor.sandbox.slack import visible_text
from lessor.when import local
from tests.bot.world import FINANCE, MANAGER, World


async def test_away_with_a_delegate_and_back(world: World) -> None:
    manager = world.slack.person("manager")
    await manager.command("/gpu", "away until in 3 days @finance")
    told = visible_text(await manager.wait_for_ephemeral("*Away*"))
    (absence,) = world.ledger.absences(world.clock())
    assert (absence.person, absence.delegate) == (MANAGER.id, FINANCE.id)
    assert abs(absence.until - world.clock() - timedelta(days=3)) < timedelta(minutes=1)
    until = local(absence.until, "America/New_York")
    assert told.startswith(f"*Away* until {until}. <@U0FINANCE> decides for you until then")
    await manager.command("/gpu", "back")
    await manager.wait_for_ephemeral("*Back:* you decide again from now on.")
    assert world.ledger.absences(world.clock()) == ()


@pytest.mark.parametrize("text", ["away until tomorrow 18:00", "away tomorrow 18:00", "away till tomorrow 18:00"])
async def test_away_without_a_delegate_says_what_that_means(world: World, text: str) -> None:
    manager = world.slack.person("manager")
    await manager.command("/gpu", text)
    await manager.wait_for_ephemeral("Nobody stands in for you")
    (absence,) = world.ledger.absences(world.clock())
    assert (absence.until.astimezone().minute, absence.delegate) == (0, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("away", "say until when; write /gpu away until WHEN [@delegate]"),
        ("away until", "say until when; write /gpu away until WHEN [@delegate]"),
        ("away until whenever", "'whenever' is not understood"),
        ("away until yesterday 18:00", "yesterday"),
        ("away until tomorrow 18:00 @nobody-here", "nobody active is called '@nobody-here'"),
        ("away until tomorrow 18:00 @manager", "you cannot stand in for yourself"),
    ],
)
async def test_what_is_wrong_asks_and_keeps_everything(world: World, text: str, words: str) -> None:
    manager = world.slack.person("manager")
    await manager.command("/gpu", text)
    await manager.wait_for_ephemeral(words)
    assert world.ledger.absences(world.clock()) == ()


async def test_quota_of_ones_own_and_of_a_team(world: World) -> None:
    lease = await world.ask(duration=timedelta(hours=8))
    await world.act(lease, Verb.APPROVE, MANAGER.id)
    requester = world.slack.person("requester")
    await requester.command("/gpu", "quota")
    told = visible_text(await requester.wait_for_ephemeral("*Quota and budget*"))
    assert "*You*: 0 GPUs held now" in told
    assert "*team research*: 0 GPUs held now" in told
    assert "• team research: 8 of 8 A100-80GB left" in told
    month = datetime.strftime(world.clock(), "%Y-%m")
    assert f"• team research: 100,000 of 100,000 USD in {month} left" in told
    await requester.command("/gpu", "quota RESEARCH")
    await requester.wait_for_ephemeral(lambda message: "*You*" not in visible_text(message))


@pytest.mark.parametrize(
    ("who", "words"), [("requester", "is no team; yours: research"), ("finance", "is no team; yours: none")]
)
async def test_an_unknown_team_is_answered_with_ones_own(world: World, who: str, words: str) -> None:
    person = world.slack.person(who)
    await person.command("/gpu", "quota vision")
    told = visible_text(await person.wait_for_ephemeral(words))
    assert told.endswith("Write /gpu quota TEAM")


async def test_a_strangers_numbers_are_not_shown(world: World) -> None:
    finance = world.slack.person("finance")
    await finance.command("/gpu", "quota research")
    await finance.wait_for_ephemeral("only people of team research and administrators see its numbers")
