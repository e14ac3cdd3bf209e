"""What concerns the end of a lease and its working hours: wishes, earlier ends, exemptions, stops and starts."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from lessor.domain import extension, life, suspension
from lessor.domain.lease import IN_USE, State
from lessor.domain.people import Person
from lessor.domain.resource import Condition, Kind
from tests.builders import a_step
from tests.unit.machine_people import People, in_states, rarely
from tests.unit.machine_world import HOUR, MINUTE, SELVES, lengths, people


class Timed(People):
    """The acts of people on how long it lasts and when it rests, and what the workflow does at those times."""

    announced: datetime | None

    @in_states(*IN_USE)
    @rule(person=people, length=lengths, quorum=st.integers(1, 2), answers=st.lists(people, max_size=2))
    def wish(self, person: Person, length: timedelta, quorum: int, answers: list[Person]) -> None:
        if self.steward(person):
            until, steps = (self.lease.ends_at or self.now) + length, (a_step(quorum=quorum),)
            if self.perform(extension.ask, until, person, "", steps, ()) and not self.lease.hold_over:
                self.told = []
            for other in answers:
                self.grant(other)

    @precondition(lambda self: self.lease.wish is not None)
    @rule(person=people)
    def grant(self, person: Person) -> None:
        wish = self.lease.wish
        if self.perform(extension.grant, person):
            assert wish
            assert not (person.all_ids & (SELVES | {wish.by, *wish.ids}))
            assert person.active
            if self.lease.wish is None:
                self.told = []

    @precondition(lambda self: self.lease.wish is not None)
    @rule(person=people, really=rarely)
    def reject(self, person: Person, really: bool) -> None:
        wish, held = self.lease.wish, self.lease.runs_until
        if really and self.perform(extension.reject, person, "no"):
            assert wish
            assert not (person.all_ids & (SELVES | {wish.by, *wish.ids}))
            if held and self.now < held:
                self.told = []

    @in_states(*IN_USE)
    @rule(person=people, length=lengths)
    def shorten(self, person: Person, length: timedelta) -> None:
        if self.steward(person) and self.perform(extension.shorten, self.now + length, person.id, ""):
            self.told = []

    @in_states(*IN_USE)
    @rule(person=people, length=st.none() | lengths)
    def exempt(self, person: Person, length: timedelta | None) -> None:
        until = None if length is None else self.now + length
        if self.steward(person) and self.perform(suspension.exempt, until, person.id, "a long run"):
            self.announced = None

    @in_states(*IN_USE)
    @rule(moved=st.booleans())
    def wish_decided_or_over(self, moved: bool) -> None:
        held = self.lease.runs_until
        if self.perform(extension.lapse) and held and self.now < held:
            self.told = []
        elif moved and self.lease.wish:
            self.perform(extension.staffed, self.lease.wish.steps)

    @in_states(State.ACTIVE)
    @rule(delivered=st.booleans())
    def announce(self, delivered: bool) -> None:
        if delivered and self.perform(suspension.announced, "slack:dm"):
            self.announced = self.now

    @in_states(*IN_USE)
    @rule(works=st.booleans(), ago=st.sampled_from([timedelta(), MINUTE, -MINUTE]))
    def suspend(self, works: bool, ago: timedelta) -> None:
        if self.lease.state is State.ACTIVE:
            self.perform(suspension.suspend)
        elif works and suspension.stopping(self.lease):
            self.world.turn(Kind.INSTANCE, Condition.STOPPED)
            self.perform(suspension.suspended, self.now - ago)
        else:
            self.perform(suspension.suspend_failed, "denied")

    @in_states(State.SUSPENDED)
    @rule(works=st.booleans(), gone=rarely)
    def start_again(self, works: bool, gone: bool) -> None:
        if gone:
            self.world.turn(Kind.INSTANCE, Condition.GONE)
            self.perform(life.observed, self.world.seen(self.now), "it could not be started again", self.now)
        elif works:
            self.world.turn(Kind.INSTANCE, Condition.RUNNING)
            self.perform(suspension.started_again, self.now)
            self.announced = None
        else:
            self.perform(suspension.resume_failed, "no capacity")

    @in_states(*IN_USE)
    @rule(delivered=st.booleans(), before=st.sampled_from([timedelta(), 5 * MINUTE, HOUR]))
    def warn(self, delivered: bool, before: timedelta) -> None:
        if delivered:
            if self.perform(life.warned, before, "slack:dm"):
                self.told.append(self.now)
        else:
            self.perform(life.warning_undelivered, "slack is down", self.now + MINUTE)

    @in_states(*IN_USE)
    @rule()
    def end(self) -> None:
        self.perform(life.end)
