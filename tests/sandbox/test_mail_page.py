"""The page of the sandbox's mail in a real browser: what arrived is listed, read as it looks and as text, and safe."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Page, expect

from lessor.contracts import Notice
from lessor.domain.people import Person
from lessor.notify import Letter, LetterWriter, Reader
from lessor.notify.envelope import addressed
from lessor.notify.signature import signed
from lessor.sandbox.mail import Postbox
from lessor.sandbox.mail.server import make_application
from tests.browser import launched_browser

pytestmark = pytest.mark.browser

NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
READER = Person("U0REQUESTER", name="requester", email="requester@example.com")


@pytest_asyncio.fixture
async def shown() -> AsyncIterator[tuple[Postbox, Page]]:
    postbox = Postbox()
    runner = web.AppRunner(make_application(postbox, "word"), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with launched_browser() as browser:
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/")
        yield postbox, page
    await runner.cleanup()


def put(postbox: Postbox, problem: str, key: str) -> None:
    values = {"alarm": "unread", "subject": "research-us", "problem": problem, "lease": None}
    letter = Letter("page", key, values)
    mail = addressed(LetterWriter("Example").write(letter, Reader(READER)), "gpu@example.com", READER, key, key, NOW)
    postbox.take_mail("gpu@example.com", (READER.email,), mail.as_bytes(), encrypted=False, user="")


async def test_a_mail_is_listed_and_read_both_ways(shown: tuple[Postbox, Page]) -> None:
    postbox, page = shown
    await expect(page.locator("#mails")).to_contain_text("No mail yet.")
    put(postbox, "<script>document.title = 'taken over'</script>", "one")
    await page.locator("#mails button").click()
    await expect(page.locator("#subject")).to_have_text("Needs a look: unread (research-us)")
    await expect(page.locator("#headers")).to_contain_text("requester@example.com")
    looks = page.frame_locator("#html").locator("body")
    await expect(looks).to_contain_text("<script>document.title = 'taken over'</script>")
    await page.get_by_role("button", name="Plain text").click()
    await expect(page.locator("#text")).to_contain_text(
        re.compile(r"^Needs a look: research-us could not be read whole several times in a row\n\n<script>")
    )
    await expect(page).to_have_title("Sandbox mail")


async def test_a_second_copy_and_a_wrong_signature_are_seen(shown: tuple[Postbox, Page]) -> None:
    postbox, page = shown
    for _ in range(2):
        put(postbox, "access denied", "one")
    await expect(page.locator("#mails tbody tr").nth(0)).to_contain_text("second copy")
    await expect(page.locator("#mails tbody tr").nth(1)).not_to_contain_text("second copy")
    body = b'{"id":"gpu-1/ready-1","type":"dev.lessor.lease.ready"}'
    postbox.take_event(signed("word", "gpu-1/ready-1", body, NOW), body, genuine=False)
    row = page.locator("#events tbody tr")
    await expect(row).to_contain_text(f"dev.lessor.lease.{Notice.READY.value}")
    await expect(row).to_contain_text("wrong")


async def test_failures_are_switched_on_and_off(shown: tuple[Postbox, Page]) -> None:
    postbox, page = shown
    tile = page.locator("#tile-greeting")
    await tile.get_by_role("button").click()
    await expect(tile.get_by_role("button")).to_have_text("Switch off")
    assert postbox.faults.greeting == "421 4.3.2 closed for maintenance"
    await expect(page.locator("#figure-faults")).to_have_text("1")
    await tile.get_by_role("button").click()
    await expect(tile.get_by_role("button")).to_have_text("Switch on")
    assert postbox.faults.greeting == ""
