"""What must hold of a lease after every change and at every moment, whatever led there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant

from lessor.domain import approval, extension, life, suspension, transitions
from lessor.domain.approval import Step
from lessor.domain.authority import require_steward
from lessor.domain.deadlines import Due, next_deadline, wish_lapses
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, IN_USE, NOTHING_YET, Change, Lease, State
from lessor.domain.people import Person
from lessor.domain.resource import Sighting
from tests.unit.machine_world import SELVES, TIMED, World

TAKEN_DOWN = (State.DELETING, State.BLOCKED)


class Laws(RuleBasedStateMachine):
    """A lease with the model beside it: the world, what people were told, how many looks in a row were clean."""

    lease: Lease
    now: datetime
    world: World
    tried: bool
    clean: int
    told: list[datetime]
    announced: datetime | None

    def steward(self, person: Person) -> bool:
        try:
            require_steward(self.lease, person)
        except Refused:
            return False
        return True

    def perform(self, act: Callable[..., Change], *arguments: Any, **named: Any) -> bool:
        """Whether `act` had an effect; a refusal goes on record and leaves the rest as it was."""
        before = self.lease
        try:
            change = act(before, *arguments, now=self.now, **named)
        except Refused as refusal:
            change = transitions.refused_attempt(before, "anybody", act.__name__, refusal, self.now)
            assert change.lease == replace(before, revision=before.revision + 1, refusal=change.lease.refusal)
            self.lease = change.lease
            return False
        self.lease = change.lease
        self.check_change(before, change)
        return change.lease != before or bool(change.events)

    def check_change(self, before: Lease, change: Change) -> None:
        after = change.lease
        assert after.revision == before.revision + len(change.events)
        for event in change.events:
            assert event.at == self.now
            assert event.actor
            assert all(isinstance(v, str) for v in event.data.values())
        assert not before.final or after is before
        if before.state is not after.state:
            assert change.events
        what = {e.type for e in change.events}
        self.check_stop(before, after, what)
        self.check_final(before, after)
        if after.state is State.APPROVED and before.state is State.AWAITING_APPROVAL:
            self.check_votes(after.steps)
        self.check_ends(before, after, what)

    def check_votes(self, steps: tuple[Step, ...]) -> None:
        """Law 6."""
        for step in steps:
            assert len(step.counted) >= step.quorum
            voters = [frozenset((v.by, *v.ids)) for v in step.votes]
            assert all(v.stood_in not in SELVES for v in step.votes)
            assert all(a.isdisjoint(b) for i, a in enumerate(voters) for b in voters[:i])
            assert all(v.isdisjoint(SELVES) for v in voters)

    def check_ends(self, before: Lease, after: Lease, what: set[str]) -> None:
        """Nothing but what people do moves an end; one that people decide on is put off no longer than allowed."""
        if before.ends_at and after.ends_at and after.ends_at > before.ends_at:
            assert what & {"extended", "restore-asked"}
        if "extension-granted" in what and "extended" in what:
            assert before.wish
            assert after.ends_at == before.wish.until
            assert after.wish is None
        if after.wish and after.ends_at and after.runs_until:
            assert after.ends_at <= after.runs_until <= after.ends_at + after.terms.extension_hold
            assert after.runs_until <= max(after.ends_at, after.wish.until)
        if before.runs_until != after.runs_until and after.state in IN_USE and before.state in IN_USE:
            assert not after.warned or self.now >= (before.runs_until or self.now)

    def check_stop(self, before: Lease, after: Lease, what: set[str]) -> None:
        """Law 4, and that grace is kept."""
        if "suspending" in what:
            assert before.state is State.ACTIVE
            assert self.announced
            assert self.now >= self.announced + min(before.terms.notice, before.terms.suspend_notice)
            assert not suspension.wanted(before, self.now)
            assert before.stoppable
        if before.state in IN_USE and after.state not in IN_USE:
            if "ended" in what:
                assert self.told
                assert self.now >= min(self.told) + before.terms.notice
                assert before.runs_until
                assert self.now >= before.runs_until
            else:
                assert what & {"released", "cancelled", "interrupted"}
            if "interrupted" in what:
                assert not self.world.running
        if before.state is State.STOPPED and after.state is State.DELETING and "deleting" in what:
            assert before.stopped_at
            assert self.now >= before.stopped_at + before.terms.grace

    def check_final(self, before: Lease, after: Lease) -> None:
        """Law 12: once anything was tried, only enough clean looks in a row end a lease."""
        if not after.final or before.final:
            return
        assert after.closed_at == self.now
        if self.tried:
            assert before.state in (State.DELETING, State.BLOCKED)
            assert self.clean >= after.terms.verify_passes
            assert not self.world.left
            assert after.proof
        else:
            assert not self.world.things
        assert (after.state is State.CLOSED) == (after.ready_at is not None)

    @invariant()
    def the_clock_is_set_where_time_must_move_it(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        reserved = self.lease.state is State.APPROVED and self.lease.request.start is not None
        assert (deadline is not None) == (self.lease.state in TIMED or reserved)
        if deadline is not None:
            assert deadline.at.tzinfo is UTC
            assert deadline.summary

    @invariant()
    def what_is_due_can_be_done(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        if deadline is None or deadline.at > self.now:
            return
        acts: dict[Due, Callable[[], Change]] = {
            Due.ASK: lambda: transitions.asking_about(self.lease, self.lease.steps, self.now),
            Due.REMIND: lambda: transitions.asking_about(self.lease, self.lease.steps, self.now),
            Due.ESCALATE: lambda: transitions.asking_about(self.lease, self.lease.steps, self.now),
            Due.LAPSE: lambda: transitions.lapse(self.lease, self.now),
            Due.START: lambda: life.start_provisioning(self.lease, self.now),
            Due.WISH: self.wish_moves_on,
            Due.SUSPEND_WARN: lambda: suspension.announced(self.lease, "slack:dm", self.now),
            Due.SUSPEND: lambda: (
                suspension.suspended(self.lease, self.now, self.now)
                if suspension.stopping(self.lease)
                else suspension.suspend(self.lease, self.now)
            ),
            Due.RESUME: lambda: suspension.started_again(self.lease, self.now, self.now),
            Due.ASK: self.asking_moves_on,
            Due.REMIND: self.asking_moves_on,
            Due.ESCALATE: self.asking_moves_on,
            Due.RETRY_CAPACITY: lambda: life.start_provisioning(self.lease, self.now),
            Due.WARN: lambda: life.warned(self.lease, deadline.before, "slack:dm", self.now),
            Due.END: lambda: life.end(self.lease, self.now),
            Due.DELETE: lambda: life.start_deleting(self.lease, self.now),
            Due.VERIFY: lambda: life.looked(self.lease, Sighting((), self.now), self.now),
            **dict.fromkeys((Due.IDLE_LOOK, Due.IDLE_WARN, Due.IDLE_FINAL, Due.IDLE_STOP), self.idle_moves_on),
        }
        assert acts[deadline.due]().lease != self.lease

    @invariant()
    def whoever_is_asked_has_a_clock_and_no_decision_is_left_over(self) -> None:
        if self.lease.state is not State.AWAITING_APPROVAL:
            assert self.lease.counter is None or self.lease.state in (State.REQUESTED, *FINAL, *TAKEN_DOWN)
            return
        waiting = approval.waiting(self.lease.steps)
        assert waiting
        assert all((step.asked_at is None) == (step.lapses_at is None) for step in waiting)
        assert not self.lease.decided_by

    def wish_moves_on(self) -> Change:
        lapses_at = wish_lapses(self.lease)
        assert lapses_at
        assert self.lease.wish
        if lapses_at <= self.now:
            return extension.lapse(self.lease, self.now)
        return extension.staffed(self.lease, self.lease.wish.steps, self.now)

    def idle_moves_on(self) -> Change:
        """What is due of a lease that does nothing."""
        raise NotImplementedError

    def asking_moves_on(self) -> Change:
        return transitions.asking_about(self.lease, self.lease.steps, self.now)

    @invariant()
    def what_runs_outside_its_hours_is_going_to_stop(self) -> None:
        lease = self.lease
        soon = self.now + lease.terms.suspend_notice
        opens = suspension.wanted(lease, self.now) or suspension.wanted(lease, soon)
        if lease.state is not State.ACTIVE or opens or not lease.stoppable:
            return
        deadline = next_deadline(lease, self.now)
        assert deadline
        assert deadline.at <= self.now + lease.terms.suspend_notice or deadline.due is Due.END

    @invariant()
    def what_rests_is_going_to_run(self) -> None:
        lease = self.lease
        if lease.state is State.SUSPENDED and lease.pause is None:
            deadline = next_deadline(lease, self.now)
            assert deadline
            again = suspension.runs_again(lease, max(self.now, lease.capacity.next_try if lease.capacity else self.now))
            assert deadline.at <= again or deadline.due in (Due.WARN, Due.END)

    @invariant()
    def an_end_is_never_beyond_the_longest_total(self) -> None:
        if self.lease.ends_at and self.lease.last_end:
            assert self.lease.ends_at <= self.lease.last_end

    @invariant()
    def billed_time_has_no_overlap_and_stops_with_the_resource(self) -> None:
        spans, state = self.lease.spans, self.lease.state
        for earlier, later in pairwise(spans):
            assert earlier.end is not None
            assert earlier.end <= later.start
        running = any(s.end is None for s in spans)
        if state is State.ACTIVE:
            assert running
        if state is State.STOPPED or self.lease.suspended_at:
            assert not self.world.running
            assert not running
        if state in (State.STOPPED, *FINAL, *NOTHING_YET):
            assert not running
        cost = self.lease.cost(self.now)
        known = all(s.hourly is not None for s in spans)
        assert (cost is not None) == known
        assert cost is None or cost.amount >= 0
        assert self.lease.hours(self.now) >= timedelta()
