"""Machines that were stopped by intention and are found running, or gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import life, suspension
from lessor.domain.idle import IdleTerms
from lessor.domain.ladder import Ladder, Pause, Why
from lessor.domain.lease import Lease, Span, State
from lessor.domain.resource import COMPUTE, Condition
from tests.builders import READY, a_lease, a_sighting, an_instance
from tests.idleness import an_evidence

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
RESTED, STARTED, NOW = READY + HOUR, READY + 3 * HOUR, READY + 3 * HOUR + 5 * MINUTE


def rested(state: State) -> Lease:
    """Stopped an hour after it was ready, by its schedule, for being idle, or at its end."""
    active = a_lease()
    span = replace(active.spans[0], end=RESTED)
    if state is State.STOPPED:
        return replace(active, state=state, spans=(span,), stopped_at=RESTED, ending_reason="its end date")
    pause = Pause(Why.IDLE, "lessor", RESTED)
    idle = Ladder(an_evidence(since=READY), IdleTerms())
    return replace(active, state=state, spans=(span,), suspended_at=RESTED, pause=pause, idle=idle)


def running() -> object:
    return a_sighting(replace(an_instance(), condition=Condition.RUNNING))


def test_what_its_owner_still_has_is_in_use_again_and_billed_since_it_runs() -> None:
    lease = rested(State.SUSPENDED)
    change = life.observed(lease, running(), "running", STARTED, NOW)  # type: ignore[arg-type]
    after = change.lease
    assert (after.state, after.pause, after.suspended_at, after.idle) == (State.ACTIVE, None, None, None)
    assert after.spans == (*lease.spans, Span(STARTED, None, lease.spans[0].hourly))
    assert after.hours(NOW) == lease.hours(NOW) + 5 * MINUTE
    assert [(e.type, e.actor, e.data) for e in change.events] == [
        ("started-outside", "lessor", {"at": STARTED.isoformat(), "state": "suspended"})
    ]


def test_what_is_in_its_grace_is_stopped_again_and_the_grace_is_no_longer_for_it() -> None:
    lease = rested(State.STOPPED)
    after = life.observed(lease, running(), "running", STARTED, NOW).lease  # type: ignore[arg-type]
    assert (after.state, after.stopped_at) == (State.ENDING, RESTED)
    assert after.spans[-1] == Span(STARTED, None, lease.spans[0].hourly)
    stopped = life.stopped(after, NOW, NOW + MINUTE)
    assert (stopped.lease.state, stopped.lease.stopped_at) == (State.STOPPED, RESTED)
    assert stopped.events[0].data["deletes"] == (RESTED + lease.terms.grace).isoformat()
    assert stopped.lease.spans[-1].end == NOW


@pytest.mark.parametrize("state", [State.SUSPENDED, State.STOPPED])
def test_it_is_never_billed_from_before_it_rested_nor_from_the_future(state: State) -> None:
    for said, taken in ((READY, RESTED), (NOW + HOUR, NOW)):
        assert life.observed(rested(state), running(), "", said, NOW).lease.spans[-1].start == taken  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [State.SUSPENDED, State.STOPPED])
@pytest.mark.parametrize("condition", [Condition.STOPPED, Condition.STOPPING, Condition.PENDING, Condition.UNKNOWN])
def test_what_does_not_surely_run_changes_nothing(state: State, condition: Condition) -> None:
    sighting = a_sighting(replace(an_instance(), condition=condition))
    lease = rested(state)
    assert life.observed(lease, sighting, "running", STARTED, NOW).lease is lease
    unread = replace(a_sighting(replace(an_instance(), condition=Condition.RUNNING)), complete=False)
    assert life.observed(lease, unread, "running", STARTED, NOW).lease is lease


@pytest.mark.parametrize("state", [State.SUSPENDED, State.STOPPED])
def test_what_is_gone_while_it_rests_is_cleaned_up_after(state: State) -> None:
    sighting = a_sighting(replace(an_instance(), condition=Condition.GONE))
    lease = rested(state)
    after = life.observed(lease, sighting, "terminated outside", STARTED, NOW).lease
    assert (after.state, after.ending_reason) == (State.DELETING, "interrupted: terminated outside")
    assert after.hours(NOW) == lease.hours(NOW)


def conditions(lease: Lease) -> list[Condition]:
    return [one.condition for one in lease.resources if one.kind in COMPUTE]


def test_a_lease_shows_its_machines_as_they_were_last_seen() -> None:
    """Whoever looks at a lease reads there whether its machines run; its disks are there either way."""
    running_lease = a_lease()
    ending = replace(running_lease, state=State.ENDING, ending_reason="its end date")
    stopped = life.stopped(ending, NOW, NOW).lease
    assert conditions(stopped) == [Condition.STOPPED]
    suspended = suspension.suspended(replace(running_lease, state=State.SUSPENDED, suspended_at=None), NOW, NOW).lease
    assert conditions(suspended) == [Condition.STOPPED]
    assert conditions(suspension.started_again(suspended, NOW, NOW + MINUTE).lease) == [Condition.RUNNING]
    outside = life.observed(suspended, running(), "running", NOW, NOW + MINUTE).lease  # type: ignore[arg-type]
    assert conditions(outside) == [Condition.RUNNING]
    others = [one for one in running_lease.resources if one.kind not in COMPUTE]
    assert [one for one in stopped.resources if one.kind not in COMPUTE] == others
