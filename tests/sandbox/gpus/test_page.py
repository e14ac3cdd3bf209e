"""The page of the GPUs in a real browser: what happens is seen, and set by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from lessor.sandbox.gpus import Answers, Use
from lessor.sandbox.gpus.doing import Exporter
from lessor.sandbox.gpus.server import listening
from tests.browser import launched_browser, opened_page
from tests.sandbox.gpus.fleet import EIGHT, FOUR, Stage

pytestmark = pytest.mark.browser


@pytest_asyncio.fixture
async def shown() -> AsyncIterator[tuple[Stage, Page]]:
    stage = Stage(FOUR, EIGHT)
    async with listening(stage.simulation) as url, launched_browser() as browser, opened_page(browser, url) as page:
        yield stage, page


def machine(page: Page, machine_id: str) -> Locator:
    return page.locator(f'[data-machine="{machine_id}"]')


async def test_a_machine_is_seen_and_let_idle(shown: tuple[Stage, Page]) -> None:
    stage, page = shown
    row = machine(page, FOUR.id)
    await expect(row).to_contain_text("gpu-7k3qxa2m")
    await expect(row).to_contain_text("g6.12xlarge, 4 × L4")
    await expect(row.get_by_role("img", name="engine 88 %, memory 82 %")).to_have_count(4)
    await expect(page.locator("#figure-working")).to_have_text("12")
    await row.get_by_role("button", name="Idle").click()
    await expect(row.get_by_role("img", name="engine 0 %, memory 0 %")).to_have_count(4)
    await expect(row.get_by_role("button", name="Idle")).to_have_attribute("aria-pressed", "true")
    await expect(page.locator("#figure-working")).to_have_text("8")
    assert stage.simulation.doing(FOUR.id).use is Use.IDLE
    assert stage.simulation.doing(EIGHT.id).use is Use.BUSY


async def test_some_gpus_take_part_and_mig_is_switched(shown: tuple[Stage, Page]) -> None:
    stage, page = shown
    row = machine(page, EIGHT.id)
    number = row.get_by_label("GPUs that take part, of 8")
    # It takes effect as it is typed, and whoever types it is not disturbed.
    await number.fill("1")
    await expect(row.get_by_role("img", name="engine 0 %, memory 0 %")).to_have_count(7)
    await expect(number).to_be_focused()
    await number.fill("")
    await expect(number).to_have_value("")
    await number.press("3")
    await expect(row.get_by_role("img", name="engine 0 %, memory 0 %")).to_have_count(5)
    await number.fill("1")
    await expect(row.get_by_role("img", name="engine 0 %, memory 0 %")).to_have_count(7)
    await row.get_by_label("MIG slices").check()
    await expect(row.get_by_label("MIG slices")).to_be_checked()
    await page.wait_for_function("() => seen.machines[1].doing.mig")
    doing = stage.simulation.doing(EIGHT.id)
    assert (doing.working, doing.mig) == (1, True)
    await number.fill("8")
    await expect(row.get_by_role("img", name="engine 88 %")).to_have_count(8)
    assert stage.simulation.doing(EIGHT.id).working is None


async def test_what_is_measured_goes_missing_and_comes_back(shown: tuple[Stage, Page]) -> None:
    stage, page = shown
    row = machine(page, FOUR.id)
    await row.get_by_role("button", name="Exporter goes").click()
    await expect(row.get_by_role("button", name="Exporter gone")).to_have_attribute("aria-pressed", "true")
    await expect(row).to_have_class("unmeasured")
    await expect(page.locator("#figure-unmeasured")).to_have_text("1")
    assert stage.simulation.doing(FOUR.id).exporter is Exporter.GONE
    await row.get_by_role("button", name="Exporter gone").click()
    await row.get_by_role("button", name="Gap of 1 min").click()
    await expect(row.get_by_role("button", name="Gap: 60 s")).to_be_visible()
    await row.get_by_role("button", name="Gap: 60 s").click()
    await expect(row.get_by_role("button", name="Gap of 1 min")).to_be_visible()
    await row.get_by_role("button", name="Clock 10 min fast").click()
    await expect(row.get_by_role("button", name="Clock 10 min fast")).to_have_attribute("aria-pressed", "true")
    await row.get_by_role("button", name="No labels").click()
    await expect(row.get_by_role("button", name="No labels")).to_have_attribute("aria-pressed", "true")
    doing = stage.simulation.doing(FOUR.id)
    assert (doing.exporter, doing.ahead, doing.labelled) == (Exporter.UP, 600, False)
    assert doing.silent_until <= stage.clock.now


async def test_the_prometheus_is_switched_and_everything_at_once(shown: tuple[Stage, Page]) -> None:
    stage, page = shown
    tile = page.locator("#tile-down")
    await tile.get_by_role("button", name="Switch on").click()
    await expect(tile).to_have_class("tile on")
    assert stage.simulation.state()["answers"] == Answers.DOWN
    await tile.get_by_role("button", name="Switch off").click()
    await expect(tile).to_have_class("tile")
    assert stage.simulation.state()["answers"] == Answers.WELL
    await page.get_by_role("button", name="All idle").click()
    await expect(page.locator("#figure-working")).to_have_text("0")
    await page.get_by_role("button", name="All busy").click()
    await expect(page.locator("#figure-working")).to_have_text("12")
    await page.get_by_label("New machines begin").select_option(label="Memory held")
    await page.wait_for_function("() => seen.newcomers === 'held'")
    assert stage.simulation.newcomers is Use.HELD


async def test_queries_are_listed_with_their_answers(shown: tuple[Stage, Page]) -> None:
    stage, page = shown
    stage.simulation.sample()
    for query in ("DCGM_FI_DEV_GPU_UTIL\n> 0", "<script>document.title = 'taken over'</script>"):
        await page.request.post(f"{page.url}api/v1/query", form={"query": query, "time": str(stage.clock.now)})
    latest = page.locator("#asked tbody tr")
    await expect(latest).to_have_count(2)
    await expect(latest.nth(0)).to_contain_text("bad_data")
    await expect(latest.nth(0)).to_contain_text("<script>document.title = 'taken over'</script>")
    await expect(latest.nth(1)).to_contain_text("12 series")
    await latest.nth(1).locator("summary").click()
    await expect(latest.nth(1).locator("pre")).to_have_text("DCGM_FI_DEV_GPU_UTIL\n> 0")
    await expect(page).to_have_title("Simulated GPUs")


async def test_without_machines_it_says_how_to_get_one() -> None:
    stage = Stage()
    async with listening(stage.simulation) as url, launched_browser() as browser, opened_page(browser, url) as page:
        await expect(page.locator("#machines")).to_contain_text("Nothing with GPUs runs. Ask for some in Slack")
