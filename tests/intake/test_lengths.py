"""A length that was asked for counts from when the machine is usable, also one of days (cases F17 and F24)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lessor.when import parse_end
from tests.intake.typed import read

NOW = datetime(2026, 3, 7, 17, 0, tzinfo=UTC)
"""Noon in New York, the day before its clocks go forward."""

ZONE = "America/New_York"


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("24 hours", timedelta(hours=24)),
        ("1 day", timedelta(hours=23)),
        ("3d", timedelta(hours=71)),
        ("3d 6h", timedelta(hours=77)),
        ("a month", timedelta(days=31) - timedelta(hours=1)),
    ],
)
def test_a_length_is_elapsed_time_as_the_calendar_has_it_now(text: str, lasts: timedelta) -> None:
    end = parse_end(text, NOW, ZONE)
    assert (end.lasts, end.fixed, end.instant(NOW)) == (lasts, None, NOW + lasts)


def test_a_point_in_time_stands_however_late_the_machine_is() -> None:
    end = parse_end("tomorrow 18:00", NOW, ZONE)
    assert (end.lasts, end.fixed) == (None, datetime(2026, 3, 8, 22, 0, tzinfo=UTC))


def test_what_was_understood_says_from_when_a_length_counts() -> None:
    said = parse_end("1 day", NOW, ZONE).confirmation(NOW)
    assert said.startswith("23 h from when it is usable; if that were now, until ")
    assert "Sunday 8 March 2026 12:00" in said


@pytest.mark.parametrize(
    ("end", "duration", "until"),
    [
        ("3d", timedelta(hours=72), None),
        ("until friday 18:00", None, datetime(2026, 6, 5, 16, 0, tzinfo=UTC)),
    ],
)
def test_a_typed_request_takes_a_length_and_an_instant_for_what_they_are(
    end: str, duration: timedelta | None, until: datetime | None
) -> None:
    text = f'2 x L4 {end} notebook team:research in research-us "look at the new data"'
    request = read(text).request("U0REQUESTER", "slack:1")
    assert (request.duration, request.until) == (duration, until)
