"""The dashboard in a real browser: it keeps itself current, fits a phone, and works without any script."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from lessor.domain.billing import Storage
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, State
from lessor.drawing import Drawer
from lessor.fleet import Surveying
from tests.browser import launched_browser, opened_page
from tests.builders import READY, a_place, a_request, a_story, usd
from tests.metering import running
from tests.web.serving import served
from tests.web.test_fleet import DARK, LAB, Clusters
from tests.web.world import TOKEN, World

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[1] / "out" / "screenshots"
WINDOW = {"width": 1180, "height": 900}
PHONE = {"width": 390, "height": 844}


async def a_fleet(world: World) -> str:
    """Some leases, one of which is idle and has disks; its id."""
    world.story(2, State.AWAITING_APPROVAL, purpose="evaluate the tokenizer on the new corpus")
    world.story(3, place=a_place(name="lab"))
    world.story(5, State.STOPPED, team="vision")
    world.story(6, State.WAITING_FOR_CAPACITY)
    story, events = a_story(id="gpu-00000001", request=a_request(purpose="fine-tune the ranking model"))
    disks = (Storage(READY, None, 500, usd("0.08")),)
    lease = replace(story, storage=disks, resources=running(1).resources)
    world.record(lease, *events)
    await world.idle_fleet([lease], 75)
    return lease.id


async def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


async def sees_the_evidence(page: Page) -> None:
    """The chart of a lease, and the figures that its verdict rests on, once they are opened."""
    chart = page.get_by_role("img")
    await expect(chart).to_have_js_property("complete", True)
    assert await chart.evaluate("image => image.naturalWidth") > 400
    await page.get_by_text("The figures that this rests on").click()
    await expect(page.get_by_role("row", name="Processor")).to_contain_text("20 %")
    await expect(page.get_by_role("row", name="disks")).to_contain_text("GiB-months")


async def test_people_find_what_they_look_for_and_pages_keep_themselves_current(world: World) -> None:
    drawer = Drawer()
    world.draws_with(drawer.draw)
    idle = await a_fleet(world)
    async with (
        served(world) as url,
        launched_browser() as browser,
        opened_page(browser, url, viewport=WINDOW) as page,
    ):
        await expect(page.get_by_role("heading", name="What waits for whom")).to_be_visible()
        await expect(page.get_by_role("row", name="prometheus")).to_contain_text("answers")
        await picture(page, "dashboard-overview")
        # What happens meanwhile comes by itself.
        world.ledger.set_brake(Brake(True, "U0ADMIN", world.now, "the racks move"))
        world.story(7)
        await expect(page.get_by_role("alert")).to_contain_text("The brake is on")
        await expect(page.locator("#numbers div").first).to_contain_text("6")
        await page.get_by_role("link", name="Leases").click()
        await expect(page.locator("#leases tbody tr")).to_have_count(6)
        await page.get_by_label("State").select_option("stopped")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("#leases tbody tr")).to_have_count(1)
        await page.get_by_role("link", name="Show all").click()
        await picture(page, "dashboard-leases")
        await page.get_by_role("link", name=idle).click()
        await sees_the_evidence(page)
        # What was opened stays open when the page has become another.
        await page.locator("h1").click()
        lease = world.ledger.lease(idle)
        assert lease
        changed = replace(lease, problem="the disk is full", revision=lease.revision + 1)
        world.record(changed, Event("note", world.now, "lessor", {}))
        world.now += timedelta(minutes=1)
        await expect(page.get_by_role("alert")).to_contain_text("the disk is full")
        await expect(page.get_by_role("row", name="Processor")).to_be_visible()
        await picture(page, "dashboard-lease")
    await drawer.close()


async def test_it_fits_a_phone_in_the_dark_and_needs_no_script(world: World) -> None:
    idle = await a_fleet(world)
    world.rate = usd("1.80")
    world.fleet = Surveying(world.ledger, {"kubernetes": Clusters(world)}, {}, lambda: [LAB, DARK], lambda: world.now)
    async with served(world) as url, launched_browser() as browser:
        settings = {"viewport": PHONE, "color_scheme": "dark", "java_script_enabled": False, "is_mobile": True}
        async with opened_page(browser, url, **settings) as page:
            for path in ("", "/fleet", "/leases", f"/leases/{idle}", "/api"):
                await page.goto(f"{url}{path}")
                await expect(page.get_by_role("heading", level=1)).to_be_visible()
                width = (await page.locator("main").bounding_box() or {})["width"]
                assert width <= PHONE["width"], path
            await page.goto(f"{url}/leases")
            await expect(page.get_by_role("link", name=idle)).to_be_visible()
            await picture(page, "dashboard-phone")
        async with opened_page(browser, f"{url}/fleet", viewport=WINDOW) as page:
            await expect(page.get_by_role("heading", name="dark")).to_be_visible()
            await picture(page, "dashboard-fleet")


async def test_people_sign_in_with_the_token_and_stay_signed_in(world: World) -> None:
    world.token = TOKEN
    async with (
        served(world) as url,
        launched_browser() as browser,
        opened_page(browser, f"{url}/leases", viewport=WINDOW) as page,
    ):
        await page.get_by_label("Token").fill("not-the-token-at-all")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("That is not the token.")
        await page.get_by_label("Token").fill(TOKEN)
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"{url}/leases")
        await page.get_by_role("link", name="Overview").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Token")).to_be_visible()
