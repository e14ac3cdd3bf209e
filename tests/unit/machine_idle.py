"""What the meter says of a lease, in any order and at any time, and what people and the workflow do about it.

The model keeps who was told of a coming stop since the lease was last seen to work, or spoken for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from lessor.domain import excuses, extension, idling, pausing, rungs
from lessor.domain.deadlines import Due, next_deadline
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import IN_USE, Change, Lease, State
from lessor.domain.people import Person
from tests.unit.machine_people import in_states, rarely
from tests.unit.machine_time import Timed
from tests.unit.machine_world import DAY, HOUR, MINUTE, people

verdicts = st.sampled_from([Verdict.IDLE] * 5 + [Verdict.HELD, Verdict.BUSY, Verdict.UNKNOWN, Verdict.WARMING_UP])
ages = st.sampled_from([timedelta(), HOUR, HOUR, 3 * HOUR, DAY])
idle_terms = st.sampled_from(
    [IdleTerms()] * 3
    + [
        IdleTerms(stops=False),
        IdleTerms(spare=8 * HOUR),
        IdleTerms(working_hours_only=True),
        IdleTerms(notice=HOUR, warn=MINUTE, final=2 * MINUTE, stop=3 * MINUTE),
        IdleTerms(snoozes=0, held_stop=MINUTE),
        IdleTerms(warn=timedelta(), final=timedelta(), stop=timedelta(), window=timedelta(), notice=timedelta()),
    ]
)


@dataclass(frozen=True)
class Heard:
    """A warning of a stop that somebody got."""

    at: datetime
    owner: bool


class Idling(Timed):
    """A meter that may say anything, and be asked at any time."""

    heard: list[Heard]
    seen: Verdict
    quiet_until: datetime | None

    def forget(self) -> None:
        """From here on nobody has been warned of a stop."""
        self.heard = []

    def check_change(self, before: Lease, change: Change) -> None:
        super().check_change(before, change)
        after, what = change.lease, {event.type for event in change.events}
        if "idle-stopped" in what:
            self.check_idle_stop(before)
        if what & {"idle-stopped", "pause-asked", "budget-stopped"}:
            assert before.stoppable
            assert after.pause
            assert after.state is State.SUSPENDED
        if what & {"idle-cleared", "idle-unknown", "start-asked", "suspending"} or after.state not in IN_USE:
            self.forget()

    def check_idle_stop(self, before: Lease) -> None:
        """Laws 1 and 4: only what is idle now, whose people were told twice, in time, and said nothing to it."""
        assert before.state is State.ACTIVE
        assert before.idle
        assert self.seen in (Verdict.IDLE, Verdict.HELD)
        terms = before.idle.terms
        assert len(self.heard) >= 2
        assert any(self.now >= one.at + (terms.notice if one.owner else terms.fallback_notice) for one in self.heard)
        assert self.quiet_until is None or self.now >= self.quiet_until
        assert terms.stops
        assert before.spared is None or (before.spared.until and before.spared.until <= self.now)
        assert not before.volatile or before.consent

    def evidence(self, verdict: Verdict, age: timedelta) -> Evidence:
        """As the meter would say it: what goes on since it was last told began when it did."""
        idle = self.lease.idle
        quiet = verdict in rungs.IDLE
        since = idle.evidence.since if idle and quiet and age else self.now - (age if quiet else timedelta())
        return Evidence(verdict, since, self.now, gpus=8, idle_gpus=8 if quiet else 3, covered=1.0)

    @rule(verdict=verdicts, age=ages, terms=idle_terms, told=st.booleans())
    def metered(self, verdict: Verdict, age: timedelta, terms: IdleTerms, told: bool) -> None:
        before = self.lease
        if told:
            found = idling.metered(before, self.evidence(verdict, age), terms, self.now)
        else:
            found = idling.found(before, self.evidence(verdict, age), terms, self.now, on_record=True)
        assert before.state is State.ACTIVE or found == Change(before, ())
        self.lease = found.lease
        self.seen = verdict
        self.check_change(before, found)

    @in_states(State.ACTIVE)
    @rule(delivered=st.booleans(), owner=st.booleans())
    def warn_of_idleness(self, delivered: bool, owner: bool) -> None:
        step = rungs.next_step(self.lease, self.now)
        if step is None or step.rung is Rung.STOP or step.at > self.now:
            return
        if not delivered:
            self.perform(idling.undelivered, "slack is down")
            return
        barred = rungs.barred(self.lease, self.now)
        self.perform(idling.warned, step.rung, "slack:dm", owner=owner)
        if barred:
            self.forget()
        else:
            self.heard.append(Heard(self.now, owner))

    @in_states(State.ACTIVE)
    @rule(verdict=verdicts, clear=st.booleans())
    def stop_for_idleness(self, verdict: Verdict, clear: bool) -> None:
        self.seen = verdict
        found = self.evidence(verdict, HOUR)
        if not clear:
            self.perform(idling.held_back, "the brake is on")
        elif self.perform(idling.stop, found):
            self.announced = None

    @in_states(*IN_USE)
    @rule(person=people, length=st.sampled_from([HOUR, 4 * HOUR, DAY, 3 * DAY]))
    def snooze(self, person: Person, length: timedelta) -> None:
        if self.steward(person) and self.perform(excuses.snooze, self.now + length, person, "it is used"):
            assert self.lease.snooze
            assert person.admin or length <= DAY
            self.quiet_until = max(self.quiet_until or self.now, self.now + length)
            self.forget()

    @in_states(*IN_USE)
    @rule(person=people)
    def dispute(self, person: Person) -> None:
        if self.steward(person) and self.perform(excuses.dispute, person.id, "it waits for data"):
            self.forget()

    @in_states(*IN_USE)
    @rule(person=people, length=st.none() | st.sampled_from([timedelta(), HOUR]), agrees=st.booleans())
    def spare_or_agree(self, person: Person, length: timedelta | None, agrees: bool) -> None:
        if agrees:
            self.perform(excuses.consent, person.id)
        elif person.admin:
            until = None if length is None else self.now + length
            if self.perform(excuses.spare, until, person.id, "a demonstration"):
                self.forget()

    @in_states(*IN_USE)
    @rule(person=people, typed=st.booleans(), really=rarely)
    def ask_to_stop(self, person: Person, typed: bool, really: bool) -> None:
        if really and self.steward(person):
            volatile = self.lease.volatile
            if self.perform(pausing.ask_stop, person.id, self.lease.id if typed else ""):
                assert typed or not volatile
                self.forget()

    @in_states(*IN_USE)
    @rule(person=people)
    def ask_to_start(self, person: Person) -> None:
        if self.steward(person):
            self.perform(pausing.start, person.id)
            self.quiet_until = self.quiet_until if self.lease.snooze else None

    @in_states(*IN_USE)
    @rule(really=rarely)
    def money_is_gone(self, really: bool) -> None:
        held = self.lease.runs_until
        if really and self.perform(extension.cut_short, "team:ml", "1,000 of 1,000 USD"):
            assert held
            assert self.lease.runs_until
            assert self.now < self.lease.runs_until < held
            self.told = []

    def look_or_warn(self) -> None:
        """What the workflow does when a step on the ladder is due, and the look before it finds nothing new."""
        due = next_deadline(self.lease, self.now)
        if due and due.due is Due.IDLE_LOOK:
            self.metered(Verdict.IDLE, timedelta(), IdleTerms(), told=False)
        elif due and due.due is Due.IDLE_STOP:
            self.stop_for_idleness(Verdict.IDLE, clear=True)
        else:
            self.warn_of_idleness(delivered=True, owner=True)

    def idle_moves_on(self) -> Change:
        """Whatever is due on the ladder can be done, and leads on."""
        lease, now = self.lease, self.now
        due = next_deadline(lease, now)
        assert due
        if due.due is Due.IDLE_LOOK:
            return idling.found(lease, self.evidence(Verdict.UNKNOWN, timedelta()), IdleTerms(), now)
        assert lease.idle
        if due.due is Due.IDLE_STOP:
            return idling.stop(lease, replace(lease.idle.evidence, at=now), now)
        rung = Rung.WARN if due.due is Due.IDLE_WARN else Rung.FINAL
        return idling.warned(lease, rung, "slack:dm", now, owner=True)

    @invariant()
    def what_is_paused_rests_until_somebody_starts_it(self) -> None:
        lease = self.lease
        if lease.pause is None:
            return
        assert lease.state is State.SUSPENDED
        due = next_deadline(lease, self.now)
        assert due
        assert due.due is not Due.RESUME
        assert lease.suspended_at or due.at <= self.now or due.due is Due.SUSPEND or lease.announced

    @invariant()
    def nothing_of_being_idle_is_left_once_it_is_over(self) -> None:
        if self.lease.state in (State.ENDING, State.STOPPED, State.DELETING, State.CLOSED):
            assert (self.lease.idle, self.lease.snooze, self.lease.pause, self.lease.disputed) == (None,) * 4
