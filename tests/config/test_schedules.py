"""Schedules of machines, nights of people and the limits of extensions, from the file to what leases take with them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from lessor.config import Config, ConfigError, loads
from lessor.domain.people import Person
from lessor.domain.worktime import WEEK, is_open, next_open
from lessor.when.calendar import Calendar, Schedule
from lessor.when.hours import Week
from tests.config.sample import VALID, changed

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SCHEDULES = """
schedules:
  office: {days: mon-fri, from: "08:00", to: "19:00", tz: Europe/Berlin, country: DE, holidays: [2026-12-24]}
  days: {days: mon-sun, from: "07:00", to: "24:00"}
"""
MEMBER = Person("U0MEMBER", teams=("research",))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def config(*lines: str) -> Config:
    return loads("\n".join((VALID.rstrip(), *lines)) + "\n")


def calendar(found: Config) -> Calendar:
    return Calendar(lambda: found.timetable, lambda: found.waking)


def test_schedules_by_name() -> None:
    found = config(SCHEDULES)
    assert found.timetable == {
        "office": Schedule(Week((0, 1, 2, 3, 4), 480, 1_140, "DE", (date(2026, 12, 24),)), "Europe/Berlin"),
        "days": Schedule(Week(WEEK, 420, 1_440), ""),
    }
    assert found.limits(MEMBER).schedules == ("office", "days")


def test_hours_are_those_of_the_schedule_or_of_the_owner() -> None:
    book = calendar(config(SCHEDULES))
    office = book.hours("office", "Asia/Tokyo", NOW, DAY)
    assert office is not None
    assert office.zone == "Europe/Berlin"
    assert next_open(office, datetime(2026, 12, 23, 18, tzinfo=UTC)) == datetime(2026, 12, 28, 7, tzinfo=UTC)
    days = book.hours("days", "Asia/Tokyo", NOW, DAY)
    assert days is not None
    assert days.zone == "Asia/Tokyo"
    unknown = book.hours("days", "Nowhere/Land", NOW, DAY)
    assert unknown is not None
    assert unknown.zone == "UTC"
    assert book.hours("", "UTC", NOW, DAY) is None
    with pytest.raises(ValueError, match="there is no schedule 'weekends'; there are: office, days"):
        book.hours("weekends", "UTC", NOW, DAY)


def test_hours_are_written_out_for_as_long_as_the_lease_may_live() -> None:
    """Reserved 90 days ahead and extended to 30 days: clock changes and holidays of the whole time are known."""
    book, now = calendar(config(SCHEDULES)), datetime(2026, 9, 1, tzinfo=UTC)
    office = book.hours("office", "UTC", now, 120 * DAY)
    assert office is not None
    assert date(2027, 1, 1) in office.holidays
    assert [minutes for _, minutes in office.offsets] == [120, 60]
    assert is_open(office, datetime(2026, 12, 30, 7, 30, tzinfo=UTC))


@pytest.mark.parametrize(
    ("line", "waking"),
    [
        ("", (7 * 60, 22 * 60)),
        ('quiet_hours: {from: "20:30", to: "06:00"}', (6 * 60, 20 * 60 + 30)),
        ('quiet_hours: {from: "00:00", to: "06:00"}', (6 * 60, 24 * 60)),
        ('quiet_hours: {from: "22:00", to: "24:00"}', (0, 22 * 60)),
        ("quiet_hours: never", None),
    ],
)
def test_the_night(line: str, waking: tuple[int, int] | None) -> None:
    text = changed("lease:\n", f"lease:\n  {line}\n") if line else VALID
    found = loads(text)
    assert found.waking == (Week(WEEK, *waking) if waking else None)
    assert (calendar(found).awake("Europe/Berlin", NOW, DAY) is None) == (waking is None)


def test_what_leases_take_with_them() -> None:
    lines = "  auto_extensions: 1\n  extension_hold: 6h\n  suspend_notice: 30m\n  max_ahead: 14d\n"
    found = loads(changed("lease:\n", f"lease:\n{lines}"))
    terms = found.terms()
    assert (terms.auto_extensions, terms.extension_hold, terms.suspend_notice) == (1, 6 * HOUR, timedelta(minutes=30))
    assert found.limits(MEMBER).max_ahead == 14 * DAY
    assert found.team("research").schedule == ""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("schedules:\n  x: {tz: Berlin}", "schedules.x.tz: 'Berlin' is no time zone; did you mean 'Europe/Berlin'?"),
        ("schedules:\n  x: {country: XX}", "schedules.x.country: the public holidays of 'XX' are not known"),
        ('schedules:\n  x: {from: "19:00", to: "08:00"}', "end at 08:00, not after 19:00 when they begin"),
        ("schedules:\n  x: {nights: true}", "nights"),
    ],
)
def test_what_is_wrong_names_the_key(lines: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(lines)
    assert told in str(caught.value)


def test_a_team_names_a_schedule_that_exists() -> None:
    text = changed("{name: Research, lead", "{name: Research, schedule: ofice, lead")
    with pytest.raises(ConfigError) as caught:
        loads(text.rstrip() + "\n" + SCHEDULES)
    assert "schedule: there is no schedule 'ofice'; did you mean 'office'?; there are: office, days" in str(
        caught.value
    )
    assert loads(text.replace("ofice", "office").rstrip() + "\n" + SCHEDULES).team("research").schedule == "office"


def test_a_night_begins_in_the_evening() -> None:
    with pytest.raises(ConfigError, match="go from 09:00 to 12:00; a night begins in the evening"):
        loads(changed("lease:\n", 'lease:\n  quiet_hours: {from: "09:00", to: "12:00"}\n'))
