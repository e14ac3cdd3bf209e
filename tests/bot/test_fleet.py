"""The fleet in Slack: every place with its GPUs and leases, page by page, and what could not be read."""

from __future__ import annotations

from bot.blocks.message import BLOCKS_MOST, WEIGHT_MOST, weight
from bot.fleet import LEASES_PAGE
from lessor.domain.pools import Holder, Pool
from lessor.ports import RetryableError
from lessor.sandbox.slack import buttons, visible_text
from tests.bot.lab import LAB, Cluster, in_the_lab, told
from tests.bot.world import World


async def test_the_fleet_shows_every_place_its_gpus_and_its_leases(lab: World, cluster: Cluster) -> None:
    cluster.holders.append(Holder(LAB, "default/<pod>", "A100-80GB", 2, who="somebody", flag="Pending"))
    cluster.notes = ("a quota in ns-1 is not enforced",)
    lease = await lab.running(await in_the_lab(lab, purpose="rank <!channel> them"))
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    message = await requester.wait_for_ephemeral("*Fleet*")
    text = visible_text(message)
    assert (
        "• A100-80GB: free *5* of 16, at most 4 on one node; leased 2, without a lease 2, unhealthy 2, "
        "unaccounted for 5, waiting in the queue 3"
    ) in text
    assert "*The <lab>* (kubernetes)" in text
    assert "*AWS in the US* (aws)" in text
    assert "a quota in ns-1 is not enforced" in text
    assert "`default/<pod>` in lab: 2 x A100-80GB, of somebody; Pending" in text
    assert f"`{lease.id}` namespace with 2 x A100-80GB in lab, <@U0REQUESTER>, team research" in text
    assert "*not metered*, ends" in text
    assert "> rank <!channel> them" in text
    assert "Details" in buttons(message)


async def test_a_cloud_in_which_nothing_is_leased_says_so(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet us")
    assert "• machines are made on demand, and none is leased now" in await told(requester, "*Fleet:* us")


async def test_what_a_cloud_has_is_on_demand_and_never_zero(lab: World) -> None:
    lease = await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet us")
    text = await told(requester, "*Fleet:* us")
    assert "• A100-80GB: leased *2*, without a lease not looked for, total and free on demand, unaccounted for" in text
    assert f"`{lease.id}` 2 x A100-80GB in us" in text
    assert "The <lab>" not in text


async def test_a_place_that_does_not_answer_spoils_no_other(lab: World, cluster: Cluster) -> None:
    cluster.fail = RetryableError("lab: 403 Forbidden, the <ClusterRole> is missing")
    await lab.running(await in_the_lab(lab))
    await lab.running(await lab.ask())
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    text = await told(requester, "*Fleet*")
    assert (
        "free *unknown* of unknown; leased 2, without a lease unknown, unhealthy unknown, unaccounted for unknown"
        in text
    )
    assert "*Could not be read whole:* lab: 403 Forbidden, the <ClusterRole> is missing. What was not read" in text
    assert "leased *2*, without a lease not looked for" in text
    assert "*Leases:* 2" in text


async def test_what_is_no_place_and_no_model_is_told_with_what_there_is(lab: World) -> None:
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet <mars>")
    await requester.wait_for_ephemeral("'<mars>' is no place and no GPU model here; places: lab, us; models: A100-80GB")


async def test_leases_come_page_by_page_and_none_twice(lab: World) -> None:
    ids = sorted(
        [(await lab.running(await in_the_lab(lab, purpose=f"purpose {n}"))).id for n in range(LEASES_PAGE + 3)]
    )
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    first = await requester.wait_for_ephemeral("*Fleet*")
    shown = [one for one in ids if f"`{one}`" in visible_text(first)]
    assert (shown, buttons(first)[-1]) == (ids[:LEASES_PAGE], "Next page")
    await requester.click(first, "fleet-page")
    second = await requester.wait_for_ephemeral(lambda message: "more leases" in visible_text(message))
    assert [one for one in ids if f"`{one}`" in visible_text(second)] == ids[LEASES_PAGE:]
    assert "Next page" not in buttons(second)


async def test_a_large_fleet_stays_within_slacks_limits(lab: World, cluster: Cluster) -> None:
    cluster.pools = [Pool(LAB, f"MODEL-{'<x>' * 12}-{n}", total=n, free=n, unhealthy=0) for n in range(60)]
    cluster.holders = [Holder(LAB, f"{'<n>' * 80}/{n}", "MODEL", 1, flag="&" * 300) for n in range(40)]
    await lab.running(await in_the_lab(lab, purpose="&" * 8_000))
    requester = lab.slack.person("requester")
    await requester.command("/gpu", "fleet")
    message = await requester.wait_for_ephemeral("*Fleet*")
    assert len(message["blocks"]) <= BLOCKS_MOST
    assert weight(message["blocks"]) <= WEIGHT_MOST
    text = visible_text(message)
    assert "and 30 more without a lease" in text
