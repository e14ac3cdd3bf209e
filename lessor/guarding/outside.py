"""Calls that block, each in a thread of its own and for a limited time: one that hangs holds up nothing else.

The thread of a call that takes too long goes on, and the same call is not begun again until it has come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, TypeVar

from lessor.aside import aside
from lessor.domain.request import spell

T = TypeVar("T")


class TooLongError(Exception):
    """There is no answer in time. The text says what was waited for."""


class Outside:
    """The calls that are under way, by what they do."""

    def __init__(self) -> None:
        self._busy: dict[str, Future[Any]] = {}

    async def call(self, what: str, work: Callable[[], T], within: timedelta) -> T:
        """What `work` returns or raises. Raises `TooLongError` after `within`, and while an older such call hangs."""
        older = self._busy.get(what)
        if older is not None and not older.done():
            raise TooLongError(f"{what}: an earlier try has not come back yet")
        future = aside(work, what)
        self._busy[what] = future
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait({waiting}, timeout=within.total_seconds())
        if not done:
            waiting.cancel()
            raise TooLongError(f"{what}: no answer within {spell(within)}")
        return waiting.result()
