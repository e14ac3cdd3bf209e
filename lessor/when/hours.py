"""Writes working hours out as data: the only place where they meet the time-zone database and the holidays.

Workflows and the domain count with what is written here, so that a replay does not depend on the machine's calendar.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from lessor.domain.worktime import DAY, MINUTES, WEEK, Hours

BEFORE = timedelta(days=1)
AHEAD = timedelta(days=120)


@dataclass(frozen=True)
class Week:
    """When somebody works, or something runs: days 0 (Monday) to 6, minutes after local midnight.

    `country` is one whose public holidays are free, such as `DE` or `US-CA` with a part of it; `holidays` are more
    free days.
    """

    days: tuple[int, ...] = WEEK
    opens: int = 0
    closes: int = MINUTES
    country: str = ""
    holidays: tuple[date, ...] = ()


def written(week: Week, zone: str, now: datetime, ahead: timedelta = AHEAD) -> Hours:
    """`week` in `zone` with its clock changes and holidays from a day before `now` until `ahead`.

    After that the last offset holds on and no day is free. Raises `ZoneInfoNotFoundError` for an unknown zone, and
    `ValueError` for hours that never open or an unknown country.
    """
    first = datetime.combine((now - BEFORE).astimezone(UTC).date(), time(), UTC)
    return _written(week, zone, first, first + ahead + 2 * DAY)


def known_country(country: str) -> bool:
    """Whether the holidays of this country (and part of it) are known."""
    try:
        _public(country, 2026, 2026)
    except (NotImplementedError, KeyError, ValueError):
        return False
    return True


@lru_cache(maxsize=4_096)
def _written(week: Week, zone: str, first: datetime, last: datetime) -> Hours:
    """Cached by day: a directory asks for the same few zones all day long."""
    free = {*week.holidays}
    if week.country:
        free |= set(_public(week.country, first.year, last.year))
    holidays = tuple(sorted(day for day in free if first.date() <= day <= last.date() + DAY))
    return Hours(zone, _offsets(ZoneInfo(zone), first, last), week.days, week.opens, week.closes, holidays)


def _offsets(zone: ZoneInfo, first: datetime, last: datetime) -> tuple[tuple[datetime, int], ...]:
    """The offset at `first`, and each later one with the minute from which it holds."""
    found = [(first, _minutes(zone, first))]
    at = first
    while at < last:
        after = at + DAY
        if _minutes(zone, after) != found[-1][1]:
            found.append((_changed_at(zone, at, after), _minutes(zone, after)))
        at = after
    return tuple(found)


def _changed_at(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first minute with the offset of `after`."""
    new, minute = _minutes(zone, after), timedelta(minutes=1)
    while after - before > minute:
        middle = before + (after - before) // 2 // minute * minute
        if _minutes(zone, middle) == new:
            after = middle
        else:
            before = middle
    return after


def _minutes(zone: ZoneInfo, at: datetime) -> int:
    offset = at.astimezone(zone).utcoffset() or timedelta()
    return round(offset / timedelta(minutes=1))


@lru_cache(maxsize=256)
def _public(country: str, first: int, last: int) -> tuple[date, ...]:
    # Loading the library takes a fifth of a second, which a person on the command line need not wait for.
    import holidays

    code, _, part = country.partition("-")
    found = holidays.country_holidays(code, subdiv=part or None, years=range(first, last + 1))
    return tuple(sorted(found))
