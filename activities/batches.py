"""Many small calls of one activity: some at once, and what one raises spoils no other (law 11)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AT_ONCE = 16


async def each(
    items: Iterable[Item], call: Callable[[Item], Awaitable[Answer]]
) -> list[tuple[Item, Answer | BaseException]]:
    """`call` for every item, some at once; what one raises stands in its place."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(item: Item) -> Answer:
        async with room:
            return await call(item)

    listed = list(items)
    answers = await asyncio.gather(*(one(item) for item in listed), return_exceptions=True)
    return list(zip(listed, answers, strict=True))


def trouble(answers: Iterable[tuple[object, object]]) -> str:
    """How many calls failed, and the first words of one failure."""
    failed = [answer for _, answer in answers if isinstance(answer, Exception)]
    return f"{len(failed)} failed, such as: {str(failed[0])[:200]}" if failed else ""
