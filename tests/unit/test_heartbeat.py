"""A meter that is dead is noticed from outside, once there is something that it should see."""

from __future__ import annotations

from datetime import timedelta

from lessor.domain import heartbeat
from lessor.domain.lease import State
from tests.builders import READY, a_lease

EVERY = timedelta(minutes=5)
RUNNING = [a_lease()]


def test_three_missed_ticks_are_told() -> None:
    last = READY + timedelta(hours=1)
    assert heartbeat.overdue(last, RUNNING, EVERY, last + 3 * EVERY) == ""
    assert heartbeat.overdue(last, RUNNING, EVERY, last + 3 * EVERY + timedelta(seconds=1)) == (
        "the latest tick of the meter was at 2026-11-27 10:15 UTC, and it is to tick every 300 s; nothing is stopped "
        "as idle until it does, and leases end when they should. See whether a worker runs and whether the schedule "
        "lessor-meter is paused"
    )


def test_a_meter_that_never_ticked_is_told_once_something_runs_for_long() -> None:
    assert heartbeat.overdue(None, RUNNING, EVERY, READY + 3 * EVERY) == ""
    said = heartbeat.overdue(None, RUNNING, EVERY, READY + 4 * EVERY)
    assert said.startswith("the meter has never ticked, and it is to tick every 300 s")


def test_nobody_is_told_while_nothing_runs() -> None:
    late = READY + timedelta(days=9)
    assert heartbeat.overdue(None, [], EVERY, late) == ""
    assert heartbeat.overdue(READY, [a_lease(State.STOPPED), a_lease(State.APPROVED)], EVERY, late) == ""
