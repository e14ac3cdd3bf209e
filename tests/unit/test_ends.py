"""The end of a lease is told as long as it is ahead; afterwards it is told when its use was over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import ends, life
from lessor.domain.lease import State
from lessor.domain.remembered import Warned
from tests.builders import ASKED, ENDS, READY, a_lease, a_request

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("state", [State.ACTIVE, State.SUSPENDED])
def test_a_lease_in_use_has_its_end_ahead(state: State) -> None:
    assert (ends.ahead(a_lease(state)), ends.over(a_lease(state))) == (ENDS, None)


def test_before_it_is_usable_an_instant_is_known_and_a_length_is_not() -> None:
    until = ASKED + timedelta(days=1)
    assert ends.ahead(a_lease(State.AWAITING_APPROVAL)) is None
    asked = a_lease(State.AWAITING_APPROVAL, request=a_request(duration=None, until=until))
    assert (ends.ahead(asked), ends.over(asked)) == (until, None)


def test_what_was_released_early_ended_then_and_not_when_it_was_to() -> None:
    released = life.release(a_lease(), "U0REQUESTER", READY + HOUR).lease
    assert (ends.ahead(released), ends.over(released)) == (None, READY + HOUR)
    stopped = life.stopped(released, READY + HOUR, READY + 2 * HOUR).lease
    assert (ends.ahead(stopped), ends.over(stopped)) == (None, READY + 2 * HOUR)


@pytest.mark.parametrize("state", [State.DELETING, State.BLOCKED, State.CLOSED])
def test_it_stays_over_since_it_was_stopped_whatever_comes_after(state: State) -> None:
    lease = a_lease(state)
    assert lease.stopped_at is not None
    assert (ends.ahead(lease), ends.over(lease)) == (None, lease.stopped_at)


@pytest.mark.parametrize("state", [State.DENIED, State.WITHDRAWN, State.LAPSED])
def test_what_was_never_usable_has_no_end_to_tell_of(state: State) -> None:
    lease = a_lease(state)
    assert (ends.ahead(lease), ends.over(lease)) == (None, None)


def test_who_could_not_be_warned_in_time_is_told_an_end_that_still_comes() -> None:
    lease = replace(a_lease(), warned=())
    notice = lease.terms.notice
    assert ends.at_the_earliest(lease, ENDS - HOUR) == ENDS
    assert ends.at_the_earliest(lease, ENDS + HOUR) == ENDS + HOUR + notice
    warned = replace(lease, warned=(Warned(timedelta(minutes=5), ENDS - notice / 2),))
    assert ends.at_the_earliest(warned, ENDS + HOUR) == ENDS + notice / 2
