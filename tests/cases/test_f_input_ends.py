"""Cases F17 and F21 to F25: ends as people write them, in their own zone, across clock changes and month lengths."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.domain.errors import Invalid
from lessor.domain.request import Limits, validate
from lessor.when import End, UnclearEndError, parse_end
from tests.builders import a_request

BERLIN, NEW_YORK, LOS_ANGELES = "Europe/Berlin", "America/New_York", "America/Los_Angeles"
LIMITS = Limits(teams=("ml",), places=("research",))


def at(text: str, zone: str = "UTC") -> datetime:
    """The instant at which clocks in `zone` show `text`."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text)


def refusal(text: str, now: datetime, zone: str, limits: Limits | None = LIMITS) -> UnclearEndError:
    with pytest.raises(UnclearEndError) as caught:
        parse_end(text, now, zone, limits=limits)
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "what"),
    [
        ("10 years", "end-too-far", "is 3653 d away"),
        ("0", "end-unclear", None),
        ("0h", "end-past", "is no time at all"),
        ("-3h", "end-past", "is negative"),
        ("9999h", "end-too-far", "is 416 d 15 h away"),
        ("99999999 days", "end-too-far", "is too far away"),
        ("999999999999999999999h", "end-unknown", None),
        ("5 min", "end-too-early", "is only 5 min away"),
    ],
)
def test_F17_a_length_that_cannot_be_is_refused_with_the_allowed_range(text: str, code: str, what: str | None) -> None:
    refused = refusal(text, at("2026-06-03T12:00"), BERLIN)
    assert refused.code == code
    if what:
        assert str(refused).startswith(f"'{text}' {what}; 15 min to 30 d from now are allowed; ")


@pytest.mark.parametrize("days", [3650, 0, -1, 416])
def test_F17_the_domain_refuses_them_again(days: int) -> None:
    with pytest.raises(Invalid) as caught:
        validate(a_request(duration=timedelta(days=days)), LIMITS, at("2026-06-03T12:00"))
    assert [error.field for error in caught.value.errors] == ["end"]
    assert "15 min to 30 d from now are allowed" in caught.value.errors[0].message


def test_F17_hours_are_a_length_whose_clock_starts_when_it_is_usable() -> None:
    end = parse_end("4h", at("2026-06-03T12:00"), BERLIN, limits=LIMITS)
    assert end == End(duration=timedelta(hours=4), zone=BERLIN)
    usable = at("2026-06-03T12:40")
    assert end.instant(usable) == at("2026-06-03T16:40")


@pytest.mark.parametrize("zone", ["Etc/GMT-1", "Africa/Lagos"])
def test_F21_past_and_future_are_told_by_instants_on_the_persons_clock(zone: str) -> None:
    eight = at("2026-06-03T20:00", zone)
    refused = refusal("today 19:50", eight, zone)
    assert (refused.code, refused.proposals) == ("end-past", ("tomorrow 19:50",))
    assert parse_end("today 20:30", eight, zone, limits=LIMITS).until == at("2026-06-03T20:30", zone)


def test_F21_the_least_distance_holds_when_an_end_is_changed_too() -> None:
    now, base = at("2026-06-03T20:00", BERLIN), at("2026-06-03T20:05", BERLIN)
    with pytest.raises(UnclearEndError) as caught:
        parse_end("today 20:10", now, BERLIN, base=base, limits=LIMITS)
    assert caught.value.code == "end-too-early"
    later = parse_end("30 min", now, BERLIN, base=base, limits=LIMITS)
    assert later.instant(base) == at("2026-06-03T20:35", BERLIN)


def test_F22_today_is_today_and_is_never_moved_silently() -> None:
    end = parse_end("today 18:00", at("2026-06-03T15:11", BERLIN), BERLIN)
    assert end.until == at("2026-06-03T18:00", BERLIN)
    refused = refusal("today 18:00", at("2026-06-03T18:30", BERLIN), BERLIN, limits=None)
    assert (refused.code, refused.proposals) == ("end-past", ("tomorrow 18:00",))
    assert str(refused) == (
        "'today 18:00' is in the past: Wednesday 3 June 2026 18:00 CEST, and it is Wednesday 3 June 2026 18:30 CEST "
        "now; do you mean 'tomorrow 18:00'?"
    )


def test_F22_the_confirmation_has_weekday_date_time_and_zone() -> None:
    now = at("2026-06-03T15:11", BERLIN)
    assert parse_end("today 18:00", now, BERLIN).confirmation(now) == "until Wednesday 3 June 2026 18:00 CEST"


