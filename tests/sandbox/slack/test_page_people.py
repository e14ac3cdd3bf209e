"""The page in a real browser: what stands under a card, and what is set for people there."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import RunningSandbox
from tests.sandbox.slack.rehearsal import button

pytestmark = pytest.mark.browser


async def test_what_the_app_adds_to_a_thread_is_read_under_its_card(page: Page, slack: RunningSandbox) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    card = await api.chat_postMessage(channel="C0GPUREQUESTS", text="A card")
    await api.chat_postMessage(channel="C0GPUREQUESTS", text="Why eight?", thread_ts=card["ts"])
    await expect(page.get_by_test_id("message")).to_have_count(1)
    await page.get_by_test_id("replies").click()
    thread = page.get_by_test_id("thread-messages").get_by_test_id("message")
    await expect(thread).to_have_count(2)
    await expect(thread.last).to_contain_text("Why eight?")
    buttons = [{"type": "actions", "elements": [button("reply", "Answer", value="gpu-1")]}]
    await api.chat_postMessage(channel="C0GPUREQUESTS", text="Second", blocks=buttons, thread_ts=card["ts"])
    await expect(thread.last.get_by_test_id("reply")).to_be_visible()
    await expect(page.get_by_test_id("replies")).to_have_text("2 replies")


async def test_a_status_is_set_for_somebody_in_their_own_zone_and_cleared(page: Page, slack: RunningSandbox) -> None:
    await page.get_by_test_id("account-manager").click()
    await page.get_by_test_id("status-text").select_option(label="Vacationing")
    await page.get_by_test_id("status-until").fill("2099-07-01T18:00")
    await page.get_by_test_id("status-set").click()
    await expect(page.get_by_test_id("account")).to_be_hidden()
    shown = page.get_by_test_id("be-manager").locator(".status")
    await expect(shown).to_have_text("🌴")
    await expect(shown).to_have_attribute("title", "Vacationing until Jul 2 12:00 AM GMT+2")
    manager = slack.core.workspace.person("manager")
    assert manager is not None
    assert (manager.status, manager.status_emoji) == ("Vacationing", ":palm_tree:")
    assert manager.status_expiration == 4_086_626_400
    await page.get_by_test_id("account-manager").click()
    await expect(page.get_by_test_id("account")).to_contain_text("Now: Vacationing until Jul 1 6:00 PM EDT.")
    await page.get_by_test_id("status-clear").click()
    await expect(shown).to_have_count(0)


async def test_an_account_is_deactivated_and_comes_back(page: Page, slack: RunningSandbox) -> None:
    await page.get_by_test_id("account-manager").click()
    await page.get_by_test_id("account-active").click()
    await expect(page.get_by_test_id("be-manager")).to_be_disabled()
    await expect(page.get_by_test_id("be-manager")).to_contain_text("deactivated")
    await expect(page.get_by_test_id("direct-Manager")).to_have_count(0)
    await page.get_by_test_id("account-manager").click()
    await page.get_by_test_id("account-active").click()
    await expect(page.get_by_test_id("be-manager")).to_be_enabled()
    await page.get_by_test_id("account-requester").click()
    await page.get_by_test_id("account-active").click()
    await expect(page.get_by_test_id("be-manager")).to_have_attribute("aria-checked", "true")
    await slack.change_person("manager", deleted=True)
    await expect(page.get_by_test_id("be-manager-2")).to_have_attribute("aria-checked", "true")
    await expect(page.get_by_test_id("be-requester")).to_be_disabled()


async def test_the_row_of_somebody_deactivated_stays_inside_its_box(page: Page, slack: RunningSandbox) -> None:
    await slack.change_person("manager-2", deleted=True)
    row = page.get_by_test_id("be-manager-2")
    await expect(row).to_contain_text("deactivated")
    box = await page.locator(".people").bounding_box()
    more = await page.get_by_test_id("account-manager-2").bounding_box()
    assert box is not None
    assert more is not None
    assert more["x"] + more["width"] <= box["x"] + box["width"]
