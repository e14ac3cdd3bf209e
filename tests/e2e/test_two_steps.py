"""A two-step approval in a browser: the lead is away and somebody stands in, finance does not answer and it escalates.

Hours are seconds here. The pictures go to tests/out/screenshots, as those of the whole story.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from lessor.sandbox.demo_evidence import opened
from tests.browser import bring_into_view, opened_page
from tests.e2e.people import LATER, SOON, be, command
from tests.e2e.running import Running, demo_policy, running
from tests.e2e.test_story import LEASE, TALL, WINDOW, picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

PURPOSE = "Pre-train the translation model"
TIMINGS = {"remind_after": "4s", "escalate_after": "12s", "lapse_after": "5min"}
CARDS = "channel-gpu-approvals"


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Running]:
    """A sandbox in which those who decide have seconds."""
    data = tmp_path / "data"
    demo_policy(data, TIMINGS)
    with running(data) as started:
        yield started


async def test_a_stand_in_and_an_escalation_approve_what_a_click_is_not_enough_for(
    hurried: Running, browser: Browser
) -> None:
    async with opened_page(browser, f"{hurried.slack_url}/#manager/C0GPUREQUESTS", viewport=WINDOW) as slack:
        await _go_away(slack)
        lease_id = await _ask(slack)
        await _stand_in(slack, lease_id)
        await _escalate(slack, lease_id)
        await _approve_as_admin(slack, lease_id)
    async with opened(hurried) as evidence:
        lease = await evidence.lease_when(lease_id, lambda lease: lease.decided_at is not None)
        votes = [(step.name, vote.by, vote.stood_in) for step in lease.steps for vote in step.votes]
        assert votes == [("lead", "U0MANAGER2", "U0MANAGER"), ("group:finance", "U0ADMIN", "")]
        happened = await evidence.happened(lease_id)
        assert {"reminded", "escalated"} <= set(happened)
        assert (happened.count("approval-given"), happened.count("approved")) == (2, 1)
    async with opened_page(browser, hurried.temporal_ui_url, ours=False, viewport=TALL) as temporal:
        await _look_at_temporal(temporal, hurried, lease_id)


async def _go_away(page: Page) -> None:
    await command(page, "/gpu away until tomorrow 18:00 @manager-2")
    told = _message(page, "Away until")
    await expect(told).to_contain_text("@Second manager decides for you until then", timeout=SOON)


async def _ask(page: Page) -> str:
    await be(page, "requester")
    await command(page, "/gpu request")
    await page.get_by_test_id("wish-model").select_option(label="H100 (80 GB)", timeout=SOON)
    await page.get_by_test_id("wish-count").fill("8")
    await page.get_by_test_id("wish-end").fill("4min")
    await page.get_by_test_id("wish-purpose").fill(PURPOSE)
    await page.get_by_test_id("modal-submit").click()
    told = page.get_by_test_id("modal")
    await expect(told).to_contain_text("Recorded:", timeout=SOON)
    found = LEASE.search(await told.inner_text())
    assert found
    await page.get_by_test_id("modal-close").click()
    return found[0]


async def _stand_in(page: Page, lease_id: str) -> None:
    """The lead's stand-in decides; a click is not enough at this price, and the wrong words are not either."""
    await be(page, "manager-2")
    await page.get_by_test_id(CARDS).click()
    card = _message(page, PURPOSE)
    await expect(card).to_contain_text("@Second manager (for @Manager, who is away", timeout=SOON)
    await expect(card.get_by_test_id("approve")).to_have_count(0)
    await picture(page, "two-steps-stand-in")
    await card.get_by_test_id("approve-typed").click()
    await page.get_by_test_id("confirmation").fill("yes")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("error-confirmation")).to_be_visible(timeout=SOON)
    await page.get_by_test_id("confirmation").fill(lease_id)
    await picture(page, "two-steps-typed")
    await _submit(page)
    await expect(card).to_contain_text("@Second manager for @Manager", timeout=SOON)


async def _escalate(page: Page, lease_id: str) -> None:
    """Finance is asked and reminded, and does nothing."""
    await be(page, "finance")
    await page.get_by_test_id(CARDS).click()
    card = _message(page, PURPOSE)
    await expect(card).to_contain_text("Can decide now: @Finance", timeout=SOON)
    await expect(card).to_contain_text("also open to admins", timeout=LATER)
    await expect(card).to_contain_text("@Admin")
    await card.get_by_test_id("replies").click()
    thread = page.get_by_test_id("thread-messages")
    await expect(thread).to_contain_text(f"Reminder: {lease_id}", timeout=SOON)
    await expect(thread).to_contain_text("nobody decided in time, so it is open to admins as well", timeout=SOON)
    await bring_into_view(thread.get_by_test_id("message").last)
    await picture(page, "two-steps-escalated")
    await page.get_by_test_id("thread-close").click()


async def _approve_as_admin(page: Page, lease_id: str) -> None:
    await be(page, "admin")
    await page.get_by_test_id("app").click()
    await _message(page, PURPOSE).get_by_test_id("approve-typed").click(timeout=SOON)
    await page.get_by_test_id("confirmation").fill(lease_id)
    await _submit(page)
    await page.get_by_test_id(CARDS).click()
    card = _message(page, PURPOSE)
    await expect(card).to_contain_text("Approved by @Admin", timeout=SOON)
    await expect(card.get_by_test_id("approve-typed")).to_have_count(0)
    await be(page, "requester")
    await page.get_by_test_id("app").click()
    await expect(_message(page, re.compile(rf"Approved:.*{lease_id}", re.DOTALL))).to_be_visible(timeout=SOON)


async def _look_at_temporal(page: Page, sandbox: Running, lease_id: str) -> None:
    await page.goto(f"{sandbox.temporal_ui_url}/namespaces/default/workflows/{lease_id}")
    await page.get_by_role("tab", name="User Metadata").click(timeout=LATER)
    details = page.frame_locator("iframe").last
    for told in ("U0MANAGER2, standing in for U0MANAGER,", "escalated to admins: nobody decided in time"):
        await expect(details.get_by_text(told).last).to_be_visible(timeout=LATER)
    await picture(page, "two-steps-temporal")


async def _submit(page: Page) -> None:
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_contain_text("Done", timeout=SOON)
    await page.get_by_test_id("modal-close").click()


def _message(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.get_by_test_id("messages").get_by_test_id("message").filter(has_text=text).last
