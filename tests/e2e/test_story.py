"""The whole story in a browser: the Slack page as requester and manager, then Temporal's page of the lease and AWS's.

The pictures go to tests/out/screenshots; `make screenshots` copies them into the documentation.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser import bring_into_view, opened_page
from tests.e2e.people import LATER, SOON
from tests.e2e.running import Running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

PICTURES = Path(__file__).parents[1] / "out" / "screenshots"
WINDOW = {"width": 1280, "height": 860}
TALL = {"width": 1280, "height": 1100}
LEASE = re.compile(r"gpu-[0-9a-hjkmnp-tv-z]{8}")
PURPOSE = "Fine-tune the speech model on the new recordings"


async def test_a_lease_from_the_question_to_proven_deletion(sandbox: Running, browser: Browser) -> None:
    async with opened_page(browser, f"{sandbox.slack_url}/#requester/C0GPUREQUESTS", viewport=WINDOW) as slack:
        await _ask(slack)
        lease_id = await _approve(slack)
        await _use(slack, lease_id)
        await _extend(slack, lease_id)
        await _end(slack, lease_id)
    async with opened_page(browser, sandbox.temporal_ui_url, ours=False, viewport=TALL) as temporal:
        await _look_at_temporal(temporal, sandbox, lease_id)
    async with opened_page(browser, sandbox.aws_page, viewport=WINDOW) as aws:
        await expect(aws.get_by_text(lease_id).first).to_be_visible(timeout=SOON)
        await picture(aws, "aws-simulator")


async def _ask(page: Page) -> None:
    box = page.get_by_test_id("message-box")
    await box.fill("/gpu request")
    await box.press("Enter")
    await page.get_by_test_id("wish-model").select_option(label="L4 (24 GB)", timeout=SOON)
    await page.get_by_test_id("wish-end").fill("yesterday")
    await page.get_by_test_id("wish-purpose").fill(PURPOSE)
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("error-end")).to_be_visible(timeout=SOON)
    await page.get_by_test_id("wish-end").fill("25s")
    await page.get_by_test_id("wish-end").press("Tab")
    await expect(page.get_by_test_id("block-quote")).to_contain_text("USD", timeout=SOON)
    await picture(page, "request-form")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Recorded:", timeout=SOON)
    await page.get_by_test_id("modal-close").click()


async def _approve(page: Page) -> str:
    await page.get_by_test_id("be-manager").click()
    await page.get_by_test_id("channel-gpu-approvals").click()
    card = page.get_by_test_id("message").filter(has_text=PURPOSE)
    await expect(card.get_by_test_id("approve")).to_be_visible(timeout=SOON)
    await picture(page, "approval-card")
    found = LEASE.search(await card.inner_text())
    assert found
    await card.get_by_test_id("approve").click()
    await expect(card).to_contain_text("Approved by", timeout=SOON)
    await expect(card.get_by_test_id("approve")).to_have_count(0)
    return found[0]


async def _use(page: Page, lease_id: str) -> None:
    await page.get_by_test_id("be-requester").click()
    await page.get_by_test_id("app").click()
    ready = page.get_by_test_id("message").filter(has_text=re.compile(rf"Ready:\s*{lease_id}"))
    await expect(ready).to_contain_text("aws ssm start-session", timeout=LATER)
    await picture(page, "ready")


async def _extend(page: Page, lease_id: str) -> None:
    warning = page.get_by_test_id("message").filter(has_text=re.compile(rf"{lease_id}.*ends in", re.DOTALL))
    await warning.get_by_test_id("extend").click(timeout=LATER)
    await page.get_by_test_id("end").fill("15s", timeout=SOON)
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Done", timeout=SOON)
    await page.get_by_test_id("modal-close").click()
    await expect(_told(page, "Extended:", lease_id)).to_be_visible(timeout=SOON)
    await picture(page, "extended")


async def _end(page: Page, lease_id: str) -> None:
    await expect(_told(page, "Stopped:", lease_id)).to_be_visible(timeout=LATER)
    closed = _told(page, "Closed:", lease_id)
    await expect(closed).to_contain_text("Proof of deletion", timeout=LATER)
    await bring_into_view(closed)
    await picture(page, "closed")


async def _look_at_temporal(page: Page, sandbox: Running, lease_id: str) -> None:
    await expect(page.get_by_role("link", name=lease_id).first).to_be_visible(timeout=SOON)
    await picture(page, "temporal-leases")
    await page.goto(f"{sandbox.temporal_ui_url}/namespaces/default/workflows/{lease_id}")
    await expect(page.get_by_text("Completed").first).to_be_visible(timeout=SOON)
    await expect(page.get_by_text("deletes after grace").first).to_be_visible(timeout=LATER)
    await picture(page, "temporal-timeline")
    await page.get_by_role("tab", name="User Metadata").click()
    details = page.frame_locator("iframe").last
    for word in ("asked by", "policy", "decided by", "warned", "stopped", "proof of deletion"):
        await expect(details.get_by_text(word, exact=True)).to_be_visible(timeout=LATER)
    await picture(page, "temporal-details")


def _told(page: Page, word: str, lease_id: str) -> Locator:
    return page.get_by_test_id("message").filter(has_text=re.compile(rf"{word}\s*{lease_id}"))


async def picture(page: Page, name: str) -> None:
    """Keep what the page shows now."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png")
