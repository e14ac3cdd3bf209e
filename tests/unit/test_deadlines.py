"""When a lease needs attention: warnings, ends that wait for them, retries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain import changes, life, questions, transitions
from lessor.domain.deadlines import Deadline, Due, ends_no_earlier_than, next_deadline, warning_distances
from lessor.domain.lease import FINAL, Lease, State
from lessor.domain.pending import Changes
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from tests.builders import APPROVED, ASKED, ENDS, MANAGER, READY, REQUESTER, a_lease, a_request, a_step

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TERMS = Terms()


def lasting(length: timedelta, **terms: object) -> Lease:
    return a_lease(request=a_request(duration=length), terms=replace(TERMS, **terms))  # type: ignore[arg-type]


def warned(lease: Lease, before: timedelta, at: datetime) -> Lease:
    return life.warned(lease, before, "slack:dm", at).lease


@pytest.mark.parametrize(
    ("state", "deadline"),
    [
        (State.REQUESTED, None),
        (State.AWAITING_APPROVAL, Deadline(Due.REMIND, ASKED + 15 * MINUTE)),
        (State.APPROVED, None),
        (State.PROVISIONING, None),
        (State.WAITING_FOR_CAPACITY, Deadline(Due.RETRY_CAPACITY, READY + HOUR)),
        (State.ACTIVE, Deadline(Due.WARN, ENDS - 30 * MINUTE, 30 * MINUTE)),
        (State.SUSPENDED, Deadline(Due.RESUME, READY)),
        (State.ENDING, None),
        (State.STOPPED, Deadline(Due.DELETE, ENDS + 7 * DAY)),
        (State.DELETING, Deadline(Due.VERIFY, READY)),
        (State.BLOCKED, Deadline(Due.VERIFY, ENDS + 7 * DAY + HOUR)),
        *((state, None) for state in sorted(FINAL)),
    ],
)
def test_what_each_state_waits_for(state: State, deadline: Deadline | None) -> None:
    assert next_deadline(a_lease(state), READY) == deadline


def test_a_request_calls_for_reminders_the_next_level_and_lapses_at_last() -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    found: list[Deadline] = []
    opened = replace(lease.steps[0], approvers=("lead:ml", "admins"))
    while not found or found[-1].due is not Due.LAPSE:
        due = next_deadline(lease, ASKED)
        assert due is not None
        found.append(due)
        if due.due is not Due.LAPSE:
            steps = (opened,) if due.due is Due.ESCALATE else lease.steps
            lease = transitions.asking_about(lease, steps, due.at).lease
    hours = [(one.due.value, (one.at - ASKED) / HOUR) for one in found]
    assert hours == [
        *(("remind", h) for h in (0.25, 0.5, 1, 2)),
        ("escalate", 4),
        ("escalate", 8),
        ("remind", 16),
        ("lapse", 24),
    ]


def test_a_request_lapses_with_its_time_to_decide_or_with_the_end_it_asked_for() -> None:
    soon = a_lease(State.AWAITING_APPROVAL, request=a_request(until=ASKED + 10 * MINUTE))
    assert next_deadline(soon, ASKED) == Deadline(Due.LAPSE, ASKED + 10 * MINUTE)
    assert a_lease(State.AWAITING_APPROVAL).lapses_at == ASKED + DAY


def test_a_later_step_does_not_lapse_before_it_was_asked() -> None:
    """The first step had the whole weekend: what counts for the second begins when it is asked."""
    mondays = Hours("UTC", ((ASKED, 0),), days=(0,))
    steps = (replace(a_step(), hours=(mondays,)), a_step("budget", "group:finance", stage=1))
    lease = a_lease(State.AWAITING_APPROVAL, steps=steps)
    late = lease.steps[0].lapses_at
    assert late == datetime(2026, 12, 1, tzinfo=UTC)
    voted = transitions.approve(lease, MANAGER, late - HOUR).lease
    assert voted.lapses_at == late
    assert next_deadline(voted, late - HOUR) == Deadline(Due.ASK, late - HOUR)
    asked = transitions.asking_about(voted, voted.steps, late - HOUR).lease
    assert asked.lapses_at == late - HOUR + DAY


def test_nobody_is_reminded_while_the_requester_has_to_answer() -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    asked = questions.ask(lease, MANAGER, "why eight?", ASKED + MINUTE).lease
    assert next_deadline(asked, ASKED) == Deadline(Due.LAPSE, ASKED + DAY)
    answered = questions.reply(asked, REQUESTER, "the batch needs it", ASKED + 3 * HOUR).lease
    assert next_deadline(answered, ASKED) == Deadline(Due.REMIND, ASKED + 3 * HOUR + 15 * MINUTE)
    proposed = changes.propose(lease, MANAGER, Changes(count=4), "", ASKED + MINUTE).lease
    assert next_deadline(proposed, ASKED) == Deadline(Due.LAPSE, ASKED + DAY)


def test_a_step_whose_turn_has_come_is_asked_at_once() -> None:
    steps = (a_step(), a_step("budget", "group:finance", stage=1))
    lease = a_lease(State.AWAITING_APPROVAL, steps=steps)
    voted = transitions.approve(lease, MANAGER, ASKED + MINUTE).lease
    assert next_deadline(voted, ASKED) == Deadline(Due.ASK, ASKED + MINUTE)
    asked = transitions.asking_about(voted, voted.steps, ASKED + 2 * MINUTE).lease
    assert next_deadline(asked, ASKED) == Deadline(Due.REMIND, ASKED + 17 * MINUTE)
    assert asked.lapses_at == ASKED + 2 * MINUTE + DAY


@pytest.mark.parametrize(
    ("length", "terms", "distances"),
    [
        (30 * DAY, {}, (7 * DAY, 48 * HOUR, 2 * HOUR, 30 * MINUTE)),
        (7 * DAY, {}, (48 * HOUR, 2 * HOUR, 30 * MINUTE)),
        (DAY, {}, (2 * HOUR, 30 * MINUTE)),
        (DAY - MINUTE, {}, (30 * MINUTE, 15 * MINUTE, 5 * MINUTE)),
        (30 * MINUTE, {}, (15 * MINUTE, 5 * MINUTE)),
        (15 * MINUTE, {}, (5 * MINUTE,)),
        (5 * MINUTE, {}, (5 * MINUTE,)),
        (3 * MINUTE, {}, (3 * MINUTE,)),
        (8 * HOUR, {"short_warnings": ()}, (5 * MINUTE,)),
        (8 * HOUR, {"short_warnings": (MINUTE,)}, (5 * MINUTE, MINUTE)),
        (8 * HOUR, {"short_warnings": (MINUTE,), "notice": 9 * HOUR}, (8 * HOUR, MINUTE)),
        (8 * HOUR, {"short_warnings": (MINUTE, -HOUR, timedelta(), MINUTE, HOUR)}, (HOUR, MINUTE)),
    ],
)
def test_warnings_fit_the_lease_and_leave_room_for_the_notice(
    length: timedelta, terms: dict[str, object], distances: tuple[timedelta, ...]
) -> None:
    assert warning_distances(lasting(length, **terms)) == distances


def test_before_the_clock_starts_there_is_nothing_to_warn_of() -> None:
    lease = a_lease(State.PROVISIONING)
    assert warning_distances(lease) == ()
    assert ends_no_earlier_than(lease) is None


def test_the_warnings_of_a_lease_one_after_the_other() -> None:
    lease = lasting(30 * DAY)
    end = READY + 30 * DAY
    for before in (7 * DAY, 48 * HOUR, 2 * HOUR, 30 * MINUTE):
        assert next_deadline(lease, READY) == Deadline(Due.WARN, end - before, before)
        lease = warned(lease, before, end - before)
    assert next_deadline(lease, READY) == Deadline(Due.END, end)


def test_of_overdue_warnings_only_the_most_urgent_is_sent() -> None:
    lease = lasting(30 * DAY)
    end = READY + 30 * DAY
    assert next_deadline(lease, end - HOUR) == Deadline(Due.WARN, end - 2 * HOUR, 2 * HOUR)
    assert next_deadline(lease, end - 2 * HOUR) == Deadline(Due.WARN, end - 2 * HOUR, 2 * HOUR)
    assert next_deadline(lease, end - 2 * HOUR - MINUTE) == Deadline(Due.WARN, end - 48 * HOUR, 48 * HOUR)
    assert next_deadline(warned(lease, 2 * HOUR, end - HOUR), end - HOUR) == Deadline(
        Due.WARN, end - 30 * MINUTE, 30 * MINUTE
    )


def test_without_a_delivered_warning_there_is_no_end_only_the_next_try() -> None:
    lease = a_lease()
    for tries in range(1, 40):
        now = ENDS + tries * MINUTE
        lease = life.warning_undelivered(lease, "slack is down", now + MINUTE, now).lease
        assert ends_no_earlier_than(lease) is None
        assert next_deadline(lease, now) == Deadline(Due.WARN, now + MINUTE, 5 * MINUTE)


@pytest.mark.parametrize(
    ("warned_at", "ends_at"),
    [
        (ENDS - 30 * MINUTE, ENDS),
        (ENDS - 5 * MINUTE, ENDS),
        (ENDS - 4 * MINUTE, ENDS + MINUTE),
        (ENDS + HOUR, ENDS + 65 * MINUTE),
    ],
)
def test_the_end_waits_for_the_notice_of_the_first_delivered_warning(warned_at: datetime, ends_at: datetime) -> None:
    lease = warned(a_lease(), 5 * MINUTE, warned_at)
    assert ends_no_earlier_than(lease) == ends_at
    assert next_deadline(lease, warned_at) == Deadline(Due.END, ends_at)


def test_the_notice_counts_from_the_first_warning_not_from_the_last() -> None:
    lease = warned(a_lease(), 30 * MINUTE, ENDS - 30 * MINUTE)
    lease = warned(lease, 5 * MINUTE, ENDS - MINUTE)
    assert ends_no_earlier_than(lease) == ENDS


def test_a_later_warning_that_fails_does_not_move_the_end() -> None:
    lease = warned(a_lease(), 30 * MINUTE, ENDS - 30 * MINUTE)
    lease = life.warning_undelivered(lease, "slack is down", ENDS + MINUTE, ENDS - 15 * MINUTE).lease
    assert next_deadline(lease, ENDS - 15 * MINUTE) == Deadline(Due.END, ENDS)


def test_a_warning_that_would_come_with_the_end_is_left_out() -> None:
    lease = warned(a_lease(), 30 * MINUTE, ENDS - 30 * MINUTE)
    lease = life.warning_undelivered(lease, "slack is down", ENDS, ENDS - 15 * MINUTE).lease
    assert next_deadline(lease, ENDS - 15 * MINUTE) == Deadline(Due.END, ENDS)


def test_a_later_warning_that_failed_is_tried_again_before_the_end() -> None:
    lease = warned(a_lease(), 30 * MINUTE, ENDS - 30 * MINUTE)
    retry = ENDS - 14 * MINUTE
    lease = life.warning_undelivered(lease, "slack is down", retry, ENDS - 15 * MINUTE).lease
    assert next_deadline(lease, ENDS - 15 * MINUTE) == Deadline(Due.WARN, retry, 15 * MINUTE)


def test_an_extension_starts_the_warnings_anew_with_those_that_fit_from_now() -> None:
    lease = warned(lasting(10 * DAY), 48 * HOUR, READY + 8 * DAY)
    now, until = READY + 10 * DAY - HOUR, READY + 10 * DAY + 3 * HOUR
    longer = life.extend(lease, until, "U0REQUESTER", "", now).lease
    assert warning_distances(longer) == (30 * MINUTE, 15 * MINUTE, 5 * MINUTE)
    assert ends_no_earlier_than(longer) is None
    assert next_deadline(longer, now) == Deadline(Due.WARN, until - 30 * MINUTE, 30 * MINUTE)
    much_longer = life.extend(lease, READY + 20 * DAY, "U0REQUESTER", "", now).lease
    assert warning_distances(much_longer) == (7 * DAY, 48 * HOUR, 2 * HOUR, 30 * MINUTE)


def test_an_end_that_has_passed_when_the_lease_is_ready_is_warned_of_at_once() -> None:
    lease = a_lease(State.PROVISIONING, request=a_request(until=ASKED + HOUR))
    now = ASKED + 2 * HOUR
    lease = life.ready(lease, (), "", now, None, now).lease
    assert next_deadline(lease, now) == Deadline(Due.WARN, ASKED + HOUR, timedelta())
    assert next_deadline(warned(lease, timedelta(), now), now) == Deadline(Due.END, now + 5 * MINUTE)


def test_a_look_that_found_left_overs_is_repeated_after_its_pause() -> None:
    lease = replace(a_lease(State.DELETING), next_try=APPROVED)
    assert next_deadline(lease, READY) == Deadline(Due.VERIFY, APPROVED)


@pytest.mark.parametrize(
    ("deadline", "summary"),
    [
        (Deadline(Due.LAPSE, ASKED), "lapses unless somebody decides at 2026-11-27 09:00:00 UTC"),
        (Deadline(Due.RETRY_CAPACITY, ASKED), "tries again to find capacity at 2026-11-27 09:00:00 UTC"),
        (
            Deadline(Due.WARN, ASKED, 48 * HOUR),
            "warns the owner, 2 d before the end at 2026-11-27 09:00:00 UTC",
        ),
        (Deadline(Due.END, ASKED), "ends the lease at 2026-11-27 09:00:00 UTC"),
        (Deadline(Due.DELETE, ASKED), "deletes after grace at 2026-11-27 09:00:00 UTC"),
        (Deadline(Due.VERIFY, ASKED), "looks again that nothing is left at 2026-11-27 09:00:00 UTC"),
    ],
)
def test_what_a_timer_says(deadline: Deadline, summary: str) -> None:
    assert deadline.summary == summary
