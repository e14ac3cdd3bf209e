"""A lease that is stopped until somebody starts it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.domain import deadlines, idling, life, pausing, suspension
from lessor.domain.deadlines import Deadline, Due
from lessor.domain.errors import Refused
from lessor.domain.ladder import Pause, Why, untold
from lessor.domain.lease import IN_USE, Announced, Lease, State
from lessor.domain.takedown import OVER
from tests.builders import CLOSES, ENDS, HOURLY, LEASE_ID, MORNINGS, READY, a_lease
from tests.idleness import DAY, HOUR, MINUTE, after, twice_warned
from tests.refusing import refusal_code

NOW = READY + HOUR


def asked(lease: Lease, at: datetime = NOW) -> Lease:
    return pausing.ask_stop(lease, "U0", "", at).lease


def seen_stopped(lease: Lease, at: datetime = NOW) -> Lease:
    return suspension.suspended(lease, at, at).lease


@pytest.mark.parametrize(
    ("why", "event"), [(Why.IDLE, "idle-stopped"), (Why.ASKED, "pause-asked"), (Why.BUDGET, "budget-stopped")]
)
def test_a_pause_stops_what_runs_and_keeps_why(why: Why, event: str) -> None:
    change = idling.pause(twice_warned(), why, "U0", "no reason", NOW, {"cap": "500"})
    lease = change.lease
    assert (lease.state, lease.suspended_at, lease.announced) == (State.SUSPENDED, None, Announced(NOW, NOW))
    assert lease.pause == Pause(why, "U0", NOW, "no reason")
    assert lease.idle == untold(twice_warned().idle)
    assert [(e.type, e.actor, e.data) for e in change.events] == [(event, "U0", {"why": "no reason", "cap": "500"})]
    assert deadlines.next_deadline(lease, NOW) == Deadline(Due.SUSPEND, NOW)


def test_it_is_stopped_only_once_it_was_seen_so_and_then_rests_without_an_end_of_its_own() -> None:
    lease = seen_stopped(asked(a_lease(State.ACTIVE)))
    assert lease.suspended_at == NOW
    assert [span.end for span in lease.spans] == [NOW]
    assert deadlines.next_deadline(lease, NOW) == Deadline(Due.WARN, ENDS - 30 * MINUTE, 30 * MINUTE)
    assert not suspension.wanted(lease, ENDS)
    (event,) = suspension.suspended(asked(a_lease(State.ACTIVE)), NOW, NOW).events
    assert event.data == {"at": NOW.isoformat()}


def test_a_stop_that_fails_is_tried_again() -> None:
    lease = suspension.suspend_failed(asked(a_lease(State.ACTIVE)), "denied", NOW).lease
    assert deadlines.next_deadline(lease, NOW) == Deadline(Due.SUSPEND, NOW + 30 * MINUTE)


def test_what_rests_outside_its_hours_stays_stopped_when_they_open() -> None:
    night = a_lease(State.SUSPENDED)
    lease = asked(night, CLOSES + HOUR)
    assert (lease.state, lease.suspended_at) == (State.SUSPENDED, night.suspended_at)
    assert not suspension.wanted(lease, CLOSES + DAY - HOUR)
    assert deadlines.next_deadline(lease, CLOSES + HOUR) == Deadline(Due.WARN, ENDS - 30 * MINUTE, 30 * MINUTE)


def test_an_exemption_from_the_hours_starts_nothing_that_was_stopped() -> None:
    lease = asked(a_lease(State.ACTIVE, schedule=MORNINGS))
    assert refusal_code(suspension.exempt, lease, NOW + 9 * HOUR, "U0", "a long run", NOW) == "paused"


def test_it_is_paused_once_and_only_where_it_can_start_again() -> None:
    once = asked(a_lease(State.ACTIVE))
    assert refusal_code(asked, once) == "paused"
    assert refusal_code(asked, a_lease(State.ACTIVE, stoppable=False)) == "not-stoppable"


@pytest.mark.parametrize("state", [s for s in State if s not in IN_USE])
def test_only_what_is_in_use_is_paused_or_started(state: State) -> None:
    assert refusal_code(pausing.pause, a_lease(state), Why.BUDGET, "lessor", "no money", NOW) == "wrong-state"
    assert refusal_code(pausing.start, a_lease(state), "U0", NOW) == "wrong-state"


@pytest.mark.parametrize("typed", ["", "yes", "gpu-7k3qxa2n"])
def test_what_a_stop_would_lose_has_to_be_typed_out(typed: str) -> None:
    lease = replace(a_lease(State.ACTIVE), volatile=True)
    with pytest.raises(Refused, match="loses what is on its local disks, for good: type gpu-7k3qxa2m") as refused:
        pausing.ask_stop(lease, "U0", typed, NOW)
    assert refused.value.code == "needs-confirmation"
    assert pausing.ask_stop(lease, "U0", f" {LEASE_ID.upper()} ", NOW).lease.pause


def test_a_start_begins_everything_anew() -> None:
    lease = replace(seen_stopped(asked(twice_warned())), snoozes=3)
    change = pausing.start(lease, "U0", NOW + HOUR)
    started = change.lease
    assert (started.pause, started.idle, started.snoozes) == (None, None, 0)
    assert change.events[0].data == {"stopped": "asked", "since": NOW.isoformat()}
    assert deadlines.next_deadline(started, NOW + HOUR) == Deadline(Due.RESUME, NOW + HOUR)
    running = suspension.started_again(started, NOW + HOUR, NOW + HOUR).lease
    assert running.state is State.ACTIVE
    assert [(span.end is None, span.hourly) for span in running.spans] == [(False, HOURLY), (True, HOURLY)]
    assert refusal_code(pausing.start, running, "U0", NOW + 2 * HOUR) == "not-paused"


def test_whoever_starts_it_twice_is_told_that_it_starts_already() -> None:
    started = pausing.start(seen_stopped(asked(twice_warned())), "U0", NOW + HOUR).lease
    with pytest.raises(Refused, match="is being started already, or starts with its working hours"):
        pausing.start(started, "U0", NOW + HOUR)
    running = suspension.started_again(started, NOW + HOUR, NOW + HOUR).lease
    with pytest.raises(Refused, match="is active; there is nothing to start"):
        pausing.start(running, "U0", NOW + HOUR)


def test_what_is_started_outside_its_hours_waits_for_them() -> None:
    lease = pausing.start(asked(a_lease(State.SUSPENDED), CLOSES + HOUR), "U0", CLOSES + 2 * HOUR).lease
    assert suspension.runs_again(lease, CLOSES + 2 * HOUR) == CLOSES + 21 * HOUR
    assert deadlines.next_deadline(replace(lease, ends_at=ENDS + DAY), CLOSES + 2 * HOUR) == Deadline(
        Due.RESUME, CLOSES + 21 * HOUR
    )


def test_who_stops_it_while_it_is_starting_has_it_stopped() -> None:
    starting = pausing.start(seen_stopped(asked(a_lease(State.ACTIVE))), "U0", NOW + HOUR).lease
    stopped = asked(starting, NOW + HOUR)
    change = suspension.started_again(stopped, NOW + HOUR, NOW + HOUR + MINUTE)
    lease = change.lease
    assert [event.type for event in change.events] == ["started-in-vain"]
    assert (lease.state, lease.suspended_at, lease.spans[-1].end) == (State.SUSPENDED, None, None)
    assert deadlines.next_deadline(lease, NOW + HOUR + MINUTE) == Deadline(Due.SUSPEND, NOW + HOUR)


def test_who_starts_it_while_it_is_being_stopped_has_it_started() -> None:
    stopping = pausing.start(asked(a_lease(State.ACTIVE)), "U0", NOW + MINUTE).lease
    assert deadlines.next_deadline(stopping, NOW + MINUTE) == Deadline(Due.RESUME, NOW + MINUTE)
    stopped = seen_stopped(stopping, NOW + 2 * MINUTE)
    assert deadlines.next_deadline(stopped, NOW + 2 * MINUTE) == Deadline(Due.RESUME, NOW + 2 * MINUTE)


def test_a_paused_lease_is_warned_of_its_end_and_ends() -> None:
    lease = seen_stopped(asked(a_lease(State.ACTIVE)))
    lease = life.warned(lease, timedelta(minutes=30), "slack:dm", ENDS - 30 * MINUTE).lease
    ended = life.end(lease, ENDS).lease
    assert (ended.state, ended.pause, ended.idle) == (State.ENDING, None, None)


def test_nothing_of_it_is_left_once_the_lease_is_over() -> None:
    assert {"idle", "disputed", "snooze", "pause"} <= {name for name, value in OVER.items() if value is None}
    assert OVER["snoozes"] == 0
    lease = life.release(twice_warned(), "U0", after(110 * MINUTE)).lease
    assert lease.idle is None
