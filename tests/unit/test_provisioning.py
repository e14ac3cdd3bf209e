"""From approval to a usable machine, and what becomes of one that cannot be had."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest

from lessor.domain import life
from lessor.domain.billing import Span
from lessor.domain.lease import Capacity, Event, Lease, State
from lessor.domain.terms import Terms
from tests.builders import (
    ACCESS,
    APPROVED,
    ASKED,
    ENDS,
    HOURLY,
    LAUNCHED,
    READY,
    RESOURCES,
    a_lease,
    a_request,
    usd,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OWNER = "U0REQUESTER"
TRIED = ("p4de.24xlarge in us-east-1a (on-demand)", "p4de.24xlarge in us-east-1b (on-demand)")


def restoring() -> Lease:
    return life.restore(a_lease(State.STOPPED), ENDS + 2 * DAY, OWNER, ENDS + HOUR).lease


def test_every_try_to_provision_is_counted() -> None:
    first = life.start_provisioning(a_lease(State.APPROVED), APPROVED)
    assert first.lease.state is State.PROVISIONING
    assert first.events == (Event("provisioning", APPROVED, "lessor", {"try": "1"}),)
    again = life.start_provisioning(a_lease(State.WAITING_FOR_CAPACITY), READY + HOUR)
    assert again.events == (Event("provisioning", READY + HOUR, "lessor", {"try": "2"}),)


def test_no_capacity_is_waited_for_longer_and_longer_then_everything_is_undone() -> None:
    lease, now = a_lease(State.PROVISIONING), READY
    for tries, wait in enumerate((HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR), start=1):
        change = life.wait_for_capacity(lease, TRIED, now)
        assert change.lease.state is State.WAITING_FOR_CAPACITY
        assert change.lease.capacity == Capacity(tries, TRIED, now + wait, READY)
        data = {"tried": ", ".join(TRIED), "next_try": (now + wait).isoformat()}
        assert change.events == (Event("no-capacity", now, "lessor", data),)
        now += wait
        lease = life.start_provisioning(change.lease, now).lease
    change = life.wait_for_capacity(lease, TRIED, now)
    assert (change.lease.state, change.lease.outcome) == (State.DELETING, State.FAILED)
    assert change.lease.problem == f"no capacity after 5 tries; tried {', '.join(TRIED)}"
    assert [e.type for e in change.events] == ["provisioning-failed"]


def test_without_waits_one_try_is_all() -> None:
    lease = a_lease(State.PROVISIONING, terms=replace(Terms(), capacity_waits=()))
    assert life.wait_for_capacity(lease, (), READY).lease.problem == "no capacity after 1 try; tried nothing"


def test_nobody_waits_for_capacity_beyond_the_end_that_was_asked_for() -> None:
    lease = a_lease(State.PROVISIONING, request=a_request(until=READY + HOUR))
    assert life.wait_for_capacity(lease, TRIED, READY - MINUTE).lease.state is State.WAITING_FOR_CAPACITY
    change = life.wait_for_capacity(lease, TRIED, READY)
    assert change.lease.state is State.DELETING
    assert change.lease.problem.startswith("no capacity, and the end asked for comes before the next try; tried p4de")


def test_failing_before_any_try_is_final_at_once() -> None:
    change = life.fail(a_lease(State.APPROVED), "no such place", READY)
    assert (change.lease.state, change.lease.problem, change.lease.closed_at) == (State.FAILED, "no such place", READY)
    assert change.events == (Event("failed", READY, "lessor", {"problem": "no such place"}),)


@pytest.mark.parametrize("state", [State.PROVISIONING, State.WAITING_FOR_CAPACITY])
def test_failing_once_something_was_tried_undoes_it_first(state: State) -> None:
    change = life.fail(a_lease(state), "access denied", READY)
    lease = change.lease
    assert (lease.state, lease.outcome, lease.deleting_at) == (State.DELETING, State.FAILED, READY)
    assert (lease.problem, lease.ending_reason, lease.closed_at) == ("access denied", "access denied", None)
    assert change.events == (Event("provisioning-failed", READY, "lessor", {"problem": "access denied"}),)


def test_the_clock_starts_when_it_is_usable_and_the_bill_at_launch() -> None:
    change = life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, LAUNCHED, usd("0.526"), READY)
    lease = change.lease
    assert (lease.state, lease.ready_at, lease.ends_at, lease.end_set_at) == (State.ACTIVE, READY, ENDS, READY)
    assert lease.spans == (Span(LAUNCHED, None, usd("0.526")),)
    assert (lease.resources, lease.access, lease.capacity) == (RESOURCES, ACCESS, None)
    data = {"resources": "instance:i-0aaa, volume:vol-0aaa", "ends": ENDS.isoformat(), "hourly": "0.526 USD"}
    assert change.events == (Event("ready", READY, "lessor", data),)


def test_a_launch_after_waiting_forgets_the_waits_and_knows_whether_it_can_be_stopped() -> None:
    lease = life.start_provisioning(a_lease(State.WAITING_FOR_CAPACITY), READY + HOUR).lease
    usual = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY + HOUR).lease
    assert (usual.capacity, usual.stoppable) == (None, True)
    spot = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY + HOUR, stoppable=False).lease
    assert spot.stoppable is False


def test_an_end_that_was_asked_for_stays_where_it_is() -> None:
    lease = a_lease(State.PROVISIONING, request=a_request(until=ASKED + 5 * HOUR))
    change = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY)
    assert change.lease.ends_at == ASKED + 5 * HOUR
    assert change.events[0].data["hourly"] == "unknown"


def test_no_lease_is_longer_than_the_longest_total() -> None:
    terms = replace(Terms(), max_total=3 * DAY)
    for request in (a_request(duration=4 * DAY), a_request(until=ASKED + 4 * DAY)):
        lease = a_lease(State.PROVISIONING, request=request, terms=terms)
        got = life.ready(lease, RESOURCES, ACCESS, LAUNCHED, None, READY).lease
        assert got.ends_at == got.last_end == READY + 3 * DAY
        assert got.allowance == timedelta()


def test_a_launch_time_in_another_zone_or_after_now_does_no_harm() -> None:
    late = READY + MINUTE
    local = late.astimezone(ZoneInfo("Asia/Tokyo"))
    lease = life.ready(a_lease(State.PROVISIONING), RESOURCES, ACCESS, local, HOURLY, READY).lease
    assert lease.spans[0].start == late
    assert lease.spans[0].start.tzinfo is UTC
    assert (lease.cost(READY), lease.hours(READY)) == (usd("0.00"), timedelta())


def test_a_restore_is_not_taken_for_a_first_launch_nor_the_other_way_round() -> None:
    again = ("wrong-state", "gpu-7k3qxa2m is being started again")
    first = ("wrong-state", "gpu-7k3qxa2m is being created")
    assert refusal(life.ready, restoring(), RESOURCES, ACCESS, LAUNCHED, None, ENDS) == again
    assert refusal(life.restored, a_lease(State.PROVISIONING), READY, READY) == first
    assert refusal(life.restore_failed, a_lease(State.PROVISIONING), "no", READY)[0] == "wrong-state"
