"""One person's clock: what their wall time means as an instant, also where clocks jump, and how instants read there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)


@dataclass(frozen=True)
class Reading:
    """What a wall time means: `at`, and `second` where clocks show it twice; `skipped` where they never show it."""

    at: datetime
    second: datetime | None = None
    skipped: bool = False


@dataclass(frozen=True)
class Clock:
    """The instant `now` as somebody in `zone` sees it."""

    now: datetime
    zone: tzinfo

    @property
    def wall(self) -> datetime:
        """The local time, without zone."""
        return self.now.astimezone(self.zone).replace(tzinfo=None)

    @property
    def today(self) -> date:
        return self.wall.date()

    def read(self, wall: datetime) -> Reading:
        """A skipped time moves on by the jump; of a doubled time the first is meant (F23)."""
        first = wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        second = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
        if first.astimezone(self.zone).replace(tzinfo=None) != wall:
            return Reading(first, skipped=True)
        return Reading(first, second if second != first else None)

    def moved(self, zone: tzinfo) -> Clock:
        """The same instant on a clock elsewhere."""
        return replace(self, zone=zone)


def zone_of(name: str) -> ZoneInfo | None:
    """The zone with this IANA name, whatever its letter case; `None` if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = _zones().get(name.casefold())
        return ZoneInfo(known) if known else None


def local(at: datetime, zone: str) -> str:
    """`Thursday 24 December 2026 18:00 CET`: an instant as people in `zone` read it; in UTC if the zone is unknown."""
    there = at.astimezone(zone_of(zone) or UTC)
    day = f"{WEEKDAYS[there.weekday()].title()} {there.day} {MONTHS[there.month - 1].title()} {there.year}"
    return f"{day} {clock_time(there)} {zone_name(there)}"


def clock_time(there: datetime) -> str:
    """`18:00`, with seconds only where there are some."""
    return f"{there:%H:%M:%S}" if there.second else f"{there:%H:%M}"


def zone_name(there: datetime) -> str:
    """`CET`, or `UTC-03` where the zone has no letters of its own."""
    name = there.tzname() or "UTC"
    return name if name[0].isalpha() else f"UTC{name}"


def add_months(day: date, months: int) -> date:
    """The same day of a later month, or its last day if it is shorter (F25). Raises ValueError after year 9999."""
    total = day.year * 12 + day.month - 1 + months
    first = date(total // 12, total % 12 + 1, 1)
    return first.replace(day=min(day.day, last_of_month(first).day))


def last_of_month(day: date) -> date:
    """The last day of the month of `day`."""
    later = day.replace(day=28) + timedelta(days=4)
    return later - timedelta(days=later.day)


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones()}
