"""Section A, text: what phones, copy and paste and Slack itself put into a command."""

from __future__ import annotations

from typing import Any

import pytest

from bot import words
from lessor.domain.errors import Refused
from lessor.sandbox.slack import visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import MANAGER, REQUESTER, World

__all__ = ["slack", "world"]

BEGIN = "request 2 x A100-80GB 8h team:research training in us"


async def typed(world: World, text: str) -> Any:
    """The request that a complete text makes."""
    requester = world.slack.person("requester")
    assert (await requester.command("/gpu", text))["acked"]
    await world.settled()
    return world.only_lease().request


@pytest.mark.parametrize(
    "purpose", ['"train the ranking model"', "“train the ranking model”", "‘train the ranking model’"]
)
async def test_A15_curly_and_straight_quotes_mean_the_same(world: World, purpose: str) -> None:
    request = await typed(world, f"{BEGIN} {purpose}")
    assert request.purpose == "train the ranking model"
    assert (request.need.model, request.need.count, request.workload.value) == ("A100-80GB", 2, "training")


async def test_A15_an_apostrophe_inside_a_reason_is_kept(world: World) -> None:
    request = await typed(world, f"{BEGIN} it’s urgent for the ranker")
    assert "it’s urgent" in request.purpose


async def prefilled(world: World, text: str) -> list[Any]:
    requester = world.slack.person("requester")
    assert (await requester.command("/gpu", text))["acked"]
    form = await requester.wait_for_view("Price:")
    await requester.close_view(form)
    inputs = [b["element"] for b in form["blocks"] if b["type"] == "input"]
    return [{key: value for key, value in one.items() if key.startswith(("action", "initial"))} for one in inputs]


@pytest.mark.parametrize("gap", ["\u00a0", "\u200b", "\ufeff", "\t", "\n", " \u00a0 "])
async def test_A17_invisible_characters_separate_words(world: World, gap: str) -> None:
    plain = await prefilled(world, "request g5.xlarge 8h")
    assert {"action_id": "wish-end", "initial_value": "8h"} in plain
    assert await prefilled(world, f"{gap}request{gap}g5.xlarge{gap}8h") == plain


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("reqest 2 a100", "request"), ("lst", "list"), ("\u00a0shwo\u00a0gpu-7k3qxa2m", "show"), ("🦆", "")],
)
async def test_A17_an_unknown_command_is_answered_with_the_nearest(world: World, text: str, nearest: str) -> None:
    requester = world.slack.person("requester")
    assert (await requester.command("/gpu", text))["acked"]
    told = visible_text(await requester.wait_for_ephemeral("I do not know"))
    assert f"Did you mean `/gpu {nearest}" in told


@pytest.mark.parametrize(
    ("word", "found"),
    [("<@U0AAA1111|sam>", "U0AAA1111"), ("<@U0AAA1111>", "U0AAA1111"), ("<@W0BBB2222>", "W0BBB2222"), ("@sam", "")],
)
def test_A18_mentions_are_read_in_every_form(word: str, found: str) -> None:
    assert words.person_in(word) == found


def test_A18_channels_are_read_with_their_name() -> None:
    assert words.channel_in("<#C0CCC3333|gpu-eu>") == "C0CCC3333"


async def test_A18_a_plain_name_counts_only_when_one_active_person_has_it(world: World) -> None:
    assert await world.people.named("@manager") == MANAGER.id
    with pytest.raises(Refused, match="nobody active is called '@sam'; choose the person from the list"):
        await world.people.named("@sam")
    await world.slack.change_person("manager", deleted=True)
    world.people.forget()
    with pytest.raises(Refused, match="nobody active is called '@manager'"):
        await world.people.named("@manager")


async def test_A18_a_list_of_somebody_named_by_mention_shows_their_leases(world: World) -> None:
    lease = await world.ask()
    manager = world.slack.person("manager")
    await manager.command("/gpu", "list @requester")
    told = visible_text(await manager.wait_for_ephemeral("Open leases of"))
    assert lease.id in told
    assert lease.owner == REQUESTER.id
    assert not set("@<|") & set(lease.owner)


async def test_A18_a_plain_unknown_name_gets_a_hint(world: World) -> None:
    manager = world.slack.person("manager")
    await manager.command("/gpu", "list @sam")
    told = visible_text(await manager.wait_for_ephemeral("nobody active"))
    assert told == (
        "nobody active is called '@sam'; choose the person from the list that Slack offers while you type @"
    )
