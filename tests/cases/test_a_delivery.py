"""Section A, deliveries: slow handlers, retries, duplicates, and triggers that expire."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from lessor.sandbox.slack import RunningSandbox, buttons, visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import MODELS, World, a_world

__all__ = ["slack", "world"]

TEXT = 'request 2 x A100-80GB 8h team:research training in us "train the ranking model"'
FORM = {"wish-count": "2", "wish-end": "8h", "wish-purpose": "train the ranking model"}


def posts(world: World, channel: str) -> list[str]:
    return [post.text for post in world.slack.core.store.posts.get(channel, [])]


async def outcomes(world: World, kind: str, count: int) -> list[str]:
    """How the deliveries of one kind ended, once there are so many."""
    found = await world.deliveries(kind, count)
    assert all(one["seconds"] < 3 for one in found)
    return [one["outcome"] for one in found]


async def test_A01_the_acknowledgement_leaves_in_time_while_temporal_and_the_database_hang(world: World) -> None:
    release = threading.Event()
    world.engine.hang = asyncio.Event()
    accept = world.ledger.accept
    world.ledger.accept = lambda wanted: (release.wait(30), accept(wanted))[1]  # type: ignore[method-assign]
    await world.slack.add_fault("duplicate", "slash_commands", copies=3, ids="same")
    try:
        sent = await world.slack.person("requester").command("/gpu", TEXT)
        assert sent == {"acked": True, "error": ""}
        assert await outcomes(world, "slash_commands", 4) == ["ok"] * 4
    finally:
        release.set()
        world.engine.hang.set()
    await world.settled()
    assert len(world.engine.leases) == 1
    assert world.engine.starts == 1
    assert len(posts(world, "C0GPUAPPROVALS")) == 1


async def test_A01_a_form_is_acknowledged_in_time_and_its_outcome_shown_later(world: World) -> None:
    requester = world.slack.person("requester")
    world.desk.patience = 0.05
    await requester.command("/gpu", "request")
    await requester.wait_for_view("Price:")
    world.engine.hang = asyncio.Event()
    sent = await requester.submit_view(FORM)
    assert (sent["acked"], sent["response_action"]) == (True, "update")
    await requester.wait_for_view("being recorded")
    world.engine.hang.set()
    view = await requester.wait_for_view("Recorded:")
    assert world.only_lease().id in visible_text(view)


@pytest.mark.parametrize("replica", ["same process", "restarted"])
async def test_A02_a_retry_whose_first_attempt_was_lost_is_processed(
    slack: RunningSandbox, sqlite_url: str, replica: str
) -> None:
    async with a_world(slack, sqlite_url) as world:
        await slack.add_fault("lose_delivery", "events_api")
        await slack.person("requester").say(TEXT)
        assert await outcomes(world, "events_api", 2) == ["operation_timeout", "ok"]
        await world.settled()
        assert len(world.engine.leases) == 1
        if replica == "restarted":
            again = slack.core.deliveries.log[-1]["payload"]
            async with a_world(slack, sqlite_url, engine=world.engine, connect=False) as other:
                await deliver_again(other, again)
                await other.settled()
                assert len(world.engine.leases) == 1
        answers = [text for text in posts(world, "D0REQUESTER") if "Recorded:" in text]
        assert len(answers) == 1


async def deliver_again(world: World, payload: dict[str, Any]) -> None:
    from slack_bolt.request.async_request import AsyncBoltRequest

    answer = await world.app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
    assert answer.status == 200


async def test_A03_one_message_with_eleven_event_ids_has_one_effect(world: World) -> None:
    await world.slack.add_fault("duplicate", "events_api", copies=10, ids="new")
    await world.slack.person("requester").say(TEXT)
    assert await outcomes(world, "events_api", 11) == ["ok"] * 11
    await world.settled()
    payloads = [one["payload"] for one in await world.slack.deliveries("events_api")]
    assert len({payload["event_id"] for payload in payloads}) == 11
    assert len(world.engine.leases) == 1
    assert len([text for text in posts(world, "D0REQUESTER") if "Recorded:" in text]) == 1


async def test_A04_two_replicas_that_receive_one_envelope_make_one_request(
    slack: RunningSandbox, sqlite_url: str
) -> None:
    async with a_world(slack, sqlite_url) as world, a_world(slack, sqlite_url, engine=world.engine) as other:
        await slack.add_fault("duplicate", "slash_commands", copies=1, ids="same")
        sent = await slack.person("requester").command("/gpu", TEXT)
        assert sent["acked"]
        assert await outcomes(world, "slash_commands", 2) == ["ok", "ok"]
        await world.settled()
        await other.settled()
        assert world.desk.seen.count + other.desk.seen.count == 2
        assert len(world.engine.leases) == 1
        told = [m for m in await slack.person("requester").ephemerals() if "Recorded:" in visible_text(m)]
        assert len(told) == 1


async def test_A05_the_same_command_again_names_the_first_and_makes_no_second(world: World) -> None:
    requester = world.slack.person("requester")
    world.desk.patience = 0.05
    world.engine.hang = asyncio.Event()
    assert (await requester.command("/gpu", TEXT))["acked"]
    await requester.wait_for_ephemeral("this takes longer than usual")
    assert (await requester.command("/gpu", TEXT))["acked"]
    again = visible_text(await requester.wait_for_ephemeral("You sent the same request a moment ago"))
    world.engine.hang.set()
    await requester.wait_for_ephemeral("*Recorded:*")
    lease = world.only_lease()
    assert lease.id in again
    assert (await requester.command("/gpu", TEXT))["acked"]
    similar = await requester.wait_for_ephemeral(f"Nothing new was made: `{lease.id}`")
    assert buttons(similar) == ["Details", "Make another anyway"]
    assert len(world.engine.leases) == 1


async def test_A06_the_form_opens_before_the_slow_catalogue_is_read(slack: RunningSandbox, sqlite_url: str) -> None:
    release = threading.Event()

    async with a_world(slack, sqlite_url, models=lambda: (release.wait(60), MODELS)[1]) as world:
        requester = slack.person("requester")
        try:
            await requester.command("/gpu", "request")
            await requester.wait_for_view("One moment")
            calls = [call["method"] for call in await slack.calls() if call["method"].startswith("views.")]
            assert calls == ["views.open"]
        finally:
            release.set()
        form = await requester.wait_for_view("Price:")
        assert "wish-model" in {b["element"]["action_id"] for b in form["blocks"] if b["type"] == "input"}
        assert world.engine.leases == {}


@pytest.mark.parametrize("shape", ["code", "arguments"])
async def test_A06_both_shapes_of_an_expired_trigger_lead_to_a_plain_answer(
    world: World, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    requester = world.slack.person("requester")
    await world.slack.add_fault("expire_trigger", shape=shape)
    assert (await requester.command("/gpu", "request"))["acked"]
    told = await requester.wait_for_ephemeral("please try again")
    assert visible_text(told) == (
        "Slack gave up waiting before the form could open. Nothing was requested; please try again."
    )
    await world.settled()
    assert world.engine.leases == {}
    assert "Traceback" not in caplog.text