def test_F22_today_is_the_persons_own_date() -> None:
    now = utc("2026-06-02T01:00+00:00")
    end = parse_end("today 20:00", now, LOS_ANGELES)
    assert end.until == at("2026-06-01T20:00", LOS_ANGELES)
    assert end.confirmation(now) == "until Monday 1 June 2026 20:00 PDT"


def test_F22_around_a_clock_change_today_neither_moves_by_a_day_nor_by_an_hour() -> None:
    now = at("2026-03-29T01:30", BERLIN)  # the clocks go forward at 02:00
    assert parse_end("today 18:00", now, BERLIN).until == utc("2026-03-29T16:00+00:00")
    assert parse_end("tomorrow 18:00", at("2026-10-24T18:00", BERLIN), BERLIN).until == utc("2026-10-25T17:00+00:00")


def test_F23_a_time_that_clocks_skip_is_shown_and_stored_as_the_time_after_the_jump() -> None:
    now = at("2026-03-07T12:00", NEW_YORK)
    end = parse_end("2026-03-08 02:30", now, NEW_YORK)
    assert end.until == utc("2026-03-08T07:30+00:00")
    assert end.confirmation(now) == "until Sunday 8 March 2026 03:30 EDT; the clocks skip the time that was written"


def test_F23_a_time_that_clocks_show_twice_is_the_first_unless_the_second_is_picked() -> None:
    now = at("2026-10-31T12:00", NEW_YORK)
    end = parse_end("2026-11-01 01:30", now, NEW_YORK)
    assert (end.until, end.second) == (utc("2026-11-01T05:30+00:00"), utc("2026-11-01T06:30+00:00"))
    assert end.confirmation(now) == (
        "until Sunday 1 November 2026 01:30 EDT, the first of two that night; for the second write "
        "2026-11-01T01:30-05:00"
    )
    for picked in ("2026-11-01T01:30-05:00", "2026-11-01 01:30 EST"):
        assert parse_end(picked, now, NEW_YORK).until == utc("2026-11-01T06:30+00:00")


def test_F23_between_the_two_the_second_is_proposed() -> None:
    now = utc("2026-11-01T05:45+00:00")
    refused = refusal("today 01:30", now, NEW_YORK, limits=None)
    assert refused.proposals == ("2026-11-01T01:30-05:00",)


def test_F24_hours_are_elapsed_and_days_are_on_the_calendar() -> None:
    start = at("2026-03-07T12:00", NEW_YORK)
    hours, day = parse_end("24 hours", start, NEW_YORK), parse_end("1 day", start, NEW_YORK)
    assert hours.instant(start) == utc("2026-03-08T17:00+00:00")
    assert day.until == utc("2026-03-08T16:00+00:00")
    assert hours.instant(start) - start == timedelta(hours=24)
    assert day.until - start == timedelta(hours=23)


def test_F24_the_hours_of_a_length_are_never_shown_as_days() -> None:
    assert parse_end("48h", at("2026-03-07T12:00", NEW_YORK), NEW_YORK).text == "48 h"


@pytest.mark.parametrize(
    ("start", "text", "expected"),
    [
        ("2026-01-31T12:00", "1 month", "2026-02-28T12:00"),
        ("2026-01-31T12:00", "2 months", "2026-03-31T12:00"),
        ("2028-01-31T12:00", "1 month", "2028-02-29T12:00"),
        ("2026-12-31T12:00", "1 month", "2027-01-31T12:00"),
        ("2027-02-28T12:00", "1 year", "2028-02-28T12:00"),
        ("2028-02-29T12:00", "1 year", "2029-02-28T12:00"),
    ],
)
def test_F25_months_are_counted_from_the_original_day(start: str, text: str, expected: str) -> None:
    assert parse_end(text, at(start, BERLIN), BERLIN).until == at(expected, BERLIN)


def test_F25_until_a_day_lasts_through_that_day() -> None:
    now = at("2026-08-01T12:00", BERLIN)
    end = parse_end("until 31 August", now, BERLIN)
    assert end.until == at("2026-09-01T00:00", BERLIN)
    assert end.confirmation(now) == "through Monday 31 August 2026, that is until Tuesday 1 September 2026 00:00 CEST"


def test_F25_the_last_day_of_a_month_still_has_its_whole_day() -> None:
    now = at("2026-02-28T23:59:59", BERLIN)
    assert parse_end("end of month", now, BERLIN).until == at("2026-03-01T00:00", BERLIN)
