"""Any order of commands, clock steps and faults: the laws hold.

Beside the lease runs a model of the world (what exists in the place) and of what people were told. Looks show the
world truthfully or say that they are incomplete; nothing else is assumed about callers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from lessor.domain import life, suspension, transitions
from lessor.domain.deadlines import Due, next_deadline
from lessor.domain.idle import Verdict
from lessor.domain.lease import IN_USE, State
from lessor.domain.policy import Outcome
from lessor.domain.resource import Condition, Kind
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from tests.builders import (
    ASKED,
    FINANCE,
    HOURLY,
    MANAGER,
    REQUESTER,
    a_decision,
    a_quote,
    a_request,
    a_snapshot,
    a_step,
    a_volume,
    an_instance,
)
from tests.unit.machine_idle import Idling
from tests.unit.machine_people import in_states, rarely
from tests.unit.machine_world import (
    MINUTE,
    SECOND_LEAD,
    STARTS,
    TIMED,
    World,
    lengths,
    nights,
    schedules,
    starts,
    steps_of_time,
    terms,
)


class LeaseMachine(Idling):
    """Every command may be tried at any time by anybody; what the domain refuses must change nothing."""

    @initialize(
        terms=terms,
        length=lengths,
        by_instant=st.booleans(),
        snapshot=st.booleans(),
        known=st.booleans(),
        quorum=st.integers(1, 2),
        start=st.sampled_from(STARTS),
        schedule=schedules,
        ahead=starts,
        awake=nights,
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
        schedule: Hours | None,
        ahead: timedelta | None,
        awake: Hours | None,
    ) -> None:
        self.now = ASKED
        begins = ASKED + ahead if ahead else None
        wish = {"until": (begins or ASKED) + length} if by_instant else {"duration": length}
        request = a_request(snapshot=snapshot, start=begins, **wish)
        self.quote = a_quote(HOURLY if known else None)
        self.steps = (a_step(quorum=quorum), a_step("budget", "group:finance", stage=quorum - 1))
        asked = transitions.submit("gpu-7k3qxa2m", request, self.now, terms).lease
        self.lease = suspension.given(asked, schedule, awake)
        self.world = World()
        self.tried, self.clean = False, 0
        self.told, self.announced = [], None
        self.heard, self.seen, self.quiet_until = [], Verdict.UNKNOWN, None
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
            if self.lease.wish and not turn:
                self.grant(MANAGER)
            usual: dict[State, Callable[[], object]] = {
                State.REQUESTED: lambda: self.assess(Outcome.REQUIRE),
                State.AWAITING_APPROVAL: lambda: [self.approve(p) for p in (MANAGER, SECOND_LEAD, FINANCE)],
                State.APPROVED: self.start_provisioning,
                State.WAITING_FOR_CAPACITY: self.start_provisioning,
                State.PROVISIONING: self._made,
                State.ACTIVE: self._what_is_due,
                State.SUSPENDED: self._what_is_due,
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

    def _what_is_due(self) -> None:
        deadline = next_deadline(self.lease, self.now)
        if deadline is None:
            return
        usual: dict[Due, Callable[[], object]] = {
            Due.WARN: lambda: self.warn(delivered=True, before=deadline.before),
            Due.END: self.end,
            Due.WISH: lambda: self.wish_decided_or_over(moved=True),
            Due.SUSPEND_WARN: lambda: self.announce(delivered=True),
            Due.SUSPEND: lambda: self.suspend(works=True, ago=MINUTE),
            Due.RESUME: lambda: self.start_again(works=True, gone=False),
            **dict.fromkeys((Due.IDLE_LOOK, Due.IDLE_WARN, Due.IDLE_FINAL, Due.IDLE_STOP), self.look_or_warn),
        }
        usual[deadline.due]()

    def _taken_down(self) -> None:
        self.world.delete(self.world.deletable)
        self.looked(hidden=0)

    # --- the workflow

    @in_states(State.REQUESTED)
    @rule(outcome=st.sampled_from([Outcome.REQUIRE, Outcome.REQUIRE, Outcome.APPROVE, Outcome.APPROVE, Outcome.DENY]))
    def assess(self, outcome: Outcome) -> None:
        steps = self.steps if outcome is Outcome.REQUIRE else ()
        self.perform(transitions.assess, self.quote, a_decision(outcome), steps, REQUESTER)

    @in_states(State.APPROVED, State.WAITING_FOR_CAPACITY)
    @rule(dearer=st.booleans())
    def requote(self, dearer: bool) -> None:
        hourly = self.quote.offer.hourly
        quote = a_quote(hourly * 2 if hourly and dearer else hourly)
        self.perform(transitions.requote, quote, a_decision(), self.steps)

    @in_states(State.AWAITING_APPROVAL)
    @rule(opens=st.booleans())
    def look_up_who_decides(self, opens: bool) -> None:
        more = ("admins",) if opens else ()
        steps = self.lease.steps
        found = tuple(replace(s, approvers=tuple(dict.fromkeys((*s.approvers, *more)))) for s in steps)
        self.perform(transitions.asking_about, found)

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
        volatile=rarely,
    )
    def provisioned(self, what: str, stoppable: bool, ago: timedelta, volatile: bool = False) -> None:
        if what == "capacity":
            self.perform(life.wait_for_capacity, ("a",))
        elif what.startswith("failed"):
            if what == "failed half-way":
                self.world.create(an_instance(), a_volume())
            self.perform(life.fail, "denied")
        else:
            made = self.world.create(an_instance(), a_volume())
            hourly = self.quote.offer.hourly
            self.perform(life.ready, made, "", self.now - ago, hourly, stoppable=stoppable, volatile=volatile)
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

    @in_states(State.STOPPED, *IN_USE)
    @rule()
    def start_deleting(self) -> None:
        self.perform(life.start_deleting, reason="grace is over")

    @in_states(*IN_USE, State.ENDING)
    @rule(condition=st.sampled_from(list(Condition)), truthful=st.booleans(), really=rarely)
    def outside(self, condition: Condition, truthful: bool, really: bool) -> None:
        """Somebody outside touches the instance; the watch reports it, and the second look is complete or not."""
        started = self.lease.state is State.SUSPENDED and condition is Condition.RUNNING
        if really and condition is not Condition.UNKNOWN and not started:
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


LeaseMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeaseMachine = LeaseMachine.TestCase
