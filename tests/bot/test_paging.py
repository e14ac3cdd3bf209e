"""Pages to the administrators: one message for each occasion and day, in their channel or else to each of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import Alarm, PageInput
from lessor.sandbox.slack import visible_text
from tests.bot.world import World

BRAKE = PageInput(Alarm.BRAKE, "aws/research", "5 of 5 leases are not shown at all any more")
UNREAD = PageInput(Alarm.UNREAD, "aws/research", "AWS asked to come back later <!channel>")
LOST = PageInput(Alarm.NO_WORKFLOW, "gpu-aaaa, gpu-bbbb", "nothing was done about them: 2 failed")


async def shown(world: World) -> list[str]:
    return [visible_text(post) for post in await world.slack.person("admin").messages("gpu-admins")]


async def test_one_message_for_each_occasion_and_day(world: World) -> None:
    pages = world.engine.notifier
    for wanted in (BRAKE, UNREAD, LOST, BRAKE, UNREAD, LOST):
        delivery = await pages.page(wanted, world.clock())
        assert (delivery.delivered, delivery.via, delivery.problem) == (True, "slack:channel", "")
    told = await shown(world)
    assert [text.splitlines()[0] for text in told] == [
        "*Needs a look:* the brake holds for aws/research",
        "*Needs a look:* aws/research could not be read whole several times in a row",
        "*Needs a look:* open leases have no workflow",
    ]
    assert BRAKE.problem in told[0]
    assert "AWS asked to come back later <!channel>" in told[1]
    assert LOST.subject in told[2]
    assert LOST.problem in told[2]
    await pages.page(BRAKE, world.clock() + timedelta(days=1))
    assert len(await shown(world)) == 4


@pytest.mark.parametrize("other", [PageInput(Alarm.BRAKE, "workflows", "x"), PageInput(Alarm.UNREAD, "aws/two", "x")])
async def test_another_subject_is_another_message(world: World, other: PageInput) -> None:
    await world.engine.notifier.page(BRAKE, world.clock())
    await world.engine.notifier.page(other, world.clock())
    assert len(await shown(world)) == 2


async def test_a_page_whose_answer_was_lost_is_found_again(world: World) -> None:
    await world.slack.add_fault("lose_answer", "chat.postMessage")
    for _ in range(2):
        assert (await world.engine.notifier.page(BRAKE, world.clock())).delivered
    assert len(await shown(world)) == 1


async def test_without_the_channel_each_administrator_is_told(world: World) -> None:
    await world.slack.change_channel("gpu-admins", is_archived=True)
    delivery = await world.engine.notifier.page(BRAKE, world.clock())
    assert (delivery.delivered, delivery.via) == (True, "slack:dm")
    await world.slack.person("admin").wait_for_message("the brake holds for aws/research")


async def test_a_brake_on_idle_stops_says_how_it_comes_off_and_is_told_each_time(world: World) -> None:
    for at in ("09:00", "15:00"):
        page = PageInput(Alarm.BRAKE, f"idle stops since 2026-11-27 {at} UTC", "6 of 10 leases would be stopped")
        await world.engine.notifier.page(page, world.clock())
    told = await shown(world)
    assert len(told) == 2
    assert told[0].splitlines()[0] == "*Needs a look:* the brake holds for idle stops since 2026-11-27 09:00 UTC"
    assert "It stays on until one of you takes it off: `/gpu admin brake off REASON`." in told[0]


async def test_a_source_that_falls_silent_again_is_told_again(world: World) -> None:
    for at in ("09:00", "09:00", "15:00"):
        page = PageInput(Alarm.SOURCE_SILENT, "fleet", f"HTTP 503; its last answer was at 2026-11-27 {at} UTC")
        await world.engine.notifier.page(page, world.clock())
    assert ["15:00" in text for text in await shown(world)] == [False, True]


@pytest.mark.parametrize("alarm", [alarm for alarm in Alarm if alarm not in (Alarm.BUDGET, Alarm.NO_WORKFLOW)])
async def test_no_alarm_is_taken_for_lost_workflows(world: World, alarm: Alarm) -> None:
    await world.engine.notifier.page(PageInput(alarm, "gpu-aaaa", "what was seen"), world.clock())
    [told] = await shown(world)
    assert "open leases have no workflow" not in told
    assert "Somebody ended these workflows" not in told


async def test_rights_that_a_cluster_does_not_give_are_listed_with_what_to_do(world: World) -> None:
    missing = "list pods in every namespace: to see who holds GPUs"
    await world.engine.notifier.page(PageInput(Alarm.RIGHTS, "lab", missing), world.clock())
    [told] = await shown(world)
    assert told.splitlines()[0] == "*Needs a look:* lessor may not do in lab what leases need"
    assert missing in told
    assert "`deploy/kubernetes` has the role, `lessor places check` asks again." in told
