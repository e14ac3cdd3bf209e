"""The page in a real browser: what exists is seen, and a failure is switched on and off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from lessor.sandbox.aws.server import RunningSimulator
from tests.browser import launched_browser, opened_page

from .conftest import LEASE, error_of

Launch = Callable[..., list[dict[str, Any]]]
pytestmark = pytest.mark.browser


@pytest_asyncio.fixture
async def page(simulator: RunningSimulator) -> AsyncIterator[Page]:
    async with launched_browser() as browser, opened_page(browser, simulator.page) as opened:
        yield opened


async def test_machines_left_overs_and_calls_are_seen(page: Page, launch: Launch, ec2: Any) -> None:
    await expect(page.locator("#leftovers")).to_contain_text("Nothing exists. Nothing costs anything.")
    instance = launch(zone="us-east-1b")[0]["InstanceId"]
    row = page.locator("#instances tbody tr")
    await expect(row).to_contain_text(instance)
    await expect(row).to_contain_text("g5.xlarge")
    await expect(row).to_contain_text("us-east-1b")
    await expect(row).to_contain_text(LEASE)
    await expect(page.locator("#leftovers tbody tr")).to_have_count(3)
    await expect(page.locator("#figure-instances")).to_have_text("1")
    ec2.terminate_instances(InstanceIds=[instance])
    await expect(row).to_contain_text("terminated")
    await expect(page.locator("#leftovers")).to_contain_text("Nothing exists.")
    await expect(page.locator("#calls tbody tr").first).to_contain_text("TerminateInstances")


async def test_a_failure_is_switched_on_and_off(page: Page, launch: Launch) -> None:
    tile = page.locator("#tile-zone-full")
    await tile.get_by_label("zone").fill("us-east-1c")
    await tile.get_by_role("button", name="Switch on").click()
    await expect(tile).to_have_class("tile on")
    assert error_of(launch, zone="us-east-1c")[0] == "InsufficientInstanceCapacity"
    await expect(page.locator("#calls .state.error")).to_have_text("InsufficientInstanceCapacity")
    await tile.get_by_role("button", name="Switch off").click()
    await expect(tile).to_have_class("tile")
    assert len(launch(zone="us-east-1c")) == 1


async def test_every_switch_goes_on_and_off(page: Page) -> None:
    for tile in await page.locator(".tile").all():
        await tile.get_by_role("button", name="Switch on").click()
        await expect(tile).to_have_class("tile on")
        off = tile.get_by_role("button", name="Switch off")
        if await off.count():
            await off.click()
            await expect(tile).to_have_class("tile")
    await expect(page.locator("#problem")).to_be_hidden()


async def test_switching_one_off_leaves_the_others_on(page: Page, simulator: RunningSimulator) -> None:
    # Set from elsewhere, and on the page all the same.
    simulator.controls.refuse_capacity("p5.*", zone="us-east-1b")
    tiles = await page.locator(".tile").all()
    await expect(page.locator("#tile-zone-full")).to_have_class("tile on")
    for tile in tiles:
        on = tile.get_by_role("button", name="Switch on")
        if await on.count():
            await on.click()
        await expect(tile).to_have_class("tile on")
    await expect(page.locator(".tile.on")).to_have_count(len(tiles))
    left = len(tiles)
    for tile in tiles:
        off = tile.get_by_role("button", name="Switch off")
        if await off.count():
            await off.click()
            await expect(tile).to_have_class("tile")
            left -= 1
            await expect(page.locator(".tile.on")).to_have_count(left)
    assert left == 1
    assert simulator.controls.snapshot()["switches"]["capacity"]["limits"] == []
    assert simulator.controls.snapshot()["switches"]["faults"] == []


async def test_machines_have_accidents(page: Page, launch: Launch, simulator: RunningSimulator) -> None:
    instance = launch(spot={})[0]["InstanceId"]
    await page.get_by_role("button", name="Add disk").click()
    await expect(page.locator("#leftovers tbody tr")).to_have_count(5)
    await page.get_by_role("button", name="Interrupt").click()
    await expect(page.locator("#instances tbody tr")).to_contain_text("Server.SpotInstanceTermination")
    assert [(i["id"], i["state"]) for i in simulator.controls.instances()] == [(instance, "terminated")]
    assert [r.kind for r in simulator.controls.leftovers()] == ["volume"]


async def test_tags_are_shown_inert(page: Page, launch: Launch, simulator: RunningSimulator) -> None:
    simulator.controls.accept_any_tag_character()
    nasty = "gpu-<img src=x onerror=alert(1)>"
    launch(tags={"lessor:managed-by": "lessor", "lessor:lease": nasty})
    await expect(page.locator("#instances tbody tr")).to_contain_text(nasty)
    assert await page.locator("#instances img").count() == 0
