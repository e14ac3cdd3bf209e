"""Instants inside sentences: the domain writes them out in UTC, since it knows no reader; readers see their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, datetime

from lessor.when.clock import local

SPELLED = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) UTC\b")
"""As `domain.lease.minute` writes an instant, and so with its seconds."""


def retold(text: str, tell: Callable[[datetime], str], rest: Callable[[str], str] = str) -> str:
    """`text` with each instant as `tell` puts it, and everything between them through `rest`."""
    said, position = "", 0
    for match in SPELLED.finditer(text):
        at = _instant(match[1])
        if at is not None:
            said += rest(text[position : match.start()]) + tell(at)
            position = match.end()
    return said + rest(text[position:])


def in_zone(text: str, zone: str) -> str:
    """`text` with each instant as people in `zone` read it."""
    return retold(text, lambda at: local(at, zone))


def _instant(text: str) -> datetime | None:
    """What looks like an instant and is none stays as it is; so does what is none any more on a clock elsewhere."""
    try:
        at = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
    return at if MINYEAR < at.year < MAXYEAR else None
