"""What people do in the Slack sandbox's page, in every story."""

from __future__ import annotations

from playwright.async_api import Page, expect

SOON, LATER = 30_000, 90_000
"""How long a page may take, in milliseconds: to show something, and to have done something."""


async def be(page: Page, who: str) -> None:
    """Be somebody else, once the page is theirs: what is typed before that is lost with the old page."""
    await page.get_by_test_id(f"be-{who}").click()
    await expect(page.get_by_test_id(f"be-{who}")).to_have_attribute("aria-checked", "true", timeout=SOON)


async def command(page: Page, text: str) -> None:
    box = page.get_by_test_id("message-box")
    await box.fill(text)
    await box.press("Enter")
