"""A lease that stands in a cluster's queue: told once, looked at often, and given up when its own waits are over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Notice
from lessor.domain import life, waiting
from lessor.domain.lease import Capacity, Event, State
from tests.builders import READY, a_lease
from workflows.notices import notices

STANDS = ("2 x A100-80GB in lab, number 2 of 3 that wait in queue gpus",)
LOOK = timedelta(minutes=10)


def test_it_keeps_its_turn_and_is_told_once() -> None:
    change = waiting.wait_in_queue(a_lease(State.PROVISIONING), STANDS, READY)
    lease = change.lease
    assert (lease.state, lease.capacity) == (
        State.WAITING_FOR_CAPACITY,
        Capacity(1, STANDS, READY + LOOK, READY, queued=True),
    )
    looks = (READY + LOOK).isoformat()
    assert change.events == (Event("queued", READY, "lessor", {"where": STANDS[0], "looks": looks}),)
    assert notices(lease, change.events) == (Notice.WAITING,)
    moved = ("2 x A100-80GB in lab, number 1 of 2 that wait in queue gpus",)
    again = life.start_provisioning(lease, READY + LOOK).lease
    change = waiting.wait_in_queue(again, moved, READY + LOOK)
    assert [event.type for event in change.events] == ["still-queued"]
    assert notices(change.lease, change.events) == ()
    assert change.lease.capacity == Capacity(1, moved, READY + 2 * LOOK, READY, queued=True)


def test_it_waits_as_long_as_the_waits_of_its_terms_together() -> None:
    lease = a_lease(State.PROVISIONING)
    waits = sum(lease.terms.capacity_waits, timedelta())
    assert waits == timedelta(hours=15)
    queued = replace(lease, capacity=Capacity(1, STANDS, READY, READY, queued=True))
    last = READY + waits - LOOK
    assert waiting.wait_in_queue(queued, STANDS, last).lease.state is State.WAITING_FOR_CAPACITY
    change = waiting.wait_in_queue(queued, STANDS, last + timedelta(seconds=1))
    assert (change.lease.state, change.lease.outcome) == (State.DELETING, State.FAILED)
    assert change.lease.problem == f"its turn did not come within 15 h; it was {STANDS[0]}"


@pytest.mark.parametrize(("minutes", "state"), [(10, State.DELETING), (11, State.WAITING_FOR_CAPACITY)])
def test_an_end_that_comes_first_ends_the_wait(minutes: int, state: State) -> None:
    lease = a_lease(State.PROVISIONING)
    lease = replace(lease, request=replace(lease.request, until=READY + timedelta(minutes=minutes)))
    assert waiting.wait_in_queue(lease, STANDS, READY).lease.state is state


def test_tries_without_any_queue_before_are_counted_with_it() -> None:
    lease = a_lease(State.PROVISIONING)
    tried = replace(lease, capacity=Capacity(2, ("lab",), READY, READY - timedelta(hours=3)))
    found = waiting.wait_in_queue(tried, STANDS, READY).lease.capacity
    assert found == Capacity(3, STANDS, READY + LOOK, READY - timedelta(hours=3), queued=True)
