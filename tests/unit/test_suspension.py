"""A lease with working hours: announced, stopped, started again; what goes wrong at night, and exemptions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lessor.domain import life, suspension
from lessor.domain.billing import Span
from lessor.domain.deadlines import Deadline, Due, next_deadline
from lessor.domain.lease import Announced, Capacity, Event, Lease, State
from lessor.domain.pending import Exemption
from lessor.domain.request import Market
from lessor.domain.resource import Condition
from lessor.domain.worktime import Hours
from tests.builders import (
    ASKED,
    CLOSES,
    ENDS,
    HOURLY,
    LAUNCHED,
    MORNINGS,
    READY,
    a_lease,
    a_request,
    a_sighting,
    an_instance,
    usd,
)
from tests.refusing import refusal_code

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OWNER = "U0REQUESTER"
OPENS = datetime(2026, 11, 28, 9, tzinfo=UTC)
LONG = a_request(duration=10 * DAY)


def scheduled(state: State = State.ACTIVE, schedule: Hours = MORNINGS, **changes: Any) -> Lease:
    return a_lease(state, request=LONG, schedule=schedule, **changes)


def announced(lease: Lease, at: datetime = CLOSES - 15 * MINUTE) -> Lease:
    return suspension.announced(lease, "slack:dm", at).lease


def test_a_night_from_the_announcement_to_the_next_morning() -> None:
    lease = scheduled()
    assert next_deadline(lease, READY) == Deadline(Due.SUSPEND_WARN, CLOSES - 15 * MINUTE)
    told = suspension.announced(lease, "slack:dm", CLOSES - 15 * MINUTE)
    data = {"stops": CLOSES.isoformat(), "runs_again": OPENS.isoformat(), "via": "slack:dm"}
    assert told.events == (Event("suspend-warned", CLOSES - 15 * MINUTE, "lessor", data),)
    assert next_deadline(told.lease, CLOSES - 15 * MINUTE) == Deadline(Due.SUSPEND, CLOSES)
    going = suspension.suspend(told.lease, CLOSES).lease
    assert (going.state, suspension.stopping(going), going.spans[0].end) == (State.SUSPENDED, True, None)
    rests = suspension.suspended(going, CLOSES + MINUTE, CLOSES + 2 * MINUTE)
    assert rests.lease.spans == (Span(LAUNCHED, CLOSES + MINUTE, HOURLY),)
    assert (rests.lease.suspended_at, rests.lease.announced) == (CLOSES + 2 * MINUTE, None)
    data = {"at": (CLOSES + MINUTE).isoformat(), "runs_again": OPENS.isoformat()}
    assert rests.events == (Event("suspended", CLOSES + 2 * MINUTE, "lessor", data),)
    assert next_deadline(rests.lease, CLOSES + HOUR) == Deadline(Due.RESUME, OPENS)
    again = suspension.started_again(rests.lease, OPENS + MINUTE, OPENS + 2 * MINUTE)
    assert again.lease.spans == (Span(LAUNCHED, CLOSES + MINUTE, HOURLY), Span(OPENS + MINUTE, None, HOURLY))
    assert (again.lease.state, again.lease.suspended_at) == (State.ACTIVE, None)
    assert again.lease.ends_at == lease.ends_at
    assert next_deadline(again.lease, OPENS + HOUR) == Deadline(Due.SUSPEND_WARN, CLOSES + DAY - 15 * MINUTE)


def test_nothing_is_charged_for_the_night() -> None:
    lease = a_lease(State.SUSPENDED, request=LONG)
    assert lease.cost(CLOSES + 9 * HOUR) == lease.cost(CLOSES) == usd("275.30")


def test_a_lease_without_hours_has_no_deadline_of_this_kind() -> None:
    assert next_deadline(a_lease(), READY) == Deadline(Due.WARN, ENDS - 30 * MINUTE, 30 * MINUTE)
    assert suspension.stops_next(a_lease(), READY) is None


def test_what_cannot_be_started_again_is_never_stopped_by_its_hours() -> None:
    lease = scheduled(stoppable=False)
    assert suspension.stops_next(lease, READY) is None
    assert next_deadline(lease, READY) == Deadline(Due.WARN, READY + 3 * DAY, 7 * DAY)
    assert suspension.not_applied(replace(lease, request=a_request(schedule="office", market=Market.SPOT))) == (
        "the hours 'office' do not apply: spot machines cannot be stopped and started again"
    )
    assert suspension.not_applied(scheduled()) == ""


@pytest.mark.parametrize("at", [CLOSES - MINUTE, CLOSES + 21 * HOUR + MINUTE])
def test_it_is_looked_at_again_before_it_is_stopped(at: datetime) -> None:
    """Not before the time that was announced, and not once its hours have begun again meanwhile (law 2)."""
    lease = announced(scheduled())
    assert not suspension.may_suspend(lease, at)
    assert refusal_code(suspension.suspend, lease, at) == "not-due"


def test_nothing_is_stopped_that_was_not_announced() -> None:
    assert refusal_code(suspension.suspend, scheduled(), CLOSES + HOUR) == "not-due"


def test_an_announcement_that_reached_nobody_is_tried_again_and_stops_nothing() -> None:
    now = CLOSES - 15 * MINUTE
    lease = life.warning_undelivered(scheduled(), "slack is down", now + MINUTE, now).lease
    assert next_deadline(lease, now) == Deadline(Due.SUSPEND_WARN, now + MINUTE)
    assert refusal_code(suspension.suspend, lease, CLOSES) == "not-due"


@pytest.mark.parametrize(
    ("told_at", "stops_at"),
    [
        (CLOSES - 15 * MINUTE, CLOSES),
        (CLOSES - 14 * MINUTE, CLOSES),
        (CLOSES - 5 * MINUTE, CLOSES),
        (CLOSES - 2 * MINUTE, CLOSES + 3 * MINUTE),
        (CLOSES, CLOSES + 15 * MINUTE),
        (CLOSES + 3 * HOUR, CLOSES + 3 * HOUR + 15 * MINUTE),
        (OPENS - 10 * MINUTE, CLOSES + DAY),
    ],
)
def test_the_stop_leaves_room_for_the_notice_or_waits_for_the_next_pause(told_at: datetime, stops_at: datetime) -> None:
    lease = announced(scheduled(), told_at)
    assert lease.announced == Announced(stops_at, told_at, "slack:dm")
    assert next_deadline(lease, told_at) == Deadline(Due.SUSPEND, stops_at)


def test_what_becomes_usable_at_night_is_announced_first() -> None:
    evening = Hours("UTC", ((ASKED - DAY, 0),), opens=6 * 60, closes=8 * 60)
    assert next_deadline(scheduled(schedule=evening), READY) == Deadline(Due.SUSPEND_WARN, READY)


def test_an_announcement_of_yesterday_stops_nothing_today() -> None:
    """The worker was down from the announcement until the next morning."""
    lease = announced(scheduled())
    assert suspension.announcement(lease, OPENS - MINUTE) == lease.announced
    assert suspension.announcement(lease, OPENS) is None
    assert next_deadline(lease, OPENS) == Deadline(Due.SUSPEND_WARN, CLOSES + DAY - 15 * MINUTE)


def test_a_pause_that_would_begin_with_the_end_is_not_announced() -> None:
    lease = a_lease(request=a_request(until=CLOSES), schedule=MORNINGS)
    lease = life.warned(lease, 5 * MINUTE, "slack:dm", CLOSES - 5 * MINUTE).lease
    assert next_deadline(lease, CLOSES - 5 * MINUTE) == Deadline(Due.END, CLOSES)


def test_the_end_comes_while_it_is_suspended_and_is_warned_of_before() -> None:
    lease = a_lease(State.SUSPENDED)
    assert next_deadline(lease, CLOSES) == Deadline(Due.WARN, ENDS - 30 * MINUTE, 30 * MINUTE)
    lease = life.warned(lease, 5 * MINUTE, "slack:dm", ENDS - 5 * MINUTE).lease
    assert next_deadline(lease, ENDS - 5 * MINUTE) == Deadline(Due.END, ENDS)
    ended = life.end(lease, ENDS).lease
    assert (ended.state, ended.suspended_at) == (State.ENDING, None)
    stopped = life.stopped(ended, CLOSES, ENDS + MINUTE).lease
    assert stopped.spans == lease.spans
    assert (stopped.state, stopped.stopped_at) == (State.STOPPED, ENDS + MINUTE)


def test_what_is_past_its_end_is_not_started_again_only_to_be_stopped() -> None:
    """Nobody could be warned all night."""
    lease = life.warning_undelivered(a_lease(State.SUSPENDED), "slack is down", OPENS + MINUTE, OPENS).lease
    assert next_deadline(lease, OPENS) == Deadline(Due.WARN, OPENS + MINUTE, 5 * MINUTE)


def test_a_stop_that_fails_is_tried_again_until_the_hours_begin() -> None:
    going = suspension.suspend(announced(scheduled()), CLOSES).lease
    failed = suspension.suspend_failed(going, "denied", CLOSES + MINUTE)
    assert [e.type for e in failed.events] == ["stop-failed"]
    assert (failed.lease.state, failed.lease.problem) == (State.SUSPENDED, "denied")
    assert next_deadline(failed.lease, CLOSES + 2 * MINUTE) == Deadline(Due.SUSPEND, CLOSES + 31 * MINUTE)
    assert next_deadline(failed.lease, OPENS) == Deadline(Due.RESUME, OPENS)
    again = suspension.started_again(failed.lease, OPENS, OPENS).lease
    assert again.spans == (Span(LAUNCHED, OPENS, HOURLY), Span(OPENS, None, HOURLY))


def test_it_is_said_to_be_stopped_only_once() -> None:
    assert refusal_code(suspension.suspended, a_lease(State.SUSPENDED), CLOSES, CLOSES) == "wrong-state"
    assert refusal_code(suspension.suspend_failed, a_lease(State.SUSPENDED), "x", CLOSES) == "wrong-state"
    assert refusal_code(suspension.suspended, a_lease(), CLOSES, CLOSES) == "wrong-state"


def test_a_start_that_fails_is_tried_again_after_the_waits_for_capacity_and_the_last_one_for_ever() -> None:
    lease, now = scheduled(State.SUSPENDED), OPENS
    for tries, wait in enumerate((HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR), start=1):
        change = suspension.resume_failed(lease, "no capacity", now)
        lease = change.lease
        assert lease.capacity == Capacity(tries, (), now + wait, OPENS)
        assert [e.type for e in change.events] == ["resume-failed"]
    assert next_deadline(lease, now) == Deadline(Due.RESUME, OPENS + 8 * HOUR + 16 * HOUR)
    without = replace(lease, capacity=None, terms=replace(lease.terms, capacity_waits=()))
    assert suspension.resume_failed(without, "x", now).lease.capacity == Capacity(1, (), now + 30 * MINUTE, now)
    assert suspension.started_again(lease, now, now).lease.capacity is None


def test_what_is_gone_when_it_should_start_is_over() -> None:
    lease = a_lease(State.SUSPENDED)
    stopped = a_sighting(an_instance(condition=Condition.STOPPED))
    assert life.observed(lease, stopped, "x", OPENS, OPENS).lease is lease
    gone = life.observed(lease, a_sighting(an_instance(condition=Condition.GONE)), "terminated", OPENS, OPENS).lease
    assert (gone.state, gone.ending_reason) == (State.DELETING, "interrupted: terminated")


def test_an_exemption_over_the_coming_pause() -> None:
    lease = suspension.exempt(announced(scheduled()), None, OWNER, "", CLOSES - MINUTE).lease
    assert lease.exemption == Exemption(OPENS, OWNER, CLOSES - MINUTE, "runs on over the coming pause")
    assert lease.announced is None
    assert next_deadline(lease, CLOSES) == Deadline(Due.SUSPEND_WARN, CLOSES + DAY - 15 * MINUTE)


def test_an_exemption_during_the_pause_starts_it_at_once() -> None:
    failed = suspension.resume_failed(scheduled(State.SUSPENDED), "no capacity", CLOSES).lease
    lease = suspension.exempt(failed, None, OWNER, "", CLOSES + HOUR).lease
    assert lease.exemption == Exemption(OPENS, OWNER, CLOSES + HOUR, "runs on over the coming pause")
    assert next_deadline(lease, CLOSES + HOUR) == Deadline(Due.RESUME, CLOSES + HOUR)


def test_an_exemption_with_an_end_and_a_reason() -> None:
    until = CLOSES + 2 * HOUR
    change = suspension.exempt(scheduled(), until, OWNER, " an evaluation ", READY)
    assert change.lease.exemption == Exemption(until, OWNER, READY, "an evaluation")
    data = {"until": until.isoformat(), "reason": "an evaluation"}
    assert change.events == (Event("exempted", READY, OWNER, data),)
    assert next_deadline(change.lease, READY) == Deadline(Due.SUSPEND_WARN, until - 15 * MINUTE)
    assert suspension.wanted(change.lease, until - MINUTE)
    assert not suspension.wanted(change.lease, until)


@pytest.mark.parametrize(
    ("lease", "until", "reason", "expected"),
    [
        (a_lease(), CLOSES, "x", "no-schedule"),
        (scheduled(stoppable=False), CLOSES, "x", "no-schedule"),
        (scheduled(), READY, "x", "end-too-early"),
        (scheduled(), CLOSES, "  ", "no-reason"),
        (a_lease(State.STOPPED, schedule=MORNINGS), None, "", "wrong-state"),
        (scheduled(), datetime(2026, 12, 1), "x", "naive-time"),  # noqa: DTZ001
    ],
)
def test_what_is_no_exemption(lease: Lease, until: datetime | None, reason: str, expected: str) -> None:
    assert refusal_code(suspension.exempt, lease, until, OWNER, reason, READY) == expected


def test_what_is_on_record_of_the_hours() -> None:
    office = Hours("Europe/Berlin", ((ASKED - DAY, 60),), opens=8 * 60 + 30, closes=1_440)
    named = replace(a_lease(State.REQUESTED), request=a_request(schedule="office"))
    assert suspension.on_record(replace(named, schedule=office)) == {
        "schedule": "office: daily 08:30 to 24:00 Europe/Berlin"
    }
    assert suspension.on_record(replace(a_lease(State.REQUESTED), schedule=office)) == {
        "schedule": "of the team: daily 08:30 to 24:00 Europe/Berlin"
    }
    assert suspension.on_record(a_lease(State.REQUESTED)) == {}
    assert (
        "do not apply"
        in suspension.on_record(replace(named, request=replace(named.request, market=Market.SPOT)))["schedule"]
    )
