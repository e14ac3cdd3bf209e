"""Any order of commands, clock steps and faults: the laws hold, and every lease that is led by its deadlines ends.

Beside the lease runs a model of the world (what exists in the place) and of what people were told. Looks show the
world truthfully or say that they are incomplete; nothing else is assumed about callers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lessor.domain import life, transitions
from lessor.domain.authority import require_steward
from lessor.domain.deadlines import Due, next_deadline
from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, NOTHING_YET, Change, Lease, State, Terms
from lessor.domain.people import Person
from lessor.domain.policy import Outcome
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from tests.builders import (
    ADMIN,
    ASKED,
    FINANCE,
    HOURLY,
    MANAGER,
    REQUESTER,
    STRANGER,
    a_decision,
    a_person,
    a_quote,
    a_request,
    a_snapshot,
    a_step,
    a_volume,
    an_instance,
)

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

OTHER_SELF = a_person("W0REQUESTER", leads=("ml",), groups=("finance",), admin=True)
BY_MAIL = a_person("U0MAIL", email="Requester@example.test", leads=("ml",), groups=("finance",))
GONE_LEAD = a_person("U0GONE", leads=("ml",), groups=("finance",), active=False)
SECOND_LEAD = a_person("U0SECOND", leads=("ml",), groups=("finance",))
SAME_LEAD = a_person("W0SECOND", ids=("W0SECOND", "U0SECOND"), leads=("ml",), groups=("finance",))
PEOPLE = (
    REQUESTER,
    OTHER_SELF,
    BY_MAIL,
    MANAGER,
    FINANCE,
    ADMIN,
    STRANGER,
    GONE_LEAD,
    SECOND_LEAD,
    SAME_LEAD,
)
SELVES = frozenset({"U0REQUESTER", "W0REQUESTER", "U0MAIL", "requester@example.test"})

people = st.sampled_from(PEOPLE)
steps_of_time = st.sampled_from(
    [timedelta(), timedelta(seconds=1), MINUTE, 20 * MINUTE, HOUR, 9 * HOUR, 3 * DAY, 9 * DAY]
)
terms = st.builds(
    Terms,
    notice=st.sampled_from([timedelta(seconds=10), 5 * MINUTE, HOUR]),
    warnings=st.sampled_from([Terms().warnings, (), (MINUTE,)]),
    short_warnings=st.sampled_from([Terms().short_warnings, (), (timedelta(seconds=30),)]),
    max_total=st.sampled_from([DAY, 30 * DAY]),
    capacity_waits=st.sampled_from([(), (MINUTE,), Terms().capacity_waits]),
    verify_passes=st.sampled_from([1, 2, 3]),
    grace=st.sampled_from([timedelta(), HOUR, 7 * DAY]),
)
lengths = st.sampled_from([MINUTE, 20 * MINUTE, 8 * HOUR, 3 * DAY, 40 * DAY])
TIMED = {
    State.AWAITING_APPROVAL,
    State.WAITING_FOR_CAPACITY,
    State.ACTIVE,
    State.STOPPED,
    State.DELETING,
    State.BLOCKED,
}


STARTS = (
    State.REQUESTED,
    State.AWAITING_APPROVAL,
    State.APPROVED,
    State.PROVISIONING,
    State.ACTIVE,
    State.ACTIVE,
    State.STOPPED,
    State.STOPPED,
)


class World:
    """What exists in the place, whatever the lease knows of it."""

    def __init__(self) -> None:
        self.things: dict[str, Resource] = {}

    def create(self, *things: Resource) -> tuple[Resource, ...]:
        self.things |= {r.ref: r for r in things}
        return things

    def turn(self, kind: Kind, condition: Condition) -> None:
        self.things = {
            ref: replace(r, condition=condition) if r.kind is kind and r.condition is not Condition.GONE else r
            for ref, r in self.things.items()
        }

    def delete(self, refs: list[str]) -> None:
        for ref in refs:
            self.things[ref] = replace(self.things[ref], condition=Condition.GONE)

    @property
    def deletable(self) -> list[str]:
        return [ref for ref, r in self.things.items() if r.kind is not Kind.SNAPSHOT]

    @property
    def running(self) -> bool:
        return any(r.kind is Kind.INSTANCE and r.condition is Condition.RUNNING for r in self.things.values())

    @property
    def left(self) -> bool:
        return any(self.things[ref].condition is not Condition.GONE for ref in self.deletable)

    def seen(self, at: datetime, hidden: int = 0) -> Sighting:
        shown = tuple(self.things.values())[hidden:]
        return Sighting(shown, at, complete=not hidden, problem="throttled" if hidden else "")


def in_states(*states: State) -> Callable[[Any], Any]:
    return precondition(lambda self: self.lease.state in states)


rarely = st.sampled_from([False] * 11 + [True])
"""For what ends a lease early: often enough to be seen, seldom enough that most leases live on."""


class LeaseMachine(RuleBasedStateMachine):
    """Every command may be tried at any time by anybody; what the domain refuses must change nothing."""

    @initialize(
        terms=terms,
        length=lengths,
        by_instant=st.booleans(),
        snapshot=st.booleans(),
        known=st.booleans(),
        quorum=st.integers(1, 2),
        start=st.sampled_from(STARTS),
    )
    def submit(
        self,
        terms: Terms,
        length: timedelta,
        by_instant: bool,
        snapshot: bool,
        known: bool,
        quorum: int,
        start: State,
    ) -> None:
        self.now = ASKED
        wish = {"until": ASKED + length} if by_instant else {"duration": length}
        request = a_request(snapshot=snapshot, **wish)
        self.quote = a_quote(HOURLY if known else None)
        self.steps = (a_step(quorum=quorum), a_step("budget", "group:finance"))
        self.lease = transitions.submit("gpu-7k3qxa2m", request, self.now, terms).lease
        self.world = World()
        self.tried = False
        self.clean = 0
        self.told: list[datetime] = []
        self.head_start(start)

    def head_start(self, start: State) -> None:
        """Most runs begin further on, since what ends a lease early would keep most of them from a long life."""
        if start is State.REQUESTED:
            return
        self.assess(Outcome.REQUIRE if start is State.AWAITING_APPROVAL else Outcome.APPROVE)
        if start in (State.PROVISIONING, State.ACTIVE, State.STOPPED):
            self.start_provisioning()
        if start in (State.ACTIVE, State.STOPPED):
            self.provisioned("ready", stoppable=True, ago=3 * MINUTE)
        while start is State.STOPPED is not self.lease.state:
            self.life_goes_on(times=1)

    # --- the clock

    @rule(step=steps_of_time)
    def time_passes(self, step: timedelta) -> None:
        before = self.lease.cost(self.now)
        self.now += step
        after = self.lease.cost(self.now)
        if before is None or after is None:
            assert before is after
            return
        if any(s.end is None for s in self.lease.spans):
            assert after >= before
        else:
            assert after == before

    @rule()
    def time_passes_to_the_deadline(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        if deadline:
            self.now = max(self.now, deadline.at)

    @rule(times=st.integers(1, 4))
    def life_goes_on(self, times: int) -> None:
        """What the workflow does next when nothing fails, so that runs get far."""
        for turn in range(times):
            if turn and self.lease.state in (State.PROVISIONING, State.STOPPED, State.DELETING):
                return
            if self.lease.state in TIMED - {State.AWAITING_APPROVAL}:
                self.time_passes_to_the_deadline()
            usual: dict[State, Callable[[], object]] = {
                State.REQUESTED: lambda: self.assess(Outcome.REQUIRE),
                State.AWAITING_APPROVAL: lambda: [self.approve(p) for p in (MANAGER, SECOND_LEAD, FINANCE)],
                State.APPROVED: self.start_provisioning,
                State.WAITING_FOR_CAPACITY: self.start_provisioning,
                State.PROVISIONING: self._made,
                State.ACTIVE: self._warned_or_ended,
                State.ENDING: lambda: self.stop(works=True, ago=MINUTE),
                State.STOPPED: self.start_deleting,
                State.DELETING: self._taken_down,
                State.BLOCKED: self._taken_down,
            }
            usual.get(self.lease.state, lambda: None)()

    def _made(self) -> None:
        if self.lease.restoring:
            self.restarted(works=True, runs=True)
        else:
            self.provisioned("ready", stoppable=True, ago=MINUTE)

    def _warned_or_ended(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        if deadline and deadline.due is Due.WARN:
            self.warn(delivered=True, before=deadline.before)
        else:
            self.end()

    def _taken_down(self) -> None:
        self.world.delete(self.world.deletable)
        self.looked(hidden=0)

    # --- people

    @in_states(State.AWAITING_APPROVAL, State.DENIED)
    @rule(person=people)
    def approve(self, person: Person) -> None:
        before = self.lease
        if self.perform(transitions.approve, person):
            assert before.state is State.AWAITING_APPROVAL
            assert not (person.all_ids & SELVES)
            assert person.active

    @in_states(State.AWAITING_APPROVAL)
    @rule(person=people, really=rarely)
    def deny(self, person: Person, really: bool) -> None:
        if really and self.perform(transitions.deny, person, "no"):
            assert not (person.all_ids & SELVES)
            assert person.active

    @rule(person=people, really=rarely)
    def withdraw(self, person: Person, really: bool) -> None:
        if really and self.perform(transitions.withdraw, person.id):
            assert person.id in SELVES

    @in_states(State.ACTIVE, State.STOPPED)
    @rule(person=people, length=lengths)
    def extend(self, person: Person, length: timedelta) -> None:
        if self.steward(person) and self.perform(life.extend, self.now + length, person.id, ""):
            self.told = []

    @in_states(State.STOPPED)
    @rule(person=people, length=lengths)
    def restore(self, person: Person, length: timedelta) -> None:
        if self.steward(person):
            self.perform(life.restore, self.now + length, person.id)

    @in_states(State.ACTIVE, State.STOPPED)
    @rule(person=people, really=rarely)
    def release_or_keep(self, person: Person, really: bool) -> None:
        if self.steward(person):
            self.perform(life.release if really else life.keep, person.id)

    @rule(really=rarely)
    def cancel(self, really: bool) -> None:
        if not really:
            return
        before = self.lease
        assert self.perform(life.cancel, "operator") is not before.final
        if before.state not in NOTHING_YET and not before.final:
            assert self.lease.state in (State.DELETING, State.BLOCKED)

    # --- the workflow

    @in_states(State.REQUESTED)
    @rule(outcome=st.sampled_from([Outcome.REQUIRE, Outcome.REQUIRE, Outcome.APPROVE, Outcome.APPROVE, Outcome.DENY]))
    def assess(self, outcome: Outcome) -> None:
        steps = self.steps if outcome is Outcome.REQUIRE else ()
        self.perform(transitions.assess, self.quote, a_decision(outcome), steps, REQUESTER)

    @in_states(State.APPROVED)
    @rule(dearer=st.booleans())
    def requote(self, dearer: bool) -> None:
        hourly = self.quote.offer.hourly
        quote = a_quote(hourly * 2 if hourly and dearer else hourly)
        self.perform(transitions.requote, quote, self.steps)

    @in_states(State.AWAITING_APPROVAL)
    @rule()
    def lapse(self) -> None:
        self.perform(transitions.lapse)

    @in_states(State.APPROVED, State.WAITING_FOR_CAPACITY)
    @rule()
    def start_provisioning(self) -> None:
        self.tried |= self.perform(life.start_provisioning)

    @precondition(lambda self: self.lease.state is State.PROVISIONING and not self.lease.restoring)
    @rule(
        what=st.sampled_from(["ready"] * 5 + ["capacity", "capacity", "failed", "failed half-way"]),
        stoppable=st.booleans(),
        ago=st.sampled_from([timedelta(), 3 * MINUTE, -MINUTE]),
    )
    def provisioned(self, what: str, stoppable: bool, ago: timedelta) -> None:
        if what == "capacity":
            self.perform(life.wait_for_capacity, ("a",))
        elif what.startswith("failed"):
            if what == "failed half-way":
                self.world.create(an_instance(), a_volume())
            self.perform(life.fail, "denied")
        else:
            made = self.world.create(an_instance(), a_volume())
            hourly = self.quote.offer.hourly
            self.perform(life.ready, made, "", self.now - ago, hourly, stoppable=stoppable)
            self.told = []

    @precondition(lambda self: self.lease.state in (State.DELETING, State.BLOCKED) and not self.lease.ready_at)
    @rule()
    def launched_late(self) -> None:
        made = self.world.create(an_instance("i-late"))
        self.perform(life.launched_late, made, self.now - MINUTE, self.quote.offer.hourly)
        self.clean = 0

    @precondition(lambda self: self.lease.restoring)
    @rule(works=st.booleans(), runs=st.booleans())
    def restarted(self, works: bool, runs: bool) -> None:
        if works or runs:
            self.world.turn(Kind.INSTANCE, Condition.RUNNING)
        if works:
            self.perform(life.restored, self.now)
            self.told = []
        else:
            self.perform(life.restore_failed, "no capacity")

    @in_states(State.ACTIVE)
    @rule(delivered=st.booleans(), before=st.sampled_from([timedelta(), 5 * MINUTE, HOUR]))
    def warn(self, delivered: bool, before: timedelta) -> None:
        if delivered:
            if self.perform(life.warned, before, "slack:dm"):
                self.told.append(self.now)
        else:
            self.perform(life.warning_undelivered, "slack is down", self.now + MINUTE)

    @in_states(State.ACTIVE)
    @rule()
    def end(self) -> None:
        self.perform(life.end)

    @precondition(lambda self: self.lease.state is State.ENDING)
    @rule(works=st.booleans(), ago=st.sampled_from([timedelta(), MINUTE, -MINUTE]))
    def stop(self, works: bool, ago: timedelta) -> None:
        if not self.lease.stoppable:
            self.perform(life.start_deleting)
        elif works:
            self.world.turn(Kind.INSTANCE, Condition.STOPPED)
            self.perform(life.stopped, self.now - ago)
        else:
            self.perform(life.stop_failed, "denied")

    @in_states(State.STOPPED, State.ACTIVE)
    @rule()
    def start_deleting(self) -> None:
        self.perform(life.start_deleting, reason="grace is over")

    @in_states(State.ACTIVE, State.ENDING)
    @rule(condition=st.sampled_from(list(Condition)), truthful=st.booleans(), really=rarely)
    def outside(self, condition: Condition, truthful: bool, really: bool) -> None:
        """Somebody outside touches the instance; the watch reports it, and the second look is complete or not."""
        if really and condition is not Condition.UNKNOWN:
            self.world.turn(Kind.INSTANCE, condition)
        shown = replace(self.world.seen(self.now), complete=truthful)
        if self.lease.state is State.ENDING and condition is Condition.GONE and really:
            self.perform(life.lost, "reported", self.now - MINUTE)
        else:
            self.perform(life.observed, shown, "reported", self.now - MINUTE)

    @in_states(State.DELETING, State.BLOCKED)
    @rule(data=st.data(), hidden=st.integers(0, 1), snapshot=st.booleans())
    def look(self, data: st.DataObject, hidden: int, snapshot: bool) -> None:
        if snapshot and self.lease.request.snapshot:
            self.world.create(a_snapshot())
        refs = self.world.deletable
        self.world.delete(data.draw(st.lists(st.sampled_from(refs), unique=True)) if refs else [])
        self.looked(hidden)

    def looked(self, hidden: int) -> None:
        self.clean = 0 if hidden or self.world.left else self.clean + 1
        self.perform(life.looked, self.world.seen(self.now, hidden))

    # --- what must hold

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
            assert change.lease == replace(before, revision=before.revision + 1)
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
            for step in after.steps:
                assert len(step.votes) >= step.quorum
                voters = [frozenset((v.by, *v.ids)) for v in step.votes]
                assert all(a.isdisjoint(b) for i, a in enumerate(voters) for b in voters[:i])
                assert all(v.isdisjoint(SELVES) for v in voters)

    def check_stop(self, before: Lease, after: Lease, what: set[str]) -> None:
        """Law 4, and that grace is kept."""
        if before.state is State.ACTIVE and after.state is not State.ACTIVE:
            if "ended" in what:
                assert self.told
                assert self.now >= min(self.told) + before.terms.notice
                assert before.ends_at
                assert self.now >= before.ends_at
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
        assert (deadline is not None) == (self.lease.state in TIMED)
        if deadline is not None:
            assert deadline.at.tzinfo is UTC
            assert deadline.summary

    @invariant()
    def what_is_due_can_be_done(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        if deadline is None or deadline.at > self.now:
            return
        acts: dict[Due, Callable[[], Change]] = {
            Due.LAPSE: lambda: transitions.lapse(self.lease, self.now),
            Due.RETRY_CAPACITY: lambda: life.start_provisioning(self.lease, self.now),
            Due.WARN: lambda: life.warned(self.lease, deadline.before, "slack:dm", self.now),
            Due.END: lambda: life.end(self.lease, self.now),
            Due.DELETE: lambda: life.start_deleting(self.lease, self.now),
            Due.VERIFY: lambda: life.looked(self.lease, Sighting((), self.now), self.now),
        }
        assert acts[deadline.due]().lease != self.lease

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
        if state is State.STOPPED:
            assert not self.world.running
        if state in (State.STOPPED, *FINAL, *NOTHING_YET):
            assert not running
        cost = self.lease.cost(self.now)
        known = all(s.hourly is not None for s in spans)
        assert (cost is not None) == known
        assert cost is None or cost.amount >= 0
        assert self.lease.hours(self.now) >= timedelta()


LeaseMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeaseMachine = LeaseMachine.TestCase


# --- liveness


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
