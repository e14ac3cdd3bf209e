"""Section A, channels: where the bot may not post, how often it may, and messages that are gone."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.contracts import Notice
from lessor.domain.lease import State
from lessor.sandbox.slack import ManualClock, RunningSandbox, buttons, running_slack_sandbox, visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import World, a_world

__all__ = ["slack", "world"]

APPROVALS = "C0GPUAPPROVALS"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("not_in_channel", "invite the app there: /invite @lessor"),
        ("channel_not_found", "check the id in lessor.yaml"),
        ("is_archived", "unarchive the channel or name another one in lessor.yaml"),
    ],
)
async def test_A23_an_unusable_channel_is_tried_once_and_the_request_stays_decidable(
    slack: RunningSandbox, sqlite_url: str, error: str, remedy: str
) -> None:
    channel = "C0NOWHERE" if error == "channel_not_found" else APPROVALS
    if error == "not_in_channel":
        await slack.change_channel("gpu-approvals", app_in=False)
    if error == "is_archived":
        await slack.change_channel("gpu-approvals", is_archived=True)
    settings = SlackSettings("Sandbox", channel, "gpu-requests", "gpu-admins")
    async with a_world(slack, sqlite_url, settings=settings) as world:
        lease = await world.ask()
        refused = [c for c in await slack.calls("chat.postMessage") if c["args"]["channel"] == channel]
        assert [call["outcome"] for call in refused] == [error]
        admin, manager = slack.person("admin"), slack.person("manager")
        told = visible_text(await admin.wait_for_message("I cannot post in channel", "gpu-admins"))
        assert f"`{channel}`: {error}" in told
        assert remedy in told
        fallback = await admin.wait_for_message("GPU request", "gpu-admins")
        assert buttons(fallback) == ["Approve", "Approve with changes", "Deny", "Ask", "Details"]
        await manager.click(await manager.wait_for_message("GPU request"), "approve")
        await world.settled()
        assert world.engine.leases[lease.id].state is State.APPROVED


async def test_A24_a_limited_method_is_left_alone_and_nothing_is_lost(sqlite_url: str) -> None:
    clock = ManualClock()
    client = partial(SlackClient, now=clock.now, sleep=clock.sleep)
    async with running_slack_sandbox(clock=clock) as slack, a_world(slack, sqlite_url, client=client) as world:
        lease = await world.ask()
        posted = [await world.client.chat_postMessage(channel="gpu-fleet", text=f"{n}") for n in range(200)]
        await slack.add_fault("rate_limit", "chat.update", retry_after=10)
        updates = [
            asyncio.ensure_future(
                world.client.chat_update(channel=one["channel"], ts=one["ts"], text=f"updated {number}")
            )
            for number, one in enumerate(posted)
        ]
        await _until(lambda: len(calls(slack)) == 1)
        manager = slack.person("manager")
        await manager.click(await manager.wait_for_message(lease.id, "gpu-approvals"), "approve")
        await _until(lambda: world.engine.leases[lease.id].state is State.APPROVED)
        await clock.advance(9.9)
        assert [outcome for _, outcome in calls(slack)] == ["ratelimited"]
        await clock.advance(0.2)
        await asyncio.gather(*updates)
        times = [at for at, _ in calls(slack)]
        assert times[1] - times[0] >= 10
        texts = {post.text for post in slack.core.store.posts["C0GPUFLEET"]}
        assert texts == {f"updated {n}" for n in range(200)}
        await world.settled()


def calls(slack: RunningSandbox) -> list[tuple[float, str]]:
    return [(call["at"], call["outcome"]) for call in slack.core.calls if call["method"] == "chat.update"]


async def _until(happened: object) -> None:
    async with asyncio.timeout(60):
        # What is waited for happens in the bot's own tasks, which tell nobody.
        while not happened():  # type: ignore[operator]  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_A31_a_card_that_was_deleted_is_posted_anew_once(world: World) -> None:
    lease = await world.ask()
    store = world.slack.core.store
    (old,) = store.posts[APPROVALS]
    store.remove(old)
    manager = world.slack.person("manager")
    await manager.click(await manager.wait_for_message("GPU request"), "approve")
    await world.settled()
    (new,) = store.posts[APPROVALS]
    assert new.ts != old.ts
    assert "*Approved:*" in visible_text({"blocks": new.blocks})
    ref = world.ledger.message(f"{lease.id}/request/gpu-approvals")
    assert ref is not None
    assert (ref.channel, ref.ts) == (APPROVALS, new.ts)
    tried = [call for call in await world.slack.calls("chat.update") if call["args"]["ts"] == old.ts]
    assert [call["outcome"] for call in tried] == ["message_not_found"]
    assert world.engine.leases[lease.id].state is State.APPROVED
    assert world.engine.problems == []


async def test_A31_a_reminder_whose_card_was_deleted_stands_under_the_new_card(world: World) -> None:
    """A reply to a message that is gone would land in the channel, where it belongs to nothing."""
    lease = await world.ask()
    store = world.slack.core.store
    (old,) = store.posts[APPROVALS]
    store.remove(old)
    world.engine.tell(lease.id, Notice.REMINDER)
    await world.settled()
    new, reminder = store.posts[APPROVALS]
    assert (new.thread_ts, reminder.thread_ts) == ("", new.ts)
    assert buttons({"blocks": new.blocks})[0] == "Approve"
    assert "*Reminder:*" in visible_text({"blocks": reminder.blocks})
    assert world.engine.problems == []
