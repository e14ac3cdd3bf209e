"""When people work, as data: a zone's offsets and the holidays are written out, so that a workflow needs no calendar.

What counts working time here reads no clock, no time-zone database and no calendar; `lessor.when` writes the data out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

DAY = timedelta(days=1)
WEEK = tuple(range(7))


@dataclass(frozen=True)
class Hours:
    """The hours of some days of the week in one zone.

    `offsets` are (since when, minutes east of UTC), oldest first; the first one holds before it as well. `days` are 0
    for Monday to 6 for Sunday; `opens` and `closes` are minutes after local midnight, `closes` up to 1,440.
    """

    zone: str
    offsets: tuple[tuple[datetime, int], ...]
    days: tuple[int, ...] = WEEK
    opens: int = 0
    closes: int = 1_440
    holidays: tuple[date, ...] = ()
