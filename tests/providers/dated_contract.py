"""What every provider shows the guard, whatever vendor is behind it: by its own word, read anew each time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.guarding import Dated, Strays
from lessor.domain.resource import Condition
from lessor.ports import Dated as DatedPort
from lessor.ports import PermanentError
from tests.providers.attempts import silent
from tests.providers.contract import Subject
from tests.providers.lives import create

ONE, TWO = "gpu-00000002", "gpu-00000003"


class DatedContract:
    """The suite. Everything is read by a provider that remembers nothing, as the guard's does."""

    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError

    def test_a_lease_shows_with_its_end_and_whose_it_is(self, subject: Subject) -> None:
        made = create(subject.provider, subject.order(ONE))
        ends = subject.now() + timedelta(hours=8)
        subject.provider.set_end(ONE, subject.place, ends)
        (one,) = shown(subject)
        assert (one.lease, one.ends) == (ONE, ends)
        assert (one.owner, one.team, one.fixed, one.awake) == ("U0REQUESTER", "ml", "", True)
        assert one.place.name == subject.place.name
        assert set(one.refs) <= {resource.id for resource in made.resources}
        assert one.refs

    def test_there_is_an_end_as_soon_as_there_is_a_machine(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        (one,) = shown(subject)
        assert one.ends is not None
        assert one.ends - subject.now() >= timedelta(hours=7, minutes=55)

    def test_an_end_that_was_moved_is_read_anew(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        later = subject.now() + timedelta(hours=20)
        subject.provider.set_end(ONE, subject.place, later)
        assert [one.ends for one in shown(subject)] == [later]

    def test_what_was_stopped_rests_and_what_was_started_does_not(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        subject.provider.stop(ONE, shown(subject)[0].place, silent)
        assert [one.condition for one in shown(subject)] == [Condition.STOPPED]
        begun = subject.now()
        subject.provider.start(ONE, subject.place, silent)
        (one,) = shown(subject)
        assert one.awake
        assert one.since is not None
        assert begun <= one.since <= subject.now()

    def test_each_lease_is_by_itself(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        create(subject.provider, subject.order(TWO))
        subject.provider.stop(TWO, subject.place, silent)
        assert {one.lease: one.awake for one in shown(subject)} == {ONE: True, TWO: False}

    def test_what_was_deleted_is_not_awake(self, subject: Subject) -> None:
        made = create(subject.provider, subject.order(ONE))
        subject.provider.delete(ONE, subject.place, made.resources, silent)
        assert [one for one in shown(subject) if one.awake] == []

    def test_what_only_carries_the_tags_is_not_among_it(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        copied = subject.copy_tags(ONE)
        assert copied not in {ref for one in shown(subject) for ref in one.refs}

    def test_it_needs_no_more_than_it_reads(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        subject.break_reads()
        assert [one.lease for one in shown(subject)] == [ONE]

    def test_a_place_that_does_not_answer_is_a_problem_and_not_empty(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        subject.throttle(50)
        roll = reading(subject).dated(subject.place)
        subject.mend()
        assert roll.dated == ()
        assert len(roll.problems) >= 1

    def test_a_place_that_nobody_knows_is_refused(self, subject: Subject) -> None:
        elsewhere = type(subject.place)(subject.place.provider, "elsewhere")
        with pytest.raises(PermanentError, match="elsewhere"):
            reading(subject).dated(elsewhere)
        with pytest.raises(PermanentError, match="elsewhere"):
            reading(subject).unleased(elsewhere)

    def test_leases_are_not_among_what_has_none(self, subject: Subject) -> None:
        create(subject.provider, subject.order(ONE))
        assert reading(subject).unleased(subject.place) == Strays()


def shown(subject: Subject) -> tuple[Dated, ...]:
    """What is read whole."""
    roll = reading(subject).dated(subject.place)
    assert roll.problems == ()
    return roll.dated


def reading(subject: Subject) -> DatedPort:
    provider = subject.restart()
    assert isinstance(provider, DatedPort)
    return provider
