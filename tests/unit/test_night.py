"""Warnings that would wake somebody: they come the evening before, unless little time is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.domain import extension, life
from lessor.domain.deadlines import Deadline, Due, next_deadline, warning_distances
from lessor.domain.lease import Lease
from lessor.domain.terms import Terms
from lessor.domain.worktime import WEEK, Hours
from lessor.when.hours import Week, written
from tests.builders import a_lease

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
AWAKE = Week(WEEK, 7 * 60, 22 * 60)


def at(zone: str, *wall: int) -> datetime:
    return datetime(*wall, tzinfo=ZoneInfo(zone)).astimezone(UTC)  # type: ignore[misc, arg-type]


def lasting(zone: str, since: datetime, until: datetime, awake: Hours | None = None, **terms: object) -> Lease:
    hours = awake or written(AWAKE, zone, since)
    kept = replace(Terms(), **terms)  # type: ignore[arg-type]
    return replace(a_lease(), owner_hours=hours, end_set_at=since, ready_at=since, ends_at=until, terms=kept)


def told(lease: Lease) -> list[datetime]:
    """When all the warnings of a lease come, one after the other."""
    found, now = [], lease.end_set_at
    assert now
    while (due := next_deadline(lease, now)) and due.due is Due.WARN:
        now = max(now, due.at)
        found.append(now)
        lease = life.warned(lease, due.before, "slack:dm", now).lease
    return found


@pytest.mark.parametrize(
    ("zone", "since", "until", "warnings"),
    [
        ("Europe/Berlin", (11, 9, 10), (11, 27, 3), ["19 21:59", "24 21:59", "27 01:00", "27 02:30"]),
        ("Europe/Berlin", (11, 9, 10), (11, 27, 22, 30), ["20 21:59", "25 21:59", "27 20:30", "27 22:00"]),
        ("Europe/Berlin", (11, 9, 10), (11, 27, 22), ["20 21:59", "25 21:59", "27 20:00", "27 21:30"]),
        ("Europe/Berlin", (11, 9, 10), (11, 27, 7), ["20 07:00", "25 07:00", "27 05:00", "27 06:30"]),
        ("Europe/Berlin", (11, 9, 10), (11, 27, 18), ["20 18:00", "25 18:00", "27 16:00", "27 17:30"]),
        ("Asia/Tokyo", (11, 9, 10), (11, 27, 3), ["19 21:59", "24 21:59", "27 01:00", "27 02:30"]),
        ("America/Los_Angeles", (11, 9, 10), (11, 27, 3), ["19 21:59", "24 21:59", "27 01:00", "27 02:30"]),
        ("Asia/Kathmandu", (11, 9, 10), (11, 27, 6, 45), ["19 21:59", "24 21:59", "27 04:45", "27 06:15"]),
        ("Pacific/Kiritimati", (11, 9, 10), (11, 27, 0), ["19 21:59", "24 21:59", "26 22:00", "26 23:30"]),
    ],
)
def test_warnings_keep_the_owners_night_except_the_last_two_hours(
    zone: str, since: tuple[int, ...], until: tuple[int, ...], warnings: list[str]
) -> None:
    lease = lasting(zone, at(zone, 2026, *since), at(zone, 2026, *until))
    assert [f"{one.astimezone(ZoneInfo(zone)):%d %H:%M}" for one in told(lease)] == warnings


def test_the_night_moves_with_the_clocks() -> None:
    """48 hours before Monday 06:30, when clocks went back on Sunday, it is Saturday 07:30."""
    zone = "Europe/Berlin"
    lease = lasting(zone, at(zone, 2026, 10, 20, 10), at(zone, 2026, 10, 26, 6, 30))
    assert told(lease)[0] == at(zone, 2026, 10, 24, 7, 30)
    spring = lasting(zone, at(zone, 2026, 3, 24, 10), at(zone, 2026, 3, 30, 7, 30))
    assert told(spring)[0] == at(zone, 2026, 3, 27, 21, 59)


def test_a_warning_is_left_out_that_could_only_come_before_the_end_was_set() -> None:
    zone = "Europe/Berlin"
    late = at(zone, 2026, 11, 23, 23)
    lease = lasting(zone, late, at(zone, 2026, 11, 26, 1))
    assert warning_distances(lease) == (2 * HOUR, 30 * MINUTE)
    assert told(lease)[0] == at(zone, 2026, 11, 25, 23)


def test_what_has_to_be_told_for_the_notice_comes_at_night_if_it_must() -> None:
    zone = "Europe/Berlin"
    late = at(zone, 2026, 11, 23, 23)
    lease = lasting(zone, late, at(zone, 2026, 11, 26, 1), warnings=(), notice=DAY)
    assert warning_distances(lease) == (DAY,)
    assert next_deadline(lease, late) == Deadline(Due.WARN, at(zone, 2026, 11, 24, 21, 59), DAY)


def test_an_end_that_moves_moves_its_warnings() -> None:
    zone = "Europe/Berlin"
    lease = lasting(zone, at(zone, 2026, 11, 9, 10), at(zone, 2026, 11, 27, 3))
    longer = extension.extend(lease, at(zone, 2026, 11, 28, 15), "U0REQUESTER", "", at(zone, 2026, 11, 25, 12)).lease
    assert told(longer) == [at(zone, 2026, 11, 26, 15), at(zone, 2026, 11, 28, 13), at(zone, 2026, 11, 28, 14, 30)]


def test_without_quiet_hours_warnings_come_as_they_fall() -> None:
    zone = "Europe/Berlin"
    lease = lasting(zone, at(zone, 2026, 11, 9, 10), at(zone, 2026, 11, 27, 3))
    assert told(replace(lease, owner_hours=None))[:2] == [at(zone, 2026, 11, 20, 3), at(zone, 2026, 11, 25, 3)]


def test_a_short_lease_is_warned_at_night_too() -> None:
    zone = "Europe/Berlin"
    lease = lasting(zone, at(zone, 2026, 11, 26, 22), at(zone, 2026, 11, 27, 4))
    assert told(lease) == [at(zone, 2026, 11, 27, 3, 30), at(zone, 2026, 11, 27, 3, 45), at(zone, 2026, 11, 27, 3, 55)]
