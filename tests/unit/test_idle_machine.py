"""Any order of words of the meter, answers of people, warnings and stops: an idle lease is never stopped unheard.

The machine of a whole life seldom stays in use for long enough; this one begins with a lease that has weeks to run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from lessor.domain import rungs
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import IN_USE, State
from lessor.domain.worktime import Hours
from tests.builders import ADMIN, READY, REQUESTER, RESOURCES, a_lease, a_request
from tests.unit.machine_idle import Idling, idle_terms
from tests.unit.machine_people import in_states, rarely
from tests.unit.machine_world import DAY, HOUR, MINUTE, World, nights, schedules

sometimes = st.sampled_from([False, False, False, True])
words = st.tuples(st.sampled_from(["", "used", "used", "wrong", "spared", "agreed"]), st.integers(0, 3))
"""What somebody says to its being idle, and after how many steps."""

lasts = st.sampled_from([Verdict.IDLE] * 6 + [Verdict.HELD, Verdict.BUSY, Verdict.UNKNOWN])
"""What the look before the stop finds."""


class IdleMachine(Idling):
    """A lease in use for weeks, with everything that people and the meter may do to it."""

    @initialize(schedule=schedules, awake=nights, volatile=sometimes, stoppable=rarely)
    def ready(self, schedule: Hours | None, awake: Hours | None, volatile: bool, stoppable: bool) -> None:
        request = a_request(duration=25 * DAY)
        lease = a_lease(State.ACTIVE, request=request, stoppable=not stoppable, schedule=schedule)
        self.lease = replace(lease, owner_hours=awake, volatile=volatile)
        self.now, self.world = READY, World()
        self.world.create(*RESOURCES)
        self.tried, self.clean, self.told, self.announced = True, 0, [], None
        self.heard, self.seen, self.quiet_until = [], Verdict.UNKNOWN, None

    @rule(step=st.sampled_from([timedelta(), MINUTE, 20 * MINUTE, HOUR, 9 * HOUR]))
    def time_passes(self, step: timedelta) -> None:
        self.now += step

    @in_states(State.ACTIVE)
    @rule(times=st.integers(2, 7), owner=st.booleans(), terms=idle_terms, early=rarely, said=words, last=lasts)
    def nothing_is_done(
        self, times: int, owner: bool, terms: IdleTerms, early: bool, said: tuple[str, int], last: Verdict
    ) -> None:
        """It stays idle for a while, so that runs get far up the ladder; somebody may say something on the way."""
        self.metered(Verdict.IDLE, HOUR, terms, told=True)
        for turn in range(times):
            if turn == said[1]:
                self.say(said[0])
            step = rungs.next_step(self.lease, self.now)
            if step is None:
                return
            self.now = max(self.now, step.at - MINUTE if early else step.at)
            if step.rung is Rung.STOP:
                self.stop_for_idleness(last, clear=True)
            else:
                self.warn_of_idleness(delivered=True, owner=owner)

    def say(self, what: str) -> None:
        acts = {
            "used": lambda: self.snooze(ADMIN, DAY),
            "wrong": lambda: self.dispute(REQUESTER),
            "spared": lambda: self.spare_or_agree(ADMIN, None, agrees=False),
            "agreed": lambda: self.spare_or_agree(REQUESTER, None, agrees=True),
        }
        if what in acts:
            acts[what]()

    def cancel(self) -> None:
        """Nobody ends it early here."""

    withdraw = release_or_keep = cancel

    @in_states(State.SUSPENDED)
    @rule()
    def rests_and_starts(self) -> None:
        self.suspend(works=True, ago=timedelta())
        self.ask_to_start(REQUESTER)
        if self.lease.state in IN_USE and self.lease.pause is None:
            self.start_again(works=True, gone=False)


IdleMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
TestIdleMachine = IdleMachine.TestCase
