"""Pages administrators from a regular look at everything; what nobody heard is handed on to the next look (law 7)."""

import asyncio
from collections.abc import Iterable

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from lessor.contracts import PageInput

MOST_PAGES = 50
"""How many pages one look sends, and hands on when nobody heard them; the log has them all."""


async def page_all(wanted: Iterable[PageInput]) -> tuple[PageInput, ...]:
    """Send each once; those that nobody has heard."""
    pages = tuple({(page.alarm, page.subject): page for page in wanted}.values())[:MOST_PAGES]
    heard = await asyncio.gather(*(_heard(page) for page in pages))
    return tuple(page for page, reached in zip(pages, heard, strict=True) if not reached)


async def _heard(wanted: PageInput) -> bool:
    try:
        delivery = await calls.page(wanted)
    except FailureError as error:
        workflow.logger.error("administrators unreached about %s: %s", wanted.subject, calls.reason(error))
        return False
    if not delivery.delivered:
        workflow.logger.error("administrators unreached about %s: %s", wanted.subject, delivery.problem)
    return delivery.delivered
