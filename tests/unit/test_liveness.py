"""Every lease that is led by its deadlines ends, whatever fails on the way for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain import extension, life, suspension, transitions
from lessor.domain.deadlines import Due, next_deadline, wish_lapses
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Lease, State
from lessor.domain.policy import Outcome
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
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
from tests.unit.machine_world import HOUR, MINUTE, World, lengths, nights, schedules, starts, terms


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
        State.AWAITING_APPROVAL: lambda: _decided(lease, failed, now),
        State.APPROVED: lambda: life.start_provisioning(lease, now),
        State.WAITING_FOR_CAPACITY: lambda: life.start_provisioning(lease, now),
        State.PROVISIONING: lambda: (
            life.wait_for_capacity(lease, ("a",), now)
            if failed
            else life.ready(lease, world.create(an_instance()), "", now, HOURLY, now, stoppable=not luck.fails())
        ),
        State.ACTIVE: lambda: _in_use(lease, failed, now),
        State.SUSPENDED: lambda: _in_use(lease, failed, now),
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


def _decided(lease: Lease, silent: bool, now: datetime) -> Change:
    deadline = next_deadline(lease, now)
    assert deadline
    if deadline.due is Due.LAPSE:
        return transitions.lapse(lease, now)
    if silent:
        return transitions.asking_about(lease, lease.steps, now)
    return transitions.approve(lease, MANAGER, lease.requested_at)


def _in_use(lease: Lease, failed: bool, now: datetime) -> Change:
    deadline = next_deadline(lease, now)
    assert deadline
    stopping = suspension.stopping(lease)
    acts: dict[Due, Callable[[], Change]] = {
        Due.END: lambda: life.end(lease, now),
        Due.WISH: lambda: _wished(lease, failed, now),
        Due.RESUME: lambda: (
            suspension.resume_failed(lease, "x", now) if failed else suspension.started_again(lease, now, now)
        ),
        Due.SUSPEND: lambda: (
            suspension.suspend(lease, now)
            if not stopping
            else suspension.suspend_failed(lease, "x", now)
            if failed
            else suspension.suspended(lease, now, now)
        ),
        Due.SUSPEND_WARN: lambda: suspension.announced(lease, "slack:dm", now),
        Due.WARN: lambda: life.warned(lease, deadline.before, "slack:dm", now),
    }
    if failed and deadline.due in (Due.WARN, Due.SUSPEND_WARN):
        return life.warning_undelivered(lease, "slack is down", now + MINUTE, now)
    return acts[deadline.due]()


def _wished(lease: Lease, silent: bool, now: datetime) -> Change:
    lapses_at = wish_lapses(lease)
    assert lapses_at
    assert lease.wish
    if lapses_at <= now:
        return extension.lapse(lease, now)
    too_late = lease.wish.until < now + lease.terms.min_duration
    if silent or too_late:
        return extension.staffed(lease, lease.wish.steps, now)
    return extension.grant(lease, MANAGER, now)


def _looked(lease: Lease, failed: bool, world: World, now: datetime) -> Change:
    if not failed:
        world.delete(world.deletable)
    return life.looked(lease, world.seen(now, hidden=int(failed)), now)


eager = st.lists(st.integers(0, 1), max_size=20)


@given(terms, lengths, st.booleans(), st.lists(st.integers(0, 1), max_size=60), schedules, nights, starts, eager)
@settings(deadline=None)
def test_a_lease_that_follows_its_deadlines_always_ends(
    terms: Terms,
    length: timedelta,
    by_instant: bool,
    faults: list[int],
    schedule: Hours | None,
    awake: Hours | None,
    start: timedelta | None,
    wishes: list[int],
) -> None:
    begins = ASKED + start if start else None
    wish = {"until": (begins or ASKED) + length} if by_instant else {"duration": length}
    lease = transitions.submit("gpu-7k3qxa2m", a_request(**wish, start=begins), ASKED, terms).lease
    lease = suspension.given(lease, schedule, awake)
    luck, world, now, steps, eagerness = Luck(faults), World(), ASKED, 0, Luck(wishes)
    while not lease.final:
        lease, later = lead(lease, luck, world, now)
        assert later >= now
        lease = wished(lease, eagerness, later)
        now, steps = later, steps + 1
        assert steps < 400 + 2 * len(faults)
    assert not world.left
    assert all(s.end is not None for s in lease.spans)
    if lease.state is State.CLOSED and lease.ends_at and lease.warned:
        assert lease.warned[0].at + terms.notice <= now


def wished(lease: Lease, eagerness: Luck, now: datetime) -> Lease:
    """Now and then the owner asks for a later end, as far as that is allowed."""
    if not eagerness.fails() or lease.ends_at is None:
        return lease
    try:
        return extension.ask(lease, lease.ends_at + HOUR, REQUESTER, "", (a_step(),), (), now).lease
    except Refused:
        return lease
