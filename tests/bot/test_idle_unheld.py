"""What owners of namespaces read of promised GPUs that no pod holds: how many, since when, and what would do."""

from __future__ import annotations

from datetime import timedelta

from lessor.domain import idling
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.sandbox.slack import buttons, visible_text
from lessor.when import local
from tests.bot.doing_nothing import HOUR, seen_idle, warned
from tests.bot.world import World

BERLIN = "Europe/Berlin"


async def test_the_warning_says_that_no_pod_holds_the_gpus_and_since_when(world: World) -> None:
    lease = await world.running(await world.ask())
    since = world.clock() + HOUR
    lease = await seen_idle(
        world, lease, peak_engine=None, peak_util=None, active_kind="pod", unheld=2, unheld_since=since
    )
    await warned(world, lease)
    told = visible_text(await world.slack.person("requester").wait_for_message("does nothing, for 1 h"))
    assert (
        f"*Pods:* 0 of 2 promised GPUs held by any pod since {local(since, BERLIN)}; nobody else can use the others "
        "while they are promised to it.\n"
    ) in told
    assert "GPU engine unknown (2 %)" in told
    assert f"*Last activity:* a pod held GPUs, {local(since, BERLIN)}" in told


async def test_a_lease_that_holds_a_part_is_told_the_part_and_a_size_that_would_do(world: World) -> None:
    lease = await world.running(await world.ask())
    world.clock.moved += timedelta(hours=2)
    now = world.clock()
    since = now - HOUR
    part = Evidence(Verdict.BUSY, since, now, gpus=4, idle_gpus=3, covered=1.0, unheld=3, unheld_since=since)
    await world.move(lease, idling.metered, part, IdleTerms(), now)
    told = await world.slack.person("requester").wait_for_message("*3 of 4 GPUs idle:*")
    text = visible_text(told)
    held = f"1 of 4 promised GPUs held by any pod since {local(since, BERLIN)}"
    assert f"only 1 of its 4 GPUs worked: {held}. It is not stopped for that" in text
    assert "`/gpu request 1 x A100-80GB`" in text
    assert buttons(told) == ["Release now", "Details"]


async def test_where_nothing_is_known_of_what_is_held_only_what_pods_hold_is_said(world: World) -> None:
    lease = await world.running(await world.ask())
    world.clock.moved += timedelta(hours=2)
    now = world.clock()
    since = now - HOUR
    part = Evidence(
        Verdict.UNKNOWN, since, now, gpus=4, idle_gpus=3, unheld=3, unheld_since=since, problem="no samples"
    )
    await world.move(lease, idling.metered, part, IdleTerms(), now)
    told = visible_text(await world.slack.person("requester").wait_for_message("*3 of 4 GPUs idle:*"))
    held = f"\n1 of 4 promised GPUs held by any pod since {local(since, BERLIN)}; what these do is unknown."
    assert f"{held} It is not stopped for that" in told
    assert "worked" not in told
