"""Calendar months as instants: the only place where budgets meet the time-zone database."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from lessor.domain.commitments import Month


def month_of(at: datetime, zone: str) -> Month:
    """The calendar month of `zone` that `at` is in; its end is the start of the next, whatever clocks do in between."""
    local = at.astimezone(ZoneInfo(zone))
    return _month(local.year, local.month, zone)


def months_from(first: datetime, last: datetime, zone: str) -> tuple[Month, ...]:
    """The months from the one that holds `first` to the one that holds `last`, in order."""
    found = [month_of(first, zone)]
    while found[-1].end <= last:
        found.append(month_of(found[-1].end, zone))
    return tuple(found)


@lru_cache(maxsize=512)
def _month(year: int, month: int, zone: str) -> Month:
    after = (year + 1, 1) if month == 12 else (year, month + 1)
    start, end = (datetime(*which, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC) for which in ((year, month), after))
    return Month(f"{year:04}-{month:02}", start, end)
