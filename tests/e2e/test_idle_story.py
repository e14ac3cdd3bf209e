"""An idle lease in a browser: warned with its figures as a picture, left alone on its owner's word, warned anew, then
stopped with its disks kept, and started again. And a stop that an administrator's brake holds back.

Minutes are seconds here. The pictures go to tests/out/screenshots, as those of the whole story.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from lessor.domain.lease import State
from lessor.sandbox.demo_evidence import Evidence, opened
from tests.browser import bring_into_view, opened_page
from tests.e2e.people import LATER, SOON, be, command
from tests.e2e.running import Running, demo_policy, running
from tests.e2e.test_story import LEASE, WINDOW, picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

PURPOSE = "Serve the new model to the testers"
TALL = {"width": 1280, "height": 1240}


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Running]:
    """A sandbox in which a snooze ends after seconds."""
    data = tmp_path / "data"
    demo_policy(data, idle={"spare": "0s\n  snooze_most: 15s"})
    with running(data) as started:
        yield started


async def test_an_idle_lease_is_warned_left_alone_stopped_and_started_again(hurried: Running, browser: Browser) -> None:
    async with (
        opened(hurried) as evidence,
        opened_page(browser, f"{hurried.slack_url}/#requester/C0GPUREQUESTS", viewport=TALL) as slack,
    ):
        lease_id = await _ask(slack)
        instance = await _running(evidence, lease_id)
        await _let_idle(browser, hurried, lease_id)
        await _warned(slack, lease_id)
        await _say_it_is_used(slack, evidence, lease_id)
        await _stopped(slack, evidence, lease_id)
        assert (await evidence.instance_when(lease_id, "stopped"))["id"] == instance["id"]
        disks = [one["state"] for one in await evidence.leftovers(lease_id) if one["kind"] == "volume"]
        assert disks == ["in-use"]
        await _start_again(slack, evidence, lease_id, instance["id"])
        happened = await evidence.happened(lease_id)
        assert [one for one in happened if one in STORY] == STORY


STORY = [
    "idle-warned",
    "snoozed",
    "idle-warned",
    "idle-final-warned",
    "idle-stopped",
    "start-asked",
]
"""What has to be on record, in this order."""


async def test_a_brake_holds_the_stop_back(hurried: Running, browser: Browser) -> None:
    async with (
        opened(hurried) as evidence,
        opened_page(browser, f"{hurried.slack_url}/#requester/C0GPUREQUESTS", viewport=WINDOW) as slack,
    ):
        lease_id = await _ask(slack)
        instance = await _running(evidence, lease_id)
        await _brake(slack, "on the cluster moves today", "on")
        await evidence.gpus_do(instance["id"], use="idle")
        await evidence.lease_when(lease_id, lambda lease: bool(lease.idle and lease.idle.held_back))
        await be(slack, "requester")
        await slack.get_by_test_id("app").click()
        told = _message(slack, re.compile(rf"Not stopped:\s*{lease_id}"))
        await expect(told).to_contain_text("the cluster moves today", timeout=SOON)
        await bring_into_view(told)
        await picture(slack, "idle-held-back")
        assert (await evidence.lease_when(lease_id, lambda _: True)).state is State.ACTIVE
        assert [one["state"] for one in await evidence.instances(lease_id)] == ["running"]
        await _brake(slack, "off the move is over", "off")
        assert await evidence.happened("fleet") == ["brake-on", "brake-off"]


async def _ask(page: Page) -> str:
    await command(page, "/gpu request")
    await page.get_by_test_id("wish-model").select_option(label="V100-16GB (16 GB)", timeout=SOON)
    await page.get_by_test_id("wish-end").fill("1h")
    await page.get_by_test_id("wish-purpose").fill(PURPOSE)
    await page.get_by_test_id("modal-submit").click()
    told = page.get_by_test_id("modal")
    await expect(told).to_contain_text("Recorded:", timeout=SOON)
    found = LEASE.search(await told.inner_text())
    assert found
    await page.get_by_test_id("modal-close").click()
    return found[0]


async def _running(evidence: Evidence, lease_id: str) -> dict[str, Any]:
    await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
    return await evidence.instance_when(lease_id, "running")


async def _let_idle(browser: Browser, sandbox: Running, lease_id: str) -> None:
    async with opened_page(browser, sandbox.gpus_url, viewport=WINDOW) as gpus:
        row = gpus.get_by_role("row").filter(has_text=lease_id)
        await row.get_by_role("button", name="Idle").click(timeout=SOON)
        await expect(row.get_by_role("img", name="engine 0 %, memory 0 %")).to_have_count(1, timeout=SOON)
        await expect(gpus.locator("#asked")).to_contain_text("series", timeout=SOON)
        await picture(gpus, "idle-gpus")


async def _warned(page: Page, lease_id: str) -> None:
    await page.get_by_test_id("app").click()
    card = _card(page, lease_id)
    await expect(card).to_contain_text("does nothing", timeout=LATER)
    await expect(card).to_contain_text("Last activity")
    await expect(card).to_contain_text("Policy in force")
    chart = card.locator(".image img")
    await expect(chart).to_be_visible(timeout=SOON)
    assert await chart.evaluate("async node => { await node.decode(); return node.naturalWidth }") > 300
    for button in ("release", "stop", "snooze", "dispute"):
        await expect(card.get_by_test_id(button)).to_be_visible()
    await bring_into_view(card)
    await picture(page, "idle-warning")


async def _say_it_is_used(page: Page, evidence: Evidence, lease_id: str) -> None:
    await _card(page, lease_id).get_by_test_id("snooze").click()
    await expect(page.get_by_test_id("modal-title")).to_have_text("I am using it", timeout=SOON)
    await page.get_by_test_id("reason").fill("The testers begin in half an hour")
    await picture(page, "idle-using-it")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Done", timeout=SOON)
    await page.get_by_test_id("modal-close").click()
    settled = _message(page, re.compile(rf"{lease_id}.*left alone until", re.DOTALL))
    await expect(settled).to_contain_text("The testers begin in half an hour", timeout=SOON)
    await expect(settled.get_by_test_id("snooze")).to_have_count(0)
    lease = await evidence.lease_when(lease_id, lambda lease: lease.snooze is not None)
    assert lease.snooze
    assert lease.snooze.reason == "The testers begin in half an hour"
    assert 0 < (lease.snooze.until - lease.snooze.at).total_seconds() <= 15


async def _stopped(page: Page, evidence: Evidence, lease_id: str) -> None:
    final = _message(page, re.compile(rf"Last warning:\s*{lease_id}"))
    await expect(final).to_contain_text("is stopped", timeout=LATER)
    told = _message(page, re.compile(rf"Stopped for doing nothing:\s*{lease_id}"))
    await expect(told).to_contain_text("Its disks are kept", timeout=LATER)
    await expect(told.get_by_test_id("start")).to_be_visible(timeout=SOON)
    lease = await evidence.lease_when(lease_id, lambda lease: lease.pause is not None)
    assert lease.state is State.SUSPENDED
    await bring_into_view(told)
    await picture(page, "idle-stopped")


async def _start_again(page: Page, evidence: Evidence, lease_id: str, instance_id: str) -> None:
    told = _message(page, re.compile(rf"Stopped for doing nothing:\s*{lease_id}"))
    await told.get_by_test_id("start").click()
    assert (await evidence.instance_when(lease_id, "running"))["id"] == instance_id
    await evidence.gpus_do(instance_id, use="busy")
    lease = await evidence.lease_when(lease_id, lambda lease: lease.state is State.ACTIVE)
    assert lease.pause is None
    await expect(_message(page, re.compile(rf"Running again:\s*{lease_id}"))).to_be_visible(timeout=LATER)
    await expect(page.get_by_test_id("messages").get_by_test_id("start")).to_have_count(0, timeout=SOON)
    await picture(page, "idle-started-again")


async def _brake(page: Page, what: str, state: str) -> None:
    await be(page, "admin")
    await page.get_by_test_id("channel-gpu-admins").click()
    # What is typed before the page is that of the channel is lost with the old one.
    await expect(page.get_by_role("textbox", name="Message #gpu-admins")).to_be_visible(timeout=SOON)
    await command(page, f"/gpu admin brake {what}")
    await expect(page.get_by_test_id("messages").get_by_text(f"The brake is {state}").last).to_be_visible(timeout=SOON)


def _card(page: Page, lease_id: str) -> Locator:
    """The warning that stands: the one that can be answered."""
    messages = page.get_by_test_id("messages").get_by_test_id("message")
    return messages.filter(has_text=lease_id).filter(has=page.get_by_test_id("dispute")).last


def _message(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.get_by_test_id("messages").get_by_test_id("message").filter(has_text=text).last
