"""When an idle lease is warned and stopped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lessor.domain import rungs
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Consent, Rung, Snooze, Spared, Told, untold
from lessor.domain.lease import Lease, State
from lessor.domain.rungs import Step, next_step, stops_at
from lessor.domain.worktime import Hours
from tests.builders import ENDS, a_lease, a_request
from tests.idleness import DAY, HOUR, MINUTE, SINCE, after, told_idle, twice_warned, warned

ON_TIME = (Step(Rung.WARN, after(HOUR)), Step(Rung.FINAL, after(105 * MINUTE)), Step(Rung.STOP, after(2 * HOUR)))
WORK = Hours("UTC", ((SINCE - 30 * DAY, 0),), days=(0, 1, 2, 3, 4), opens=9 * 60, closes=18 * 60)
"""09:00 to 18:00 UTC from Monday to Friday; `SINCE` is a Friday, 10:15."""

LONG = a_request(duration=9 * DAY)


def step(lease: Lease, at: datetime) -> Step:
    found = next_step(lease, at)
    assert found
    return found


def test_the_defaults_are_sixty_a_hundred_and_five_and_a_hundred_and_twenty_minutes() -> None:
    lease = told_idle()
    once = warned(lease, after(HOUR))
    assert (step(lease, after(HOUR)), step(once, after(HOUR)), step(twice_warned(), after(HOUR))) == ON_TIME
    assert [stops_at(one, after(HOUR)) for one in (lease, once, twice_warned())] == [after(2 * HOUR)] * 3


def test_a_lease_that_is_not_idle_has_no_steps() -> None:
    assert next_step(a_lease(State.ACTIVE), after(HOUR)) is None
    assert stops_at(a_lease(State.ACTIVE), after(HOUR)) is None


@pytest.mark.parametrize("state", [s for s in State if s is not State.ACTIVE])
def test_only_what_runs_has_steps(state: State) -> None:
    ladder = told_idle().idle
    assert next_step(replace(a_lease(state), idle=ladder), after(3 * HOUR)) is None


def test_a_warning_that_came_late_moves_what_comes_after_it() -> None:
    late = warned(told_idle(), after(10 * HOUR))
    assert step(late, after(10 * HOUR)) == Step(Rung.FINAL, after(10 * HOUR + 45 * MINUTE))
    later = warned(late, after(12 * HOUR), Rung.FINAL)
    assert step(later, after(12 * HOUR)) == Step(Rung.STOP, after(12 * HOUR + 15 * MINUTE))
    assert stops_at(told_idle(), after(10 * HOUR)) == after(11 * HOUR)


def test_who_was_told_in_the_owners_place_has_two_hours() -> None:
    once = warned(told_idle(), after(HOUR), owner=False)
    assert step(once, after(HOUR)) == Step(Rung.FINAL, after(3 * HOUR - 15 * MINUTE))
    twice = warned(once, after(3 * HOUR - 15 * MINUTE), Rung.FINAL, owner=False)
    assert step(twice, after(HOUR)) == Step(Rung.STOP, after(3 * HOUR))


def test_an_owner_who_is_reached_later_has_the_usual_notice() -> None:
    once = warned(told_idle(), after(HOUR), owner=False)
    twice = warned(once, after(2 * HOUR), Rung.FINAL, owner=True)
    assert step(twice, after(HOUR)) == Step(Rung.STOP, after(2 * HOUR + 15 * MINUTE))


def test_a_longer_notice_holds_also_where_the_steps_are_short() -> None:
    terms: dict[str, Any] = {"warn": 5 * MINUTE, "final": 6 * MINUTE, "stop": 7 * MINUTE, "notice": 30 * MINUTE}
    lease = warned(told_idle(**terms), after(HOUR))
    assert step(lease, after(HOUR)) == Step(Rung.FINAL, after(89 * MINUTE))
    lease = warned(lease, after(89 * MINUTE), Rung.FINAL)
    assert step(lease, after(HOUR)) == Step(Rung.STOP, after(90 * MINUTE))


def test_steps_in_the_wrong_order_never_come_before_the_one_before_them() -> None:
    terms: dict[str, Any] = {"warn": 2 * HOUR, "final": HOUR, "stop": 30 * MINUTE}
    lease = told_idle(**terms)
    assert step(lease, after(HOUR)) == Step(Rung.WARN, after(2 * HOUR))
    lease = warned(lease, after(2 * HOUR))
    assert step(lease, after(2 * HOUR)) == Step(Rung.FINAL, after(2 * HOUR + 15 * MINUTE))
    lease = warned(lease, after(2 * HOUR + 15 * MINUTE), Rung.FINAL)
    assert step(lease, after(2 * HOUR)) == Step(Rung.STOP, after(2 * HOUR + 15 * MINUTE))


def test_memory_that_is_held_is_warned_twice_and_stopped_after_a_day() -> None:
    lease = told_idle(verdict=Verdict.HELD)
    assert step(lease, after(HOUR)) == Step(Rung.WARN, after(HOUR))
    lease = warned(lease, after(HOUR))
    assert step(lease, after(HOUR)) == Step(Rung.FINAL, after(23 * HOUR))
    lease = warned(lease, after(23 * HOUR), Rung.FINAL)
    assert step(lease, after(HOUR)) == Step(Rung.STOP, after(24 * HOUR))


def test_a_short_limit_for_held_memory_still_leaves_an_hour_between_two_warnings() -> None:
    lease = told_idle(verdict=Verdict.HELD, held_stop=30 * MINUTE)
    assert rungs.distances(lease.idle) == rungs.Distances(HOUR, HOUR, 2 * HOUR)  # type: ignore[arg-type]


def test_a_step_that_could_not_be_taken_is_tried_again_later() -> None:
    lease = told_idle()
    assert lease.idle
    waiting = replace(lease, idle=replace(lease.idle, next_try=after(70 * MINUTE)))
    assert step(waiting, after(65 * MINUTE)) == Step(Rung.WARN, after(70 * MINUTE))


def test_nothing_comes_before_a_snooze_has_ended() -> None:
    snoozed = replace(told_idle(), snooze=Snooze(after(4 * HOUR), "U0", after(HOUR), "it loads data"))
    assert step(snoozed, after(2 * HOUR)) == Step(Rung.WARN, after(4 * HOUR))
    assert stops_at(snoozed, after(2 * HOUR)) == after(5 * HOUR)


@pytest.mark.parametrize("far", [timedelta(), 10 * MINUTE, 15 * MINUTE])
def test_what_would_come_just_before_the_end_is_left_to_it(far: timedelta) -> None:
    lease = replace(twice_warned(), ends_at=after(2 * HOUR) + far)
    assert next_step(lease, after(110 * MINUTE)) is None
    assert stops_at(lease, after(110 * MINUTE)) is None
    once = replace(told_idle(), ends_at=after(2 * HOUR) + far)
    assert step(once, after(HOUR)).rung is Rung.WARN
    assert stops_at(once, after(HOUR)) is None


def test_an_end_that_is_further_off_puts_nothing_off() -> None:
    lease = replace(twice_warned(), ends_at=after(2 * HOUR) + 16 * MINUTE)
    assert step(lease, after(110 * MINUTE)) == ON_TIME[2]
    assert next_step(lease, after(2 * HOUR + MINUTE)) is None


def barred_leases() -> dict[str, tuple[Lease, str]]:
    lease = told_idle()
    spared = Spared("U0ADMIN", SINCE, "a demonstration")
    return {
        "spared": (replace(lease, spared=spared), "an administrator spares it: a demonstration"),
        "spared-until": (
            replace(lease, spared=replace(spared, until=after(30 * HOUR))),
            "an administrator spares it until 2026-11-28 16:15 UTC: a demonstration",
        ),
        "only-warned": (told_idle(stops=False), "the policy for it only warns"),
        "not-stoppable": (
            told_idle(a_lease(State.ACTIVE, request=a_request(duration=4 * DAY), stoppable=False)),
            "on-demand machines cannot be stopped and started again",
        ),
        "volatile": (
            replace(lease, volatile=True),
            "a stop loses what is on its local disks, and nobody has agreed to that",
        ),
    }


@pytest.mark.parametrize("case", sorted(barred_leases()))
def test_what_is_never_stopped_is_told_once_a_day_and_says_why(case: str) -> None:
    lease, why = barred_leases()[case]
    assert rungs.barred(lease, after(HOUR)) == why
    assert step(lease, after(HOUR)) == Step(Rung.WARN, after(HOUR))
    assert stops_at(lease, after(HOUR)) is None
    once = warned(lease, after(HOUR))
    assert once.idle
    assert once.idle.told == (Told(Rung.WARN, after(HOUR), "slack:dm", barred=True),)
    assert step(once, after(2 * HOUR)) == Step(Rung.WARN, after(25 * HOUR))
    assert step(warned(once, after(25 * HOUR)), after(26 * HOUR)).rung is Rung.WARN


def test_once_a_stop_is_possible_people_are_warned_of_it_from_the_beginning() -> None:
    lease, _ = barred_leases()["volatile"]
    agreed = replace(warned(lease, after(HOUR)), consent=Consent("U0", after(5 * HOUR)))
    assert step(agreed, after(5 * HOUR)) == Step(Rung.WARN, after(HOUR))
    assert stops_at(agreed, after(5 * HOUR)) == after(6 * HOUR)
    once = warned(agreed, after(5 * HOUR))
    assert step(once, after(5 * HOUR)) == Step(Rung.FINAL, after(5 * HOUR + 45 * MINUTE))


def test_an_administrators_word_that_ends_wakes_the_lease() -> None:
    lease, _ = barred_leases()["spared-until"]
    told = warned(lease, after(20 * HOUR))
    assert step(told, after(21 * HOUR)) == Step(Rung.WARN, after(30 * HOUR))
    assert rungs.barred(told, after(30 * HOUR)) == ""
    assert step(told, after(30 * HOUR)).rung is Rung.WARN


def test_a_word_that_has_ended_hurries_nobody_where_something_else_stands_against_a_stop() -> None:
    over = Spared("U0ADMIN", SINCE, "a demonstration", after(3 * HOUR))
    lease = replace(told_idle(a_lease(State.ACTIVE, request=LONG, stoppable=False)), spared=over)
    first = warned(lease, after(HOUR))
    assert step(first, after(2 * HOUR)) == Step(Rung.WARN, after(3 * HOUR))
    again = warned(first, after(3 * HOUR))
    assert step(again, after(3 * HOUR)) == Step(Rung.WARN, after(27 * HOUR))
    assert step(warned(again, after(27 * HOUR)), after(28 * HOUR)) == Step(Rung.WARN, after(51 * HOUR))


def test_interactive_work_is_left_alone_until_the_working_day_is_over() -> None:
    lease = warned(told_idle(hours=WORK, spare=8 * HOUR), after(HOUR))
    closes = SINCE.replace(hour=18, minute=0)
    assert step(lease, after(HOUR)) == Step(Rung.FINAL, closes - 15 * MINUTE)
    lease = warned(lease, closes - 15 * MINUTE, Rung.FINAL)
    assert step(lease, after(HOUR)) == Step(Rung.STOP, closes)


def test_interactive_work_is_not_left_alone_for_longer_than_the_terms_say() -> None:
    lease = warned(told_idle(hours=WORK, spare=4 * HOUR), after(HOUR))
    assert step(lease, after(HOUR)) == Step(Rung.FINAL, after(4 * HOUR - 15 * MINUTE))
    assert stops_at(lease, after(HOUR)) == after(4 * HOUR)


def test_interactive_work_at_night_is_stopped_as_any_other() -> None:
    night = Hours("UTC", WORK.offsets, opens=19 * 60, closes=20 * 60)
    assert stops_at(told_idle(hours=night, spare=8 * HOUR), after(HOUR)) == after(2 * HOUR)


def test_where_no_hours_are_known_interactive_work_is_spared_as_long_as_it_may_be() -> None:
    assert stops_at(told_idle(spare=8 * HOUR), after(HOUR)) == after(8 * HOUR)


def test_what_the_lease_knows_of_its_owners_hours_counts_where_the_meter_knows_nothing() -> None:
    lease = replace(told_idle(spare=8 * HOUR), owner_hours=WORK)
    assert stops_at(lease, after(HOUR)) == SINCE.replace(hour=18, minute=0)


def test_working_hours_are_counted_over_a_weekend_a_holiday_and_a_change_of_clocks() -> None:
    """In Madrid clocks go back on Sunday, 25 October 2026; Monday is a holiday there in the second case."""
    winter = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)
    madrid = Hours("Europe/Madrid", ((winter - 90 * DAY, 120), (winter, 60)), (0, 1, 2, 3, 4), 9 * 60, 18 * 60)
    friday = datetime(2026, 10, 23, 15, 0, tzinfo=UTC)
    terms: dict[str, Any] = {"working_hours_only": True, "warn": 4 * HOUR, "final": 5 * HOUR, "stop": 6 * HOUR}
    lease = replace(a_lease(State.ACTIVE), ends_at=ENDS + 30 * DAY)
    idle = told_idle(lease, since=friday, hours=madrid, **terms)
    monday = datetime(2026, 10, 26, 11, 0, tzinfo=UTC)
    assert step(idle, friday) == Step(Rung.WARN, monday)
    assert stops_at(idle, monday) == monday + 2 * HOUR
    holiday = replace(madrid, holidays=(date(2026, 10, 26),))
    assert step(told_idle(lease, since=friday, hours=holiday, **terms), friday) == Step(Rung.WARN, monday + DAY)
    continuous = told_idle(lease, since=friday, hours=madrid, **(terms | {"working_hours_only": False}))
    assert step(continuous, friday) == Step(Rung.WARN, friday + 4 * HOUR)


def test_it_is_never_stopped_before_the_time_that_its_last_warning_named() -> None:
    """Somebody shortens the thresholds between the last warning and the stop."""
    lease = warned(told_idle(stop=4 * HOUR), after(HOUR))
    lease = warned(lease, after(105 * MINUTE), Rung.FINAL)
    assert lease.idle
    assert step(lease, after(2 * HOUR)) == Step(Rung.STOP, after(4 * HOUR))
    shorter = replace(lease, idle=replace(lease.idle, terms=IdleTerms()))
    assert step(shorter, after(2 * HOUR)) == Step(Rung.STOP, after(4 * HOUR))
    longer = replace(lease, idle=replace(lease.idle, terms=IdleTerms(stop=6 * HOUR)))
    assert step(longer, after(2 * HOUR)) == Step(Rung.STOP, after(6 * HOUR))


def test_a_stop_that_is_long_overdue_is_announced_anew() -> None:
    lease = twice_warned()
    assert not rungs.outdated(lease, after(6 * HOUR))
    assert rungs.outdated(lease, after(6 * HOUR + MINUTE))
    assert not rungs.outdated(warned(told_idle(), after(HOUR)), after(30 * HOUR))
    assert not rungs.outdated(a_lease(State.ACTIVE), after(30 * HOUR))


def test_what_was_told_before_does_not_count_where_people_start_anew() -> None:
    lease = twice_warned()
    assert step(replace(lease, idle=untold(lease.idle)), after(3 * HOUR)) == ON_TIME[0]
    assert untold(None) is None
