"""Ends and starts in ten zones around their clock changes, and in months of every length (cases F21 to F25, A33)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.when import UnclearEndError, local, parse_end, parse_start


def wall(at: datetime, zone: str) -> str:
    return at.astimezone(ZoneInfo(zone)).strftime("%a %d %b %H:%M")


def said(zone: str, *wall: int) -> datetime:
    return datetime(*wall, tzinfo=ZoneInfo(zone))  # type: ignore[misc, arg-type]


CHANGES = [
    # zone, noon before the change, hours that the day to the next noon has, the wall time that is skipped or doubled
    ("Europe/Berlin", (2026, 3, 28), 23, "02:30"),
    ("Europe/Berlin", (2026, 10, 24), 25, "02:30"),
    ("Europe/London", (2026, 3, 28), 23, "01:30"),
    ("Europe/London", (2026, 10, 24), 25, "01:30"),
    ("America/New_York", (2026, 3, 7), 23, "02:30"),
    ("America/New_York", (2026, 10, 31), 25, "01:30"),
    ("America/Los_Angeles", (2026, 3, 7), 23, "02:30"),
    ("America/Los_Angeles", (2026, 10, 31), 25, "01:30"),
    ("America/Santiago", (2026, 9, 5), 23, "00:30"),
    ("America/Santiago", (2026, 4, 4), 25, "23:30"),
    ("Australia/Sydney", (2026, 10, 3), 23, "02:30"),
    ("Australia/Sydney", (2026, 4, 4), 25, "02:30"),
    ("Australia/Lord_Howe", (2026, 10, 3), 23.5, "02:15"),
    ("Australia/Lord_Howe", (2026, 4, 4), 24.5, "01:45"),
    ("Pacific/Auckland", (2026, 9, 26), 23, "02:30"),
    ("Pacific/Auckland", (2026, 4, 4), 25, "02:30"),
    ("Africa/Cairo", (2026, 4, 23), 23, "00:30"),
    ("Africa/Cairo", (2026, 10, 29), 25, "23:30"),
    ("America/Havana", (2026, 3, 7), 23, "00:30"),
    ("America/Havana", (2026, 10, 31), 25, "00:30"),
]


@pytest.mark.parametrize(("zone", "day", "hours", "odd"), CHANGES)
def test_F24_a_day_keeps_the_time_on_the_clock_and_24_hours_are_elapsed(
    zone: str, day: tuple[int, int, int], hours: float, odd: str
) -> None:
    noon = said(zone, *day, 12)
    tomorrow = parse_end("1 day", noon, zone).instant(noon)
    assert tomorrow - noon.astimezone(UTC) == timedelta(hours=hours)
    assert wall(tomorrow, zone)[-5:] == "12:00"
    assert parse_end("24 hours", noon, zone).instant(noon) - noon.astimezone(UTC) == timedelta(hours=24)
    assert parse_end("tomorrow noon", noon, zone).until == tomorrow
    assert parse_start("tomorrow 12:00", noon, zone).at == tomorrow
    week = parse_end("1 week", noon, zone).instant(noon) - noon.astimezone(UTC)
    assert week == timedelta(days=6, hours=hours)


@pytest.mark.parametrize(("zone", "day", "hours", "odd"), CHANGES)
def test_F23_a_time_that_is_skipped_moves_on_and_one_that_comes_twice_is_the_first(
    zone: str, day: tuple[int, int, int], hours: float, odd: str
) -> None:
    noon = said(zone, *day, 12)
    text = f"today {odd}" if odd > "12:00" else f"tomorrow {odd}"
    end, start = parse_end(text, noon, zone), parse_start(text, noon, zone)
    assert end.until == start.at
    shift = timedelta(hours=abs(hours - 24))
    if hours < 24:
        assert (end.skipped, end.second) == (True, None)
        minutes = timedelta(hours=int(odd[:2]), minutes=int(odd[3:])) + shift
        assert wall(start.at, zone)[-5:] == f"{minutes // timedelta(hours=1):02}:{minutes.seconds // 60 % 60:02}"
        assert "the clocks skip" in end.confirmation(noon)
        return
    assert (end.skipped, end.second) == (False, end.until + shift)
    assert wall(end.until, zone)[-5:] == wall(end.second, zone)[-5:] == odd
    assert "the first of two that night" in end.confirmation(noon)
    second = end.confirmation(noon).rpartition(" ")[2]
    assert parse_end(second, noon, zone).until == end.second
    assert parse_start(start.confirmation().rpartition(" ")[2], noon, zone).at == end.second


def test_F23_new_york() -> None:
    zone = "America/New_York"
    spring = parse_end("2026-03-08 02:30", said(zone, 2026, 3, 7, 12), zone)
    assert spring.until == datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    assert local(spring.until, zone) == "Sunday 8 March 2026 03:30 EDT"
    autumn = parse_end("2026-11-01 01:30", said(zone, 2026, 10, 31, 12), zone)
    assert (autumn.until, autumn.second) == (
        datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
        datetime(2026, 11, 1, 6, 30, tzinfo=UTC),
    )


STEADY = [
    ("Asia/Kathmandu", "UTC+0545", timedelta(hours=5, minutes=45)),
    ("Asia/Kolkata", "IST", timedelta(hours=5, minutes=30)),
    ("Asia/Tokyo", "JST", timedelta(hours=9)),
    ("America/Phoenix", "MST", timedelta(hours=-7)),
    ("Pacific/Kiritimati", "UTC+14", timedelta(hours=14)),
    ("Pacific/Pago_Pago", "SST", timedelta(hours=-11)),
    ("UTC", "UTC", timedelta()),
]


@pytest.mark.parametrize(("zone", "letters", "offset"), STEADY)
def test_zones_whose_clocks_never_change(zone: str, letters: str, offset: timedelta) -> None:
    for month in (3, 10):
        noon = said(zone, 2026, month, 24, 12)
        week = parse_end("1 week", noon, zone).instant(noon)
        assert week - noon.astimezone(UTC) == timedelta(days=7)
        evening = parse_end("friday 18:00", noon, zone).until
        assert evening == datetime(2026, month, 27 if month == 3 else 30, 18, tzinfo=UTC) - offset
        assert local(evening, zone).endswith(letters)


@pytest.mark.parametrize(
    ("zone", "today", "tomorrow"),
    [
        ("Pacific/Kiritimati", "Thu 04 Jun 00:00", "Fri 05 Jun 00:00"),
        ("Asia/Tokyo", "Wed 03 Jun 00:00", "Thu 04 Jun 00:00"),
        ("Europe/Berlin", "Wed 03 Jun 00:00", "Thu 04 Jun 00:00"),
        ("America/Los_Angeles", "Wed 03 Jun 00:00", "Thu 04 Jun 00:00"),
        ("Pacific/Pago_Pago", "Tue 02 Jun 00:00", "Wed 03 Jun 00:00"),
    ],
)
def test_today_is_the_day_where_the_person_is(zone: str, today: str, tomorrow: str) -> None:
    """At 10:30 UTC it is the 2nd for most, still the 1st in Samoa, and the 3rd on Kiritimati."""
    now = datetime(2026, 6, 2, 10, 30, tzinfo=UTC)
    assert wall(parse_end("today", now, zone).until, zone) == today
    assert wall(parse_end("tomorrow", now, zone).until, zone) == tomorrow


def test_F22_today_in_los_angeles_while_it_is_tomorrow_in_utc() -> None:
    now = datetime(2026, 6, 2, 1, tzinfo=UTC)
    assert local(parse_end("today 20:00", now, "America/Los_Angeles").until, "America/Los_Angeles") == (
        "Monday 1 June 2026 20:00 PDT"
    )


@pytest.mark.parametrize("zone", sorted({zone for zone, *_ in CHANGES} | {zone for zone, *_ in STEADY}))
def test_F21_past_or_not_is_judged_by_instants(zone: str) -> None:
    evening = said(zone, 2026, 6, 3, 20)
    with pytest.raises(UnclearEndError) as refused:
        parse_end("today 19:50", evening, zone)
    assert (refused.value.code, refused.value.proposals) == ("end-past", ("tomorrow 19:50",))
    with pytest.raises(UnclearEndError) as late:
        parse_start("today 19:50", evening, zone)
    assert (late.value.code, late.value.proposals) == ("start-past", ("tomorrow 19:50",))
    assert parse_end("today 20:30", evening, zone).until == evening.astimezone(UTC) + timedelta(minutes=30)


@pytest.mark.parametrize(
    ("day", "text", "expected"),
    [
        ((2026, 1, 31), "1 month", "2026-02-28"),
        ((2026, 1, 31), "2 months", "2026-03-31"),
        ((2028, 1, 31), "1 month", "2028-02-29"),
        ((2026, 3, 31), "1 month", "2026-04-30"),
        ((2026, 12, 31), "2 months", "2027-02-28"),
        ((2027, 12, 31), "2 months", "2028-02-29"),
        ((2028, 2, 29), "1 year", "2029-02-28"),
        ((2026, 2, 10), "end of month", "2026-03-01"),
        ((2028, 2, 10), "end of month", "2028-03-01"),
        ((2026, 4, 30), "end of month", "2026-05-01"),
        ((2026, 12, 3), "end of month", "2027-01-01"),
        ((2026, 1, 31), "end of next month", "2026-03-01"),
        ((2026, 5, 3), "31 august", "2026-09-01"),
        ((2026, 5, 3), "31 december", "2027-01-01"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_F25_months_of_different_length(zone: str, day: tuple[int, int, int], text: str, expected: str) -> None:
    now = said(zone, *day, 10)
    end = parse_end(text, now, zone).instant(now).astimezone(ZoneInfo(zone))
    whole_day = "month" not in text or "end" in text
    at_midnight = whole_day and "year" not in text
    assert f"{end:%Y-%m-%d %H:%M}" == f"{expected} {'00:00' if at_midnight else '10:00'}"


def test_a_lease_over_the_date_line_ends_at_one_instant_for_everybody() -> None:
    now = datetime(2026, 6, 2, 10, 30, tzinfo=UTC)
    end = parse_end("friday 18:00", now, "Pacific/Kiritimati").until
    assert end == datetime(2026, 6, 5, 4, tzinfo=UTC)
    assert local(end, "Pacific/Pago_Pago") == "Thursday 4 June 2026 17:00 SST"
    assert local(end, "Asia/Tokyo") == "Friday 5 June 2026 13:00 JST"
