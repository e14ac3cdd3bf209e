"""A quota or budget that gets scarce: the team and whoever answers for it hear it once, administrators at the limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import Alarm, PageInput
from lessor.sandbox.slack import visible_text
from tests.bot.world import TEAM, World

WORDS = "team research holds 4 of 8 GPUs. gpu-aaaaaaaa of team research reached 50 %."
HALF = PageInput(Alarm.BUDGET, "team:research gpus 2026-11 50%", WORDS, "research", "", False)
FULL = replace(HALF, subject="team:research gpus 2026-11 100%", admins=True)


async def channel(world: World, name: str) -> list[str]:
    reader = "manager" if name == "team-research" else "admin"
    found = [visible_text(post) for post in await world.slack.person(reader).messages(name)]
    return [text for text in found if "limit" in text]


async def test_the_team_and_its_lead_hear_it_once_however_late_it_is_repeated(world: World) -> None:
    pages = world.engine.notifier
    for later in (timedelta(), timedelta(hours=1), timedelta(days=3)):
        told = await pages.page(HALF, world.clock() + later)
        assert (told.delivered, told.via, told.problem) == (True, "slack:channel", "")
    [text] = await channel(world, "team-research")
    assert text.splitlines()[0] == "*A limit comes near:* team:research gpus 2026-11 50%"
    assert WORDS in text
    assert "Nothing is refused yet. `lessor quota` shows all limits with what is left of them." in text
    await world.slack.person("manager").wait_for_message(WORDS)
    assert await channel(world, "gpu-admins") == []


async def test_at_the_limit_administrators_hear_it_too(world: World) -> None:
    await world.engine.notifier.page(HALF, world.clock())
    await world.engine.notifier.page(FULL, world.clock())
    assert len(await channel(world, "team-research")) == 2
    [text] = await channel(world, "gpu-admins")
    assert text.splitlines()[0] == "*The limit is reached:* team:research gpus 2026-11 100%"
    assert "What goes beyond a hard limit is refused from now on." in text


async def test_the_budget_owner_hears_it_instead_of_the_lead_and_the_person_whose_limit_it_is_too(world: World) -> None:
    world.directory.teams["research"] = replace(TEAM, budget_owner="U0FINANCE", channel="")
    mine = replace(HALF, subject="person:U0REQUESTER money 2026-11 80%", person="U0REQUESTER")
    told = await world.engine.notifier.page(mine, world.clock())
    assert (told.delivered, told.via) == (True, "slack:dm")
    for who in ("finance", "requester"):
        await world.slack.person(who).wait_for_message("*A limit comes near:* person:U0REQUESTER money 2026-11 80%")
    assert await channel(world, "gpu-admins") == []


async def test_somebody_always_hears_it(world: World) -> None:
    world.directory.teams.pop("research")
    told = await world.engine.notifier.page(HALF, world.clock())
    assert (told.delivered, told.via) == (True, "slack:channel")
    [text] = await channel(world, "gpu-admins")
    assert WORDS in text
