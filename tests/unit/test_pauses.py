"""When a lease with working hours rests: weekends, holidays and clock changes, on real calendars."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from lessor.domain import suspension
from lessor.when.hours import Week, written
from tests.unit.test_suspension import scheduled

BERLIN = Week((0, 1, 2, 3, 4), 8 * 60, 19 * 60, "DE")


def pauses(week: Week, zone: str, since: datetime, count: int) -> list[tuple[str, str]]:
    """When a lease usable at `since` is stopped and started again, in UTC."""
    lease = replace(scheduled(), schedule=written(week, zone, since))
    found, now = [], since
    for _ in range(count):
        stops = suspension.stops_next(lease, now)
        assert stops
        now = suspension.runs_again(lease, stops)
        found.append((f"{stops:%a %d %H:%M}", f"{now:%a %d %H:%M}"))
    return found


def test_a_weekend_over_which_clocks_go_back() -> None:
    thursday = datetime(2026, 10, 22, 12, tzinfo=UTC)
    assert pauses(BERLIN, "Europe/Berlin", thursday, 3) == [
        ("Thu 22 17:00", "Fri 23 06:00"),
        ("Fri 23 17:00", "Mon 26 07:00"),
        ("Mon 26 18:00", "Tue 27 07:00"),
    ]


def test_a_weekend_over_which_clocks_go_forward() -> None:
    friday = datetime(2026, 3, 6, 15, tzinfo=UTC)
    assert pauses(Week((0, 1, 2, 3, 4), 8 * 60, 19 * 60), "America/New_York", friday, 2) == [
        ("Sat 07 00:00", "Mon 09 12:00"),
        ("Mon 09 23:00", "Tue 10 12:00"),
    ]


def test_holidays_are_those_of_the_country() -> None:
    wednesday = datetime(2026, 12, 23, 12, tzinfo=UTC)
    assert pauses(BERLIN, "Europe/Berlin", wednesday, 2) == [
        ("Wed 23 18:00", "Thu 24 07:00"),
        ("Thu 24 18:00", "Mon 28 07:00"),
    ]
    closed = replace(BERLIN, holidays=(date(2026, 12, 24), date(2026, 12, 28)))
    assert pauses(closed, "Europe/Berlin", wednesday, 1) == [("Wed 23 18:00", "Tue 29 07:00")]
    assert pauses(replace(BERLIN, country="US"), "Europe/Berlin", wednesday, 3)[1:] == [
        ("Thu 24 18:00", "Mon 28 07:00"),
        ("Mon 28 18:00", "Tue 29 07:00"),
    ]
