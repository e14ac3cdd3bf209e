"""What people try on a lease, whoever they are and whether they may or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from lessor.domain import changes, life, questions, transitions
from lessor.domain.lease import IN_USE, NOTHING_YET, State
from lessor.domain.pending import Changes
from lessor.domain.people import Person
from tests.unit.machine_laws import Laws
from tests.unit.machine_world import (
    SELVES,
    lengths,
    people,
    wishes,
)


def in_states(*states: State) -> Callable[[Any], Any]:
    return precondition(lambda self: self.lease.state in states)


rarely = st.sampled_from([False] * 11 + [True])
"""For what ends a lease early: often enough to be seen, seldom enough that most leases live on."""


class People(Laws):
    """The acts of people; what was allowed is checked against who they really are."""

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

    @in_states(State.AWAITING_APPROVAL)
    @rule(person=people, wanted=wishes)
    def propose_changes(self, person: Person, wanted: Changes) -> None:
        before = self.lease
        if self.perform(changes.propose, person, wanted, ""):
            assert not (person.all_ids & SELVES)
            asked = changes.changed_request(before, wanted, self.now)
            assert asked.length(self.now) <= before.request.length(self.now)
            assert asked.need.count <= before.gpus

    @in_states(State.AWAITING_APPROVAL)
    @rule(person=people, takes=st.booleans())
    def answer_changes(self, person: Person, takes: bool) -> None:
        if self.perform(changes.accept if takes else changes.decline, person):
            assert person.all_ids & SELVES

    @in_states(State.AWAITING_APPROVAL, State.WAITING_FOR_CAPACITY)
    @rule(person=people, wanted=wishes, really=rarely)
    def revise(self, person: Person, wanted: Changes, really: bool) -> None:
        if really and self.perform(changes.revise, person, wanted):
            assert person.all_ids & SELVES
            assert self.lease.steps == ()

    @in_states(State.AWAITING_APPROVAL)
    @rule(person=people, asks=st.booleans())
    def talk(self, person: Person, asks: bool) -> None:
        if self.perform(questions.ask if asks else questions.reply, person, "why?"):
            assert bool(person.all_ids & SELVES) is not asks

    @rule(person=people, really=rarely)
    def withdraw(self, person: Person, really: bool) -> None:
        if really and self.perform(transitions.withdraw, person.id):
            assert person.id in SELVES

    @in_states(*IN_USE, State.STOPPED)
    @rule(person=people, length=lengths)
    def extend(self, person: Person, length: timedelta) -> None:
        if self.steward(person) and self.perform(life.extend, self.now + length, person.id, ""):
            self.told = []

    @in_states(State.STOPPED)
    @rule(person=people, length=lengths)
    def restore(self, person: Person, length: timedelta) -> None:
        if self.steward(person):
            self.perform(life.restore, self.now + length, person.id)

    @in_states(*IN_USE, State.STOPPED)
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
