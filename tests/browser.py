"""A real browser for the tests that look at pages: the first of scripts/browsers.txt that works, else Playwright's own.

Where neither exists a browser test is skipped, except in CI (`CI=true`), where nothing may be skipped: there it
fails and says what to install.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Error, Locator, Page, async_playwright, expect

LISTED = Path(__file__).parents[1] / "scripts" / "browsers.txt"
PATIENCE_MS = 30_000
log = logging.getLogger(__name__)
NOT_INSTALLED = ("Executable doesn't exist", "missing dependencies")
"""How Playwright says that; whatever else keeps a browser from starting is a failure."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.asynccontextmanager
async def launched_browser() -> AsyncIterator[Browser]:
    """A headless browser that closes with the block; skips (fails in CI) when there is none."""
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=_found(), args=ARGUMENTS)
        except Error as missing:
            if not any(words in missing.message for words in NOT_INSTALLED):
                raise
            refuse(f"no browser ({missing.message.splitlines()[0]}): apt-get install chromium, or playwright install")
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def opened_page(browser: Browser, url: str, *, ours: bool = True, **context: Any) -> AsyncIterator[Page]:
    """A page at `url` in a context of its own; a script error on a page of ours fails the test.

    One on the Temporal UI's is only told: what it asks the server for is cut off when the test goes to another page.
    """
    async with await browser.new_context(**context) as opened:
        page = await opened.new_page()
        page.set_default_timeout(PATIENCE_MS)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(url)
        yield page
        # Spelled out: outside of test files an assertion does not say what it found.
        told = f"scripts of {url} failed: {errors}"
        if ours:
            assert not errors, told
        elif errors:
            log.warning(told)


async def bring_into_view(wanted: Locator) -> None:
    """In one go: Playwright waits until an element rests, and a page that redraws replaces it meanwhile."""
    await wanted.evaluate("node => node.scrollIntoView({ block: 'nearest' })")


def refuse(reason: str) -> None:
    """Skip the running test, or in CI fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def working(programs: Sequence[str]) -> str | None:
    """The first that is there and starts; a program that is only a stub for another installation does not."""
    return next((one for one in programs if os.access(one, os.X_OK) and _starts(one)), None)


def _starts(program: str) -> bool:
    tried = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return tried.returncode == 0


@cache
def _found() -> str | None:
    return working(LISTED.read_text(encoding="utf-8").split())
