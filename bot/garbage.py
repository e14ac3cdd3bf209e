"""When the bot searches for garbage: acknowledgements wait for a search as everything else does."""

from __future__ import annotations

import asyncio

from bot.background import Front, Workshop
from lessor.garbage import Tidying, settle


def begin_tidying(workshop: Workshop, front: Front) -> asyncio.Future[None]:
    """Call it once everything is put together. Searches on in the workshop until it is cancelled."""
    settle()
    return asyncio.ensure_future(workshop.do(Tidying(front.silent_for).keep()))
