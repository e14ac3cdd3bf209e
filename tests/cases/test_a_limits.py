"""Section A, limits: what Slack refuses for its length, and what people may write all the same."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from bot.blocks.text import labels
from lessor.contracts import Verb
from lessor.domain import life
from lessor.domain.lease import State
from lessor.domain.resource import Condition, Kind, Resource
from lessor.gateway import PlaceChoice
from lessor.sandbox.slack import RunningSandbox, buttons, visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import MANAGER, REQUESTER, World, a_world
from tests.builders import a_sighting

__all__ = ["slack", "world"]


def longest(message: dict) -> int:  # type: ignore[type-arg]
    return max(len(block["text"]["text"]) for block in message["blocks"] if block.get("text"))


async def blocked(world: World, left: int) -> list[dict]:  # type: ignore[type-arg]
    """What administrators are told of a lease with so many left-overs."""
    lease = await world.running(await world.ask())
    await world.act(lease, Verb.RELEASE, REQUESTER.id)
    now = world.clock()
    await world.move(lease, life.start_deleting, now)
    things = [Resource(Kind.VOLUME, f"vol-{n:017x}-{'x' * 80}", Condition.RUNNING) for n in range(left)]
    late = now + timedelta(hours=1)
    await world.move(lease, life.looked, a_sighting(*things, at=late), late)
    return await world.slack.person("admin").messages("gpu-admins")


async def test_A08_a_digest_of_120_resources_is_split_and_loses_none(world: World) -> None:
    messages = await blocked(world, 120)
    assert "120 things are left" in visible_text(messages[0])
    assert all(len(message["blocks"]) <= 50 and longest(message) <= 3_000 for message in messages)
    named = {found for message in messages for found in re.findall(r"vol-([0-9a-f]{17})-", visible_text(message))}
    assert named == {f"{n:017x}" for n in range(120)}
    fields = [b["fields"] for m in messages for b in m["blocks"] if b.get("fields")]
    assert all(len(part) <= 10 and all(len(one["text"]) <= 2_000 for one in part) for part in fields)


async def test_A09_a_message_refused_for_its_size_is_halved_until_it_is_taken(world: World) -> None:
    before = REGISTRY.get_sample_value(*REFUSALS) or 0
    await world.slack.add_fault("error", "chat.postMessage", error="msg_blocks_too_long", times=2)
    lease = await world.ask()
    texts = world.slack.core.store.posts["C0GPUAPPROVALS"]
    direct = world.slack.core.store.posts["D0MANAGER"]
    assert REGISTRY.get_sample_value(*REFUSALS) == before + 2
    shown = [visible_text({"blocks": post.blocks, "text": post.text}) for post in (*texts, *direct)]
    everything = "\n".join(shown)
    assert everything.count("train the ranking model") >= 2
    assert everything.count("Can decide now:") >= 2
    assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL


REFUSALS = ("lessor_slack_refusals_total", {"method": "chat.postMessage", "error": "msg_blocks_too_long"})


async def test_A09_what_is_never_taken_as_blocks_is_told_as_text(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lessor.sandbox.slack.limits.BLOCKS_TOTAL", 40)
    lease = await world.ask()
    texts = [post.text for post in world.slack.core.store.posts["D0MANAGER2"]]
    assert all(len(text) <= 4_000 for text in texts)
    assert "train the ranking model" in "\n".join(texts)
    assert world.engine.leases[lease.id].state is State.AWAITING_APPROVAL


@pytest.mark.parametrize("sign", [">", "<", "&"])
async def test_A10_a_purpose_of_signs_that_grow_can_be_posted_and_redrawn(world: World, sign: str) -> None:
    lease = await world.ask(purpose=sign * 3_000)
    manager = world.slack.person("manager")
    card = await manager.wait_for_message(lease.id, "gpu-approvals")
    assert buttons(card) == ["Approve", "Approve with changes", "Deny", "Ask", "Details"]
    assert longest(card) <= 3_000
    await manager.click(card, "approve")
    await world.settled()
    for channel in ("gpu-approvals", "lessor"):
        (message,) = [m for m in await manager.messages(channel) if "GPU request" in visible_text(m)]
        assert buttons(message) == []
        assert "*Approved:*" in visible_text(message)


async def test_A11_labels_are_cut_and_can_still_be_told_apart(slack: RunningSandbox, sqlite_url: str) -> None:
    shared = "A project with a very long name that somebody wrote out in full for everybody to read, "
    places = tuple(PlaceChoice(name, shared + name, "aws", ("us-east-1",)) for name in ("us", "eu"))
    async with a_world(slack, sqlite_url, places=places) as world:
        requester = slack.person("requester")
        await requester.command("/gpu", "request")
        form = await requester.wait_for_view("Price:")
    (element,) = [b["element"] for b in form["blocks"] if b["block_id"] == "place"]
    shown = [option["text"]["text"] for option in element["options"]]
    assert [option["value"] for option in element["options"]] == ["us", "eu"]
    assert all(len(text) <= 75 and "…" in text for text in shown)
    assert [text[-6:] for text in shown] == ["ad, us", "ad, eu"]
    assert world.engine.leases == {}


@pytest.mark.parametrize(
    "texts", [["x" * 100] * 3, ["a" * 80 + "b" * 90, "a" * 80 + "b" * 91], ["&amp;" * 40 + "1", "&amp;" * 40 + "2"]]
)
def test_A11_even_equal_names_give_different_labels_that_cut_no_entity(texts: list[str]) -> None:
    shown = labels(texts)
    assert len(set(shown)) == len(texts)
    assert all(len(text) <= 75 for text in shown)
    assert not any(re.search(r"&(?!amp;)", text) for text in shown)


@pytest.mark.parametrize("missing", ["models", "places"])
async def test_A12_with_nothing_on_offer_people_read_whom_to_ask(
    slack: RunningSandbox, sqlite_url: str, missing: str
) -> None:
    changes = {"models": tuple} if missing == "models" else {"places": ()}
    async with a_world(slack, sqlite_url, **changes) as world:  # type: ignore[arg-type]
        requester = slack.person("requester")
        await requester.command("/gpu", "request")
        view = await requester.wait_for_view("Nothing is available to request now")
        await world.settled()
    assert visible_text(view) == (
        f"Request GPUs\nNothing is available to request now: no {missing[:-1]} is configured. "
        "Ask an administrator, in #gpu-admins."
    )
    assert [block["type"] for block in view["blocks"]] == ["section"]


async def test_A12_without_a_team_people_read_whom_to_ask(world: World) -> None:
    world.directory.people[0] = replace(REQUESTER, teams=())
    requester = world.slack.person("requester")
    await requester.command("/gpu", "request")
    view = await requester.wait_for_view("you are in no team yet")
    assert [block["type"] for block in view["blocks"]] == ["section"]


async def test_A13_a_reason_of_5000_characters_opens_submits_and_is_decided(world: World) -> None:
    reason = " ".join(f"word{n:04d}" for n in range(560))[:5_000]
    requester, manager = world.slack.person("requester"), world.slack.person("manager")
    await requester.command("/gpu", f'request 2 x A100-80GB team:research training in us "{reason}"')
    form = await requester.wait_for_view("Price:")
    assert len(form["private_metadata"]) < 3_000
    sent = await requester.submit_view({"wish-end": "8h"})
    assert (sent["acked"], sent["errors"]) == (True, {})
    await world.settled()
    lease = world.only_lease()
    assert lease.request.purpose == reason
    card = await manager.wait_for_message(lease.id, "gpu-approvals")
    values = [e["value"] for b in card["blocks"] if b["type"] == "actions" for e in b["elements"]]
    assert values == [lease.id] * 5
    await manager.click(card, "details")
    details = await manager.wait_for_view("word0550")
    assert len(details["blocks"]) <= 100
    await manager.click(card, "approve")
    await world.settled()
    assert world.only_lease().state is State.APPROVED
    assert world.only_lease().decided_by == MANAGER.id
