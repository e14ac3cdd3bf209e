"""Every lease that is led by its deadlines ends, whatever fails on the way for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain import life, transitions
from lessor.domain.deadlines import Due, next_deadline
from lessor.domain.lease import Change, Lease, State
from lessor.domain.policy import Outcome
from lessor.domain.terms import Terms
from tests.builders import (
    ASKED,
    HOURLY,
    MANAGER,
    REQUESTER,
    a_decision,
    a_quote,
    a_request,
    a_step,
    an_instance,
)
from tests.unit.machine_world import MINUTE, World, lengths, terms


class Luck:
    """Faults to come, taken one by one; when they are used up everything works."""

    def __init__(self, faults: list[int]) -> None:
        self._faults = list(faults)

    def fails(self) -> bool:
        return bool(self._faults and self._faults.pop() % 2)


def lead(lease: Lease, luck: Luck, world: World, now: datetime) -> tuple[Lease, datetime]:
    """One step of the workflow: the activity that the state asks for, or sleeping until the deadline and acting."""
    deadline = next_deadline(lease, now)
    if deadline:
        now = max(now, deadline.at)
    failed = luck.fails()
    acts: dict[State, Callable[[], Change]] = {
        State.REQUESTED: lambda: transitions.assess(
            lease, a_quote(), a_decision(Outcome.REQUIRE), (a_step(),), REQUESTER, now
        ),
        State.AWAITING_APPROVAL: lambda: (
            transitions.lapse(lease, now) if failed else transitions.approve(lease, MANAGER, lease.requested_at)
        ),
        State.APPROVED: lambda: life.start_provisioning(lease, now),
        State.WAITING_FOR_CAPACITY: lambda: life.start_provisioning(lease, now),
        State.PROVISIONING: lambda: (
            life.wait_for_capacity(lease, ("a",), now)
            if failed
            else life.ready(lease, world.create(an_instance()), "", now, HOURLY, now, stoppable=not luck.fails())
        ),
        State.ACTIVE: lambda: _active(lease, failed, now),
        State.ENDING: lambda: (
            life.start_deleting(lease, now)
            if not lease.stoppable
            else life.stop_failed(lease, "x", now)
            if failed
            else life.stopped(lease, now, now)
        ),
        State.STOPPED: lambda: life.start_deleting(lease, now),
        State.DELETING: lambda: _looked(lease, failed, world, now),
        State.BLOCKED: lambda: _looked(lease, failed, world, now),
    }
    return acts[lease.state]().lease, now


def _active(lease: Lease, failed: bool, now: datetime) -> Change:
    deadline = next_deadline(lease, now)
    assert deadline
    if deadline.due is Due.END:
        return life.end(lease, now)
    if failed:
        return life.warning_undelivered(lease, "slack is down", now + MINUTE, now)
    return life.warned(lease, deadline.before, "slack:dm", now)


def _looked(lease: Lease, failed: bool, world: World, now: datetime) -> Change:
    if not failed:
        world.delete(world.deletable)
    return life.looked(lease, world.seen(now, hidden=int(failed)), now)


@given(terms, lengths, st.booleans(), st.lists(st.integers(0, 1), max_size=60))
@settings(deadline=None)
def test_a_lease_that_follows_its_deadlines_always_ends(
    terms: Terms, length: timedelta, by_instant: bool, faults: list[int]
) -> None:
    wish = {"until": ASKED + length} if by_instant else {"duration": length}
    lease = transitions.submit("gpu-7k3qxa2m", a_request(**wish), ASKED, terms).lease
    luck, world, now, steps = Luck(faults), World(), ASKED, 0
    while not lease.final:
        lease, later = lead(lease, luck, world, now)
        assert later >= now
        now, steps = later, steps + 1
        assert steps < 60 + len(faults)
    assert not world.left
    assert all(s.end is not None for s in lease.spans)
    if lease.state is State.CLOSED and lease.ends_at and lease.warned:
        assert lease.warned[0].at + terms.notice <= now
