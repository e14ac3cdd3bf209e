"""Working time counted on written-out hours: clock changes, holidays, midnight, and against the plain definition."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.worktime import WEEK, Hours, add_working, is_open, next_close, next_open

OFFICE = (0, 1, 2, 3, 4)
MINUTE = timedelta(minutes=1)
# Clocks in Berlin go from 02:00 to 03:00 on Sunday 29 March and back from 03:00 to 02:00 on Sunday 25 October 2026.
BERLIN = (
    (datetime(2026, 1, 1, tzinfo=UTC), 60),
    (datetime(2026, 3, 29, 1, tzinfo=UTC), 120),
    (datetime(2026, 10, 25, 1, tzinfo=UTC), 60),
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def berlin(**changed: object) -> Hours:
    known = {"zone": "Europe/Berlin", "offsets": BERLIN, "days": OFFICE, "opens": 540, "closes": 1_080}
    return Hours(**{**known, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "minutes", "wanted"),
    [
        ("2026-03-20T10:00", 15, "2026-03-20T10:15"),
        ("2026-03-20T16:45", 15, "2026-03-20T17:00"),
        ("2026-03-20T16:45", 16, "2026-03-23T08:01"),
        ("2026-03-21T12:00", 15, "2026-03-23T08:15"),
        ("2026-03-20T04:00", 15, "2026-03-20T08:15"),
        ("2026-03-27T16:00", 120, "2026-03-30T08:00"),
        ("2026-03-27T16:30", 240, "2026-03-30T10:30"),
        ("2026-10-23T15:30", 240, "2026-10-26T11:30"),
        ("2026-03-20T10:00", 0, "2026-03-20T10:00"),
        ("2026-03-21T10:00", 0, "2026-03-21T10:00"),
    ],
)
def test_length_counts_only_while_it_is_open(now: str, minutes: int, wanted: str) -> None:
    # Friday 27 March is the last working day under UTC+1, Monday 30 March the first one under UTC+2.
    assert add_working(berlin(), at(now), minutes * MINUTE) == at(wanted)


def test_holidays_are_closed() -> None:
    easter = berlin(holidays=(date(2026, 4, 3), date(2026, 4, 6)))
    assert next_open(easter, at("2026-04-02T17:00")) == at("2026-04-07T07:00")
    assert add_working(easter, at("2026-04-02T15:30"), timedelta(hours=1)) == at("2026-04-07T07:30")
    assert not is_open(easter, at("2026-04-03T10:00"))


def test_days_are_those_of_the_zone_not_of_utc() -> None:
    tokyo = Hours("Asia/Tokyo", ((at("2026-01-01"), 540),), (0,), 0, 1_440)
    assert is_open(tokyo, at("2026-03-22T15:00"))
    assert not is_open(tokyo, at("2026-03-22T14:59"))
    assert next_close(tokyo, at("2026-03-22T15:00")) == at("2026-03-23T15:00")
    kiritimati = Hours("Pacific/Kiritimati", ((at("2026-01-01"), 840),), (5,), 60, 120)
    assert next_open(kiritimati, at("2026-03-20T00:00")) == at("2026-03-20T11:00")


def test_days_up_to_midnight_join_the_next_day() -> None:
    week = Hours("UTC", ((at("2026-01-01"), 0),), OFFICE)
    assert next_close(week, at("2026-03-18T12:00")) == at("2026-03-21T00:00")
    assert next_close(week, at("2026-03-21T12:00")) == at("2026-03-28T00:00")
    assert add_working(week, at("2026-03-20T23:00"), timedelta(hours=2)) == at("2026-03-23T01:00")


def test_day_with_a_clock_change_is_shorter_or_longer() -> None:
    sunday = berlin(days=(6,), opens=0, closes=1_440)
    assert next_close(sunday, at("2026-03-29T00:00")) == at("2026-03-29T22:00")
    assert next_open(sunday, at("2026-03-28T12:00")) == at("2026-03-28T23:00")
    assert next_close(sunday, at("2026-10-25T00:00")) == at("2026-10-25T23:00")
    night = berlin(days=WEEK, opens=120, closes=180)
    assert next_open(night, at("2026-03-29T00:30")) == at("2026-03-30T00:00")
    assert next_close(night, at("2026-10-25T00:30")) == at("2026-10-25T02:00")


def test_round_the_clock_is_always_open_and_never_closes() -> None:
    for hours in (None, berlin(days=WEEK, opens=0, closes=1_440)):
        assert is_open(hours, at("2026-12-25T03:00"))
        assert next_open(hours, at("2026-12-25T03:00")) == at("2026-12-25T03:00")
        assert next_close(hours, at("2026-12-25T03:00")) is None
        assert add_working(hours, at("2026-12-25T03:00"), timedelta(days=40)) == at("2027-02-03T03:00")


@pytest.mark.parametrize(
    "wrong",
    [{"days": ()}, {"days": (7,)}, {"opens": 600, "closes": 600}, {"closes": 1_441}, {"offsets": ()}],
)
def test_hours_that_never_open_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"need offsets|are not some of|are no part"):
        berlin(**wrong)


some_hours = st.builds(
    lambda days, opens, length, holidays: berlin(
        days=tuple(sorted(days)),
        opens=opens,
        closes=min(opens + length, 1_440),
        holidays=tuple(sorted(date(2026, 3, 25) + timedelta(days=d) for d in holidays)),
    ),
    st.sets(st.sampled_from(WEEK), min_size=1),
    st.integers(0, 1_439),
    st.integers(1, 1_440),
    st.sets(st.integers(0, 9)),
)
some_instants = st.integers(0, 9 * 1_440).map(lambda minutes: at("2026-03-24T00:00") + minutes * MINUTE)


@settings(max_examples=150, deadline=None)
@given(some_hours, some_instants, st.integers(1, 900))
def test_agrees_with_counting_the_open_minutes_one_by_one(hours: Hours, now: datetime, minutes: int) -> None:
    reached = add_working(hours, now, minutes * MINUTE)
    if reached - now > timedelta(days=20):
        return
    walked = [now + n * MINUTE for n in range((reached - now) // MINUTE)]
    assert sum(is_open(hours, minute) for minute in walked) == minutes
    assert is_open(hours, reached - MINUTE)


@settings(max_examples=150, deadline=None)
@given(some_hours, some_instants)
def test_next_opening_and_closing_are_the_first_ones(hours: Hours, now: datetime) -> None:
    opening, closing = next_open(hours, now), next_close(hours, now)
    assert is_open(hours, opening)
    between = (now + n * MINUTE for n in range(min((opening - now) // MINUTE, 20_000)))
    assert not any(is_open(hours, minute) for minute in between)
    if closing is not None:
        assert closing > opening
        assert is_open(hours, closing - MINUTE)
        assert not is_open(hours, closing)


@given(some_hours, some_instants, st.integers(0, 600), st.integers(1, 600))
@settings(max_examples=100, deadline=None)
def test_one_length_after_another_is_their_sum(hours: Hours, now: datetime, first: int, second: int) -> None:
    both = add_working(hours, now, (first + second) * MINUTE)
    assert add_working(hours, add_working(hours, now, first * MINUTE), second * MINUTE) == both
