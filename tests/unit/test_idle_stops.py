"""Warnings of an idle lease, what holds a stop back, and the stop itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import deadlines, excuses, idling, rungs
from lessor.domain.deadlines import Deadline, Due
from lessor.domain.errors import Refused
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Pause, Rung, Told, Why
from lessor.domain.lease import Announced, Lease, State
from tests.builders import REQUESTER, a_lease, a_request
from tests.idleness import DAY, HOUR, MINUTE, after, seen_again, told_idle, twice_warned, types, warned

LONG = a_lease(State.ACTIVE, request=a_request(duration=4 * DAY))
TERMS = IdleTerms()


def test_only_delivered_warnings_count_and_say_when_it_stops() -> None:
    change = idling.warned(told_idle(), Rung.WARN, "slack:dm", after(HOUR), owner=True)
    assert change.lease.idle
    assert change.lease.idle.told == (Told(Rung.WARN, after(HOUR), "slack:dm"),)
    assert types(change) == ["idle-warned"]
    data = change.events[0].data
    assert (data["via"], data["owner"], data["stops"]) == ("slack:dm", "reached", after(2 * HOUR).isoformat())
    final = idling.warned(change.lease, Rung.FINAL, "slack:channel", after(105 * MINUTE), owner=False)
    assert types(final) == ["idle-final-warned"]
    assert final.events[0].data["owner"] == "not reached"


def test_a_warning_of_what_is_never_stopped_says_so() -> None:
    change = idling.warned(told_idle(stops=False), Rung.WARN, "slack:dm", after(HOUR), owner=True)
    data = change.events[0].data
    assert (data["not_stopped"], "stops" in data) == ("the policy for it only warns", False)


def test_a_warning_that_reached_nobody_is_tried_again_and_on_record_once() -> None:
    first = idling.undelivered(told_idle(), "slack is down", after(HOUR))
    assert types(first) == ["idle-warning-undelivered"]
    assert deadlines.next_deadline(first.lease, after(HOUR)) == Deadline(Due.IDLE_WARN, after(65 * MINUTE))
    second = idling.undelivered(first.lease, "slack is down", after(65 * MINUTE))
    assert (types(second), second.lease.idle and second.lease.idle.next_try) == ([], after(95 * MINUTE))
    third = idling.undelivered(second.lease, "nobody is configured", after(95 * MINUTE))
    assert types(third) == ["idle-warning-undelivered"]
    done = warned(third.lease, after(100 * MINUTE))
    assert done.idle
    assert (done.idle.next_try, done.idle.held_back) == (None, "")


def test_what_holds_a_stop_back_is_on_record_once() -> None:
    first = idling.held_back(twice_warned(), "the brake is on", after(2 * HOUR))
    second = idling.held_back(first.lease, "the brake is on", after(125 * MINUTE))
    assert (types(first), types(second)) == (["idle-held-back"], [])
    assert deadlines.next_deadline(second.lease, after(126 * MINUTE)) == Deadline(Due.IDLE_STOP, after(155 * MINUTE))


def test_a_stop_that_was_held_back_for_long_is_announced_once_more() -> None:
    lease = idling.anew(twice_warned(), after(9 * HOUR)).lease
    assert rungs.next_step(lease, after(9 * HOUR)) == rungs.Step(Rung.FINAL, after(105 * MINUTE))
    lease = warned(lease, after(9 * HOUR), Rung.FINAL)
    assert rungs.next_step(lease, after(9 * HOUR)) == rungs.Step(Rung.STOP, after(9 * HOUR + 15 * MINUTE))


def test_what_is_idle_and_was_warned_is_stopped_until_somebody_starts_it() -> None:
    lease = twice_warned()
    change = idling.stop(lease, seen_again(lease, after(2 * HOUR)), after(2 * HOUR))
    after_it = change.lease
    words = "idle since 2026-11-27 10:15 UTC, and nobody said that it is used"
    assert after_it.pause == Pause(Why.IDLE, "lessor", after(2 * HOUR), words)
    assert (after_it.state, after_it.suspended_at) == (State.SUSPENDED, None)
    assert after_it.announced == Announced(after(2 * HOUR), after(2 * HOUR))
    assert (types(change), change.events[0].data["warned"]) == (
        ["idle-stopped"],
        "warn at 2026-11-27 11:15 UTC by slack:dm, final at 2026-11-27 12:00 UTC by slack:dm",
    )
    assert change.events[0].data["at"] == after(2 * HOUR).isoformat()
    assert deadlines.next_deadline(after_it, after(2 * HOUR)) == Deadline(Due.SUSPEND, after(2 * HOUR))


def not_to_be_stopped() -> dict[str, tuple[Lease, timedelta, Verdict]]:
    lease, late = twice_warned(), 2 * HOUR
    snoozed = excuses.snooze(lease, after(3 * HOUR), REQUESTER, "it is used", after(110 * MINUTE)).lease
    return {
        "never warned": (told_idle(), 10 * HOUR, Verdict.IDLE),
        "warned once": (warned(told_idle(), after(HOUR)), 10 * HOUR, Verdict.IDLE),
        "too early": (lease, late - MINUTE, Verdict.IDLE),
        "busy": (lease, late, Verdict.BUSY),
        "unknown": (lease, late, Verdict.UNKNOWN),
        "warming up": (lease, late, Verdict.WARMING_UP),
        "snoozed": (snoozed, late, Verdict.IDLE),
        "disputed": (excuses.dispute(lease, "U0", "no", after(110 * MINUTE)).lease, late, Verdict.IDLE),
        "spared": (excuses.spare(lease, None, "U0ADMIN", "a demo", after(110 * MINUTE)).lease, late, Verdict.IDLE),
        "volatile": (replace(lease, volatile=True), late, Verdict.IDLE),
        "about to end": (replace(lease, ends_at=after(late) + 10 * MINUTE), late, Verdict.IDLE),
        "not idle": (LONG, late, Verdict.IDLE),
    }


@pytest.mark.parametrize("case", sorted(not_to_be_stopped()))
def test_nothing_else_is_stopped(case: str) -> None:
    lease, at, verdict = not_to_be_stopped()[case]
    with pytest.raises(Refused) as refused:
        idling.stop(lease, seen_again(lease, after(at), verdict), after(at))
    assert refused.value.code in ("not-due", "not-idle")
