"""The warning of a lease that does nothing: the evidence with its chart, and what becomes of the card."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from lessor.contracts import Notice
from lessor.domain import excuses, idling
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Rung
from lessor.drawing import Drawer, DrawingError
from lessor.sandbox.slack import RunningSandbox, buttons, visible_text
from lessor.when import local
from tests.bot.doing_nothing import HOUR, MINUTE, Easel, metered, seen_idle, warned
from tests.bot.world import REQUESTER, World, a_world

ROW = ["Release now", "Stop, keep disk", "I am using it", "Wrong verdict", "Details"]


@pytest.fixture
def easel() -> Easel:
    return Easel()


@pytest_asyncio.fixture
async def world(slack: RunningSandbox, sqlite_url: str, easel: Easel) -> AsyncIterator[World]:
    await slack.switch(file_seconds=0)
    async with a_world(slack, sqlite_url, draw=easel.png) as made:
        yield made


def pictures(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["blocks"] if block["type"] == "image"]


async def test_E10_E14_E22_E25_the_warning_shows_all_evidence_the_costs_the_policy_and_the_stop(world: World) -> None:
    lease = await world.running(await world.ask())
    terms = IdleTerms(stop=timedelta(hours=4), origins={"stop": "project ranker", "window": "organisation"})
    lease, delivery = await warned(world, await seen_idle(world, lease, terms=terms))
    assert (delivery.delivered, delivery.via, delivery.owner) == (True, "slack:dm", True)
    told = await world.slack.person("requester").wait_for_message("does nothing, for 1 h")
    text = visible_text(told)
    assert lease.idle is not None
    since = lease.idle.evidence.since
    assert f"Since {local(since, 'Europe/Berlin')} none of its signals shows work (2 of 2 GPUs idle)." in text
    assert f"*It is stopped {local(since + timedelta(hours=4), 'Europe/Berlin')}*" in text
    assert "*Cost so far:* 5.00 USD, of which 2.50 USD since it does nothing (2.50 USD an hour)" in text
    assert (
        "*Measured* (in brackets: above what it counts; samples cover 98 % of the window): GPU engine 0.4 % (2 %), "
        "GPU utilisation 1 % (5 %), GPU memory 3 % (5 %), GPU power 61 W (does not count), processor 2 % (20 %), "
        "network 12 kB/s (1 MB/s), disk unknown (5 MB/s), people at work on it unknown, requests unknown (0/s)\n"
    ) in text
    assert f"*Last activity:* the GPU, {local(since, 'Europe/Berlin')}" in text
    assert (
        "*Policy in force:* built in: warned after 1 h, warned again after 1 h 45 min, may be stopped: yes; "
        "organisation: idle throughout 1 h; project ranker: stopped after 4 h. All thresholds are behind *Details*."
    ) in text
    assert buttons(told) == ROW


async def test_E08_memory_that_is_held_is_told_with_both_numbers(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()), Verdict.HELD, peak_memory=0.93)
    await warned(world, lease)
    text = visible_text(await world.slack.person("requester").wait_for_message("holds memory and computes nothing"))
    assert "GPU engine 0.4 % (2 %), " in text
    assert "GPU memory 93 % (5 %), " in text
    assert "stopped after 1 d where memory is held" in text
    assert "a model that waits for work. If it serves something, say so with *I am using it*." in text


async def test_E16_without_any_activity_it_says_so(world: World) -> None:
    lease = await world.running(await world.ask())
    await warned(world, await seen_idle(world, lease, active_at=None, active_kind=""))
    told = await world.slack.person("requester").wait_for_message("does nothing")
    assert "*Last activity:* none since it started" in visible_text(told)


async def test_the_chart_is_on_the_readers_clock_and_uploaded_once(world: World, easel: Easel) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    metered(world, lease)
    await warned(world, lease)
    world.engine.leases[lease.id] = lease
    world.engine.tell(lease.id, Notice.IDLE_WARNING)
    await world.settled()
    messages = [m for m in await world.slack.person("requester").dms() if "does nothing" in visible_text(m)]
    assert len(messages) == 1
    (image,) = pictures(messages[0])
    assert image["slack_file"]["id"]
    assert lease.idle is not None
    since = local(lease.idle.evidence.since, "Europe/Berlin")
    assert image["alt_text"].startswith(
        f"Chart of {lease.id} over the last day: idle since {since}. Since then at most"
    )
    (shown,) = easel.shown
    assert (shown["axis"], shown["limit"]) == ("time in Europe/Berlin", 2.0)
    assert {one["percent"] for one in shown["points"] if one["series"] == "busiest GPU"} == {90.0, 0.0}
    calls = await world.slack.calls("files.completeUploadExternal")
    assert len(calls) == 1


async def test_picture_and_buttons_come_before_the_small_print(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    metered(world, lease)
    for rung in (Rung.WARN, Rung.FINAL):
        lease, _ = await warned(world, await seen_idle(world, lease), rung)
        told = await world.slack.person("requester").wait_for_message(
            "*Last warning:*" if rung is Rung.FINAL else "does nothing, for"
        )
        kinds = [block["type"] for block in told["blocks"]]
        assert kinds == [*["section"] * 5, "image", "actions", "context", "context"]
        before = "".join(visible_text({"blocks": [block]}) for block in told["blocks"][:5])
        assert ("GPU engine" in before, "Policy in force" in before) == (False, False)


async def test_without_figures_there_is_no_chart(world: World, easel: Easel) -> None:
    await warned(world, await seen_idle(world, await world.running(await world.ask())))
    told = await world.slack.person("requester").wait_for_message("does nothing")
    assert (pictures(told), easel.shown) == ([], [])


@pytest.mark.parametrize("trouble", ["renderer", "refused", "gone"])
async def test_a_chart_that_fails_never_loses_the_warning(world: World, easel: Easel, trouble: str) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    metered(world, lease)
    if trouble == "renderer":
        easel.fail = DrawingError("no chart within 20 s")
    elif trouble == "refused":
        await world.slack.add_fault("error", "files.getUploadURLExternal", error="missing_scope")
    else:
        await world.slack.add_fault("down", "upload")
    _, delivery = await warned(world, lease)
    assert (delivery.delivered, delivery.owner) == (True, True)
    told = await world.slack.person("requester").wait_for_message("does nothing")
    assert (pictures(told), buttons(told)) == ([], ROW)
    assert len(easel.shown) == 1


async def test_a_picture_that_slack_never_looks_at_is_left_out(world: World) -> None:
    await world.slack.switch(file_seconds=3_600)
    lease = await seen_idle(world, await world.running(await world.ask()))
    metered(world, lease)
    _, delivery = await warned(world, lease)
    assert delivery.delivered
    told = await world.slack.person("requester").wait_for_message("does nothing")
    assert (pictures(told), buttons(told)) == ([], ROW)
    assert "GPU engine 0.4 %" in visible_text(told)


async def test_the_last_warning_takes_the_place_of_the_first(world: World) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    world.clock.moved += 44 * MINUTE
    lease, _ = await warned(world, await seen_idle(world, lease), Rung.FINAL)
    requester = world.slack.person("requester")
    assert lease.idle is not None
    stops = local(lease.idle.evidence.since + timedelta(hours=2), "Europe/Berlin")
    last = await requester.wait_for_message(f"*Last warning:* `{lease.id}` (2 x A100-80GB) is stopped {stops}")
    assert buttons(last) == ROW
    first = await requester.wait_for_message("a newer warning stands")
    assert buttons(first) == []


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.BUSY, "works again, nothing is stopped"),
        (Verdict.UNKNOWN, "not measured now, so nothing is stopped"),
    ],
)
async def test_A30_when_it_is_over_the_cards_have_no_buttons_and_say_why(
    world: World, verdict: Verdict, words: str
) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    now = world.clock()
    before = len(await world.slack.person("requester").dms())
    await world.move(lease, idling.metered, Evidence(verdict, now, now, gpus=2), IdleTerms(), now)
    assert world.engine.told[-1][1:] == (Notice.IDLE_OVER, world.engine.told[-1][2])
    assert world.engine.told[-1][2].delivered
    messages = await world.slack.person("requester").dms()
    assert len(messages) == before
    (card,) = [m for m in messages if words in visible_text(m)]
    assert (buttons(card), pictures(card)) == ([], [])


async def test_a_snooze_settles_the_card_and_the_next_warning_is_a_new_message(world: World) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    until = world.clock() + HOUR
    lease = await world.move(lease, excuses.snooze, until, REQUESTER, "a demo", world.clock())
    requester = world.slack.person("requester")
    card = await requester.wait_for_message(f"left alone until {local(until, 'Europe/Berlin')}")
    assert buttons(card) == []
    assert "<@U0REQUESTER> says why:\n\n> a demo" in visible_text(card)
    world.clock.moved += HOUR + MINUTE
    _, delivery = await warned(world, await seen_idle(world, lease))
    assert delivery.delivered
    again = await requester.wait_for_message("does nothing, for 2 h 1 min")
    assert (buttons(again), again["ts"] > card["ts"]) == (ROW, True)


async def test_a_longer_snooze_is_told_on_the_card_that_was_settled_by_the_first(world: World) -> None:
    lease, _ = await warned(world, await seen_idle(world, await world.running(await world.ask())))
    first, second = world.clock() + HOUR, world.clock() + 4 * HOUR
    lease = await world.move(lease, excuses.snooze, first, REQUESTER, "a demo", world.clock())
    requester = world.slack.person("requester")
    card = await requester.wait_for_message(f"left alone until {local(first, 'Europe/Berlin')}")
    world.clock.moved += MINUTE
    lease = await world.move(lease, excuses.snooze, second, REQUESTER, "a longer demo", world.clock())
    again = await requester.wait_for_message(f"left alone until {local(second, 'Europe/Berlin')}")
    assert (again["ts"], buttons(again)) == (card["ts"], [])
    assert "> a longer demo" in visible_text(again)
    world.clock.moved += 4 * HOUR
    await warned(world, await seen_idle(world, lease))
    settled = await requester.wait_for_message("a newer warning stands")
    assert settled["ts"] == card["ts"]


async def test_two_tries_at_once_make_one_message(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    notifier = world.engine.notifier
    now = world.clock()
    await asyncio.gather(
        *(notifier.notify(lease, Notice.IDLE_WARNING, timedelta(), now) for _ in range(3)),
    )
    told = [m for m in await world.slack.person("requester").dms() if "does nothing" in visible_text(m)]
    assert len(told) == 1


async def test_what_works_again_before_anybody_was_told_is_not_warned(world: World) -> None:
    lease = await world.running(await world.ask())
    before = len(await world.slack.person("requester").dms())
    world.engine.tell(lease.id, Notice.IDLE_WARNING)
    await world.settled()
    assert not world.engine.told[-1][2].delivered
    assert len(await world.slack.person("requester").dms()) == before


async def test_the_real_renderer_in_front_of_slacks_delay(slack: RunningSandbox, sqlite_url: str) -> None:
    await slack.switch(file_seconds=0.3)
    drawer = Drawer()
    async with a_world(slack, sqlite_url, draw=drawer.png) as world:
        lease = await seen_idle(world, await world.running(await world.ask()))
        metered(world, lease)
        await warned(world, lease)
        (image,) = pictures(await slack.person("requester").wait_for_message("does nothing"))
        content = slack.core.files.known[image["slack_file"]["id"]].content
    await drawer.close()
    assert content is not None
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack("!II", content[16:24])[0] > 1_000
