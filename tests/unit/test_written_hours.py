"""Working hours written out from the zone database and the holidays, with the exact clock changes and free days."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from lessor.domain.worktime import Hours, add_working, is_open
from lessor.when.hours import Week, known_country, written
from tests.builders import OFFICE

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
LONG = timedelta(days=300)


def changes(hours: Hours) -> list[tuple[str, int]]:
    return [(f"{since:%Y-%m-%dT%H:%M}", minutes) for since, minutes in hours.offsets[1:]]


@pytest.mark.parametrize(
    ("zone", "wanted"),
    [
        ("UTC", []),
        ("Asia/Kathmandu", []),
        ("Europe/Berlin", [("2026-03-29T01:00", 120), ("2026-10-25T01:00", 60)]),
        ("America/New_York", [("2026-11-01T06:00", -300)]),
        ("America/Sao_Paulo", []),
        ("Australia/Lord_Howe", [("2026-04-04T15:00", 630), ("2026-10-03T15:30", 660)]),
        ("Africa/Casablanca", [("2026-03-22T02:00", 60)]),
    ],
)
def test_clock_changes_are_written_out_to_the_minute(zone: str, wanted: list[tuple[str, int]]) -> None:
    assert changes(written(OFFICE, zone, NOW, LONG)) == wanted


def test_what_is_written_agrees_with_the_zone_at_every_half_hour() -> None:
    for zone in ("Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kolkata"):
        hours, local = written(OFFICE, zone, NOW, LONG), ZoneInfo(zone)
        for half_hours in range(0, 300 * 48, 5):
            at = NOW + half_hours * timedelta(minutes=30)
            wall = at.astimezone(local)
            assert is_open(hours, at) == (wall.weekday() < 5 and 9 <= wall.hour < 18), (zone, at)


def test_public_holidays_of_the_country_and_more_days_are_free() -> None:
    week = Week(OFFICE.days, OFFICE.opens, OFFICE.closes, "DE", (date(2026, 4, 1),))
    hours = written(week, "Europe/Berlin", NOW)
    assert hours.holidays[:3] == (date(2026, 4, 1), date(2026, 4, 3), date(2026, 4, 6))
    assert date(2026, 1, 1) not in hours.holidays
    thursday = datetime(2026, 4, 2, 15, 30, tzinfo=UTC)
    assert add_working(hours, thursday, timedelta(hours=1)) == datetime(2026, 4, 7, 7, 30, tzinfo=UTC)


def test_holidays_of_a_part_of_the_country_are_added() -> None:
    bavaria, berlin = (written(Week(country=c), "Europe/Berlin", NOW, LONG).holidays for c in ("DE-BY", "DE-BE"))
    assert date(2026, 6, 4) in bavaria
    assert date(2026, 6, 4) not in berlin


def test_same_day_is_written_once() -> None:
    morning = written(OFFICE, "Europe/Berlin", NOW)
    assert written(OFFICE, "Europe/Berlin", NOW + timedelta(hours=3)) is morning


@pytest.mark.parametrize(
    ("country", "known"), [("DE", True), ("US-CA", True), ("XX", False), ("US-QQ", False), ("", False)]
)
def test_unknown_countries_are_told_apart(country: str, known: bool) -> None:
    assert known_country(country) is known


def test_unknown_zone_is_an_error() -> None:
    with pytest.raises(ZoneInfoNotFoundError):
        written(OFFICE, "Europe/Atlantis", NOW)
