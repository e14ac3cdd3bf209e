"""When people work, as data: a zone's offsets and the holidays are written out, so that a workflow needs no calendar.

What counts working time here reads no clock, no time-zone database and no calendar; `lessor.when` writes the data out.
`None` for hours means round the clock everywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile

DAY = timedelta(days=1)
WEEK = tuple(range(7))
MINUTES = 1_440
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Hours:
    """The hours of some days of the week in one zone.

    `offsets` are (since when, minutes east of UTC), oldest first; the first one holds before it as well. `days` are 0
    for Monday to 6 for Sunday; `opens` and `closes` are minutes after local midnight, `closes` up to 1,440. Raises
    `ValueError` for hours that never open: whoever waits for them would wait for ever.
    """

    zone: str
    offsets: tuple[tuple[datetime, int], ...]
    days: tuple[int, ...] = WEEK
    opens: int = 0
    closes: int = MINUTES
    holidays: tuple[date, ...] = ()

    def __post_init__(self) -> None:
        if not self.offsets or list(self.offsets) != sorted(self.offsets):
            raise ValueError(f"hours in {self.zone} need offsets, oldest first")
        if not self.days or not set(self.days) <= set(WEEK):
            raise ValueError(f"days {self.days} are not some of 0 (Monday) to 6 (Sunday)")
        if not 0 <= self.opens < self.closes <= MINUTES:
            raise ValueError(f"minutes {self.opens} to {self.closes} are no part of a day that opens before it closes")


def is_open(hours: Hours | None, at: datetime) -> bool:
    """Whether `at` is inside; the opening minute is, the closing one is not."""
    if hours is None:
        return True
    index = max(bisect_right(hours.offsets, at, key=lambda offset: offset[0]) - 1, 0)
    local = at.astimezone(UTC) + timedelta(minutes=hours.offsets[index][1])
    since_midnight = local - datetime.combine(local.date(), time(), UTC)
    opens, closes = timedelta(minutes=hours.opens), timedelta(minutes=hours.closes)
    return _works_on(hours, local.date()) and opens <= since_midnight < closes


def add_working(hours: Hours | None, at: datetime, length: timedelta) -> datetime:
    """When `length` of open time has gone by since `at`: an instant that is open or just closing, or `at` for none."""
    if hours is None or length <= timedelta():
        return at + max(length, timedelta())
    left = length
    for begin, end in _periods(hours, at):
        if end - begin >= left:
            return begin + left
        left -= end - begin
    return LAST


def next_open(hours: Hours | None, at: datetime) -> datetime:
    """`at` where it is open, else the next opening."""
    if hours is None:
        return at
    return next((begin for begin, _ in _periods(hours, at)), LAST)


def next_close(hours: Hours | None, at: datetime) -> datetime | None:
    """The end of the open time that `at` is in, or of the next one; `None` where it never closes."""
    if hours is None or _never_closes(hours, at):
        return None
    return next((end for _, end in _periods(hours, at)), None)


def last_open(hours: Hours | None, at: datetime) -> datetime:
    """`at` where it is open, else the last open minute before it; `at` again where there was none within a year."""
    if is_open(hours, at) or hours is None:
        return at
    for back in (2, 8, 366):
        ends = takewhile(lambda end: end <= at, (end for _, end in _periods(hours, at - back * DAY)))
        last = max(ends, default=None)
        if last is not None:
            return last - timedelta(minutes=1)
    return at


def _never_closes(hours: Hours, at: datetime) -> bool:
    whole = set(hours.days) == set(WEEK) and (hours.opens, hours.closes) == (0, MINUTES)
    return whole and not any(day >= at.date() - DAY for day in hours.holidays)


def _periods(hours: Hours, since: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Open times from `since` on, oldest first; those that touch are one, whether at midnight or a clock change."""
    pieces = _pieces(hours, since)
    begin, end = next(pieces, (LAST, LAST))
    if _never_closes(hours, begin):
        yield begin, LAST
        return
    for next_begin, next_end in pieces:
        if next_begin > end:
            yield begin, end
            begin = next_begin
        end = next_end
    yield begin, end


def _pieces(hours: Hours, since: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The open part of each local day under each offset. A day on which clocks change has a part under both."""
    begins = [FIRST, *(begin for begin, _ in hours.offsets[1:])]
    ends = [*begins[1:], LAST]
    for begin, end, (_, minutes) in zip(begins, ends, hours.offsets, strict=True):
        if end > since:
            yield from _under(hours, timedelta(minutes=minutes), max(begin, since.astimezone(UTC)), end)


def _under(hours: Hours, offset: timedelta, begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    day = (begin + offset).date()
    midnight = datetime.combine(day, time(), UTC) - offset
    while midnight < end:
        opens = max(midnight + timedelta(minutes=hours.opens), begin)
        closes = min(midnight + timedelta(minutes=hours.closes), end)
        if opens < closes and _works_on(hours, day):
            yield opens, closes
        if LAST - midnight < 3 * DAY:
            return
        day, midnight = day + DAY, midnight + DAY


def _works_on(hours: Hours, day: date) -> bool:
    return day.weekday() in hours.days and day not in hours.holidays
