"""The clock of a step: reminders that double, escalations, the lapse; in the working time of those who decide."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain import asking
from lessor.domain.approval import Step, Vote
from lessor.domain.asking import Call, Told
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from tests.builders import a_step

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TERMS = Terms(lapse_after=18 * HOUR)
# Friday 27 March 2026, 16:00 in Berlin, where clocks change on Sunday; Monday begins at 07:00 UTC there.
FRIDAY = datetime(2026, 3, 27, 15, tzinfo=UTC)
WEEK = {"days": (0, 1, 2, 3, 4), "opens": 540, "closes": 1_080}
BERLIN = Hours("Europe/Berlin", ((FRIDAY - DAY, 60), (datetime(2026, 3, 29, 1, tzinfo=UTC), 120)), **WEEK)  # type: ignore[arg-type]
NEW_YORK = Hours("America/New_York", ((FRIDAY - DAY, -240),), **WEEK)  # type: ignore[arg-type]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def asked(*hours: Hours, now: datetime = FRIDAY, terms: Terms = TERMS) -> Step:
    (step,) = asking.asked((replace(a_step(), hours=hours),), terms, now)
    return step


def lived(step: Step, terms: Terms = TERMS, opened: Step | None = None) -> list[tuple[str, str]]:
    """All that the step calls for until it lapses, with nobody answering."""
    found: list[tuple[str, str]] = []
    while (call := asking.next_call((step,))) is not None:
        found.append((call[0].value, f"{call[1]:%a %H:%M}"))
        if call[0] is Call.LAPSE:
            break
        new = opened if opened and call[0] is Call.ESCALATE else step
        (step,) = asking.staffed((step,), (new,), terms, call[1])
    return found


def test_round_the_clock_reminders_double_until_the_lapse() -> None:
    assert lived(asked()) == [
        ("remind", "Fri 15:15"),
        ("remind", "Fri 15:30"),
        ("remind", "Fri 16:00"),
        ("remind", "Fri 17:00"),
        ("escalate", "Fri 19:00"),
        ("remind", "Fri 23:00"),
        ("remind", "Sat 07:00"),
        ("lapse", "Sat 09:00"),
    ]


def test_nights_weekends_and_clock_changes_do_not_count() -> None:
    assert lived(asked(BERLIN)) == [
        ("remind", "Fri 15:15"),
        ("remind", "Fri 15:30"),
        ("remind", "Fri 16:00"),
        ("remind", "Fri 17:00"),
        ("escalate", "Mon 09:00"),
        ("remind", "Mon 13:00"),
        ("remind", "Tue 12:00"),
        ("lapse", "Tue 14:00"),
    ]


def test_of_two_zones_the_first_to_work_is_asked_and_the_last_has_the_whole_time() -> None:
    step = asked(BERLIN, NEW_YORK)
    assert (step.remind_at, step.escalate_at) == (at("2026-03-27T15:15"), at("2026-03-27T19:00"))
    # New York has 7 hours of Friday left, 9 of Monday and 2 of Tuesday; Berlin 2, 9 and 7.
    assert step.lapses_at == at("2026-03-31T15:00")
    evening = asked(BERLIN, NEW_YORK, now=at("2026-03-27T21:50"))
    assert evening.remind_at == at("2026-03-30T07:15")


def test_the_next_level_has_its_own_hours_and_reminders_go_on() -> None:
    opened = replace(a_step(), approvers=("lead:ml", "admins"), escalated="admins", hours=(BERLIN, NEW_YORK))
    assert lived(asked(BERLIN), opened=opened) == [
        ("remind", "Fri 15:15"),
        ("remind", "Fri 15:30"),
        ("remind", "Fri 16:00"),
        ("remind", "Fri 17:00"),
        ("escalate", "Mon 09:00"),
        ("escalate", "Mon 13:00"),
        ("remind", "Mon 22:00"),
        ("lapse", "Tue 14:00"),
    ]
    (step,) = asking.staffed((asked(BERLIN),), (opened,), TERMS, at("2026-03-30T09:00"))
    assert (step.approvers, step.escalations) == (("lead:ml", "admins"), 1)
    assert step.escalate_at == at("2026-03-30T13:00")
    assert step.lapses_at == asked(BERLIN).lapses_at


@pytest.mark.parametrize(("most", "left"), [(0, None), (1, None), (2, FRIDAY + 8 * HOUR)])
def test_escalations_are_limited(most: int, left: datetime | None) -> None:
    terms = replace(TERMS, escalations=most)
    step = asked(terms=terms)
    assert (step.escalate_at is None) == (most == 0)
    opened = replace(step, approvers=("lead:ml", "admins"))
    (after,) = asking.staffed((step,), (opened,), terms, FRIDAY + 4 * HOUR)
    assert after.escalate_at == left


def test_without_a_next_level_nobody_is_escalated_to_again() -> None:
    (step,) = asking.staffed((asked(),), (asked(),), TERMS, FRIDAY + 4 * HOUR)
    assert (step.escalate_at, step.escalations) == (None, 0)


def test_people_who_change_move_the_next_reminder_and_not_the_lapse() -> None:
    step = asked()
    (after,) = asking.staffed((step,), (replace(step, hours=(NEW_YORK,)),), TERMS, FRIDAY + 5 * MINUTE)
    assert (after.hours, after.reminders, after.lapses_at) == ((NEW_YORK,), 0, step.lapses_at)
    late = at("2026-03-28T12:00")
    (moved,) = asking.staffed((step,), (replace(step, hours=(BERLIN,)),), TERMS, late)
    assert moved.remind_at == at("2026-03-30T09:00")


def test_a_vote_that_came_meanwhile_is_kept_and_another_request_is_not_mixed_up() -> None:
    step = asked()
    voted = replace(step, quorum=2, votes=(Vote("U0MANAGER", FRIDAY, ("U0MANAGER",)),))
    (after,) = asking.staffed((voted,), (replace(step, quorum=2, approvers=("lead:ml", "admins")),), TERMS, FRIDAY)
    assert (after.votes, after.approvers) == (voted.votes, ("lead:ml", "admins"))
    others = (a_step("another"),)
    assert asking.staffed((step,), others, TERMS, FRIDAY) == (step,)
    assert asking.staffed((step,), (), TERMS, FRIDAY) == (step,)


def test_while_the_requester_has_to_answer_people_change_and_nobody_is_reminded() -> None:
    step, late = asked(), FRIDAY + 5 * HOUR
    opened = replace(step, approvers=("lead:ml", "admins"), hours=(NEW_YORK,))
    (after,) = asking.staffed((step,), (opened,), TERMS, late, paused=True)
    assert after == opened
    assert [t.type for t in asking.told((step,), (after,))] == ["escalated"]
    (same,) = asking.staffed((step,), (step,), TERMS, late, paused=True)
    assert same == step
    (fresh,) = asking.staffed((a_step(),), (a_step(),), TERMS, late, paused=True)
    assert fresh.asked_at == late


def test_only_those_whose_turn_it_is_are_asked() -> None:
    steps = asking.asked((a_step(), a_step("budget", "group:finance"), a_step("board", stage=1)), TERMS, FRIDAY)
    assert [s.asked_at for s in steps] == [FRIDAY, FRIDAY, None]
    assert [t.data["step"] for t in asking.told((a_step(), *steps[1:]), steps)] == ["manager"]
    done = tuple(replace(s, votes=(Vote(f"U{i}", FRIDAY + i * MINUTE),)) for i, s in enumerate(steps[:2]))
    assert asking.next_call((*done, steps[2])) == (Call.ASK, FRIDAY + MINUTE)
    later = asking.asked((*done, steps[2]), TERMS, FRIDAY + HOUR)
    assert (later[0].asked_at, later[2].asked_at) == (FRIDAY, FRIDAY + HOUR)


def test_the_first_of_several_steps_calls() -> None:
    early, late = asked(), asked(now=FRIDAY + MINUTE)
    assert asking.next_call((late, early)) == (Call.REMIND, FRIDAY + 15 * MINUTE)
    assert asking.next_call(()) is None
    assert asking.next_call((late, early), paused=True) == (Call.LAPSE, FRIDAY + 18 * HOUR)


def test_what_is_overdue_is_what_waits_for_the_next_level() -> None:
    later = replace(asked(), stage=1)
    steps = (asked(), asked(now=FRIDAY + HOUR), later)
    assert asking.overdue(steps, FRIDAY + 4 * HOUR) == {0}
    assert asking.overdue(steps, FRIDAY + 5 * HOUR) == {0, 1}
    assert asking.overdue(steps, FRIDAY + 3 * HOUR) == frozenset()


def test_a_new_start_gives_everybody_their_time_again() -> None:
    (step,) = asking.again((replace(asked(), reminders=3),), TERMS, FRIDAY + 7 * HOUR)
    assert step == replace(asked(now=FRIDAY + 7 * HOUR), reminders=0)


def test_the_record_names_the_step_who_and_when() -> None:
    step = asked()
    instants = {
        "remind": "2026-03-27T15:15:00+00:00",
        "escalate": "2026-03-27T19:00:00+00:00",
        "lapse": "2026-03-28T09:00:00+00:00",
    }
    assert asking.told((a_step(),), (step,)) == (Told("asked", {"step": "manager", "who": "lead:ml", **instants}),)
    widened = replace(step, approvers=("lead:ml", "admins"), escalated="admins")
    assert asking.told((step,), (widened,)) == (Told("escalated", {"step": "manager", "to": "admins", **instants}),)
    assert asking.told((a_step(),), (widened,))[0].data["escalated"] == "admins"
    assert [t.type for t in asking.told((step,), (replace(step, reminders=1),))] == ["reminded"]
    assert asking.told((step,), (step,)) == ()


def test_without_reminders_nobody_is_reminded() -> None:
    assert asked(terms=replace(TERMS, remind_after=timedelta())).remind_at is None
