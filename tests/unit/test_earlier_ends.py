"""Earlier ends, and what a way back from grace counts as."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from lessor.domain import extension, life
from lessor.domain.deadlines import Deadline, Due, next_deadline
from lessor.domain.lease import Event, State
from tests.builders import ENDS, READY, REQUESTER, a_lease
from tests.unit.test_extension import LATER, NOW, OWNER, refusal, wishing

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def test_an_earlier_end_brings_its_warnings_anew_and_drops_a_wish() -> None:
    lease = life.warned(wishing(), 30 * MINUTE, "slack:dm", READY).lease
    until = READY + 2 * HOUR
    change = extension.shorten(lease, until, OWNER, "done early", READY + HOUR)
    got = change.lease
    assert (got.ends_at, got.runs_until, got.end_set_at, got.warned, got.wish) == (until, until, READY + HOUR, (), None)
    assert got.extensions == 0
    data = {"from": ENDS.isoformat(), "to": until.isoformat(), "reason": "done early"}
    assert change.events == (Event("shortened", READY + HOUR, OWNER, data),)
    assert refusal(life.end, got, until)[0] == "not-due"
    assert next_deadline(got, READY + HOUR) == Deadline(Due.WARN, until - 30 * MINUTE, 30 * MINUTE)


@pytest.mark.parametrize(
    ("until", "code"),
    [
        (ENDS, "end-not-earlier"),
        (ENDS + HOUR, "end-not-earlier"),
        (READY + HOUR + 14 * MINUTE, "end-too-early"),
        (READY, "end-too-early"),
        (datetime(2026, 12, 1), "naive-time"),  # noqa: DTZ001
    ],
)
def test_what_is_no_earlier_end(until: datetime, code: str) -> None:
    assert refusal(extension.shorten, a_lease(), until, OWNER, "", READY + HOUR)[0] == code


@pytest.mark.parametrize("state", [s for s in State if s not in (State.ACTIVE, State.SUSPENDED)])
def test_only_what_is_in_use_is_shortened_or_asked_about(state: State) -> None:
    lease = a_lease(state)
    assert refusal(extension.shorten, lease, READY + HOUR, OWNER, "", READY)[0] == "wrong-state"
    assert refusal(extension.ask, lease, LATER, REQUESTER, "", (), (), NOW)[0] == "wrong-state"


def test_a_restore_counts_as_an_extension() -> None:
    stopped = a_lease(State.STOPPED)
    asked = life.restore(stopped, ENDS + 2 * DAY, OWNER, ENDS + HOUR).lease
    assert life.restored(asked, ENDS + HOUR, ENDS + HOUR).lease.extensions == 1
