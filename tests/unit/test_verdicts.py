"""What is told of a request that is over before everything that was tried of it is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.domain.lease import State
from lessor.domain.verdicts import verdict
from tests.builders import a_lease


@pytest.mark.parametrize("state", list(State))
def test_the_verdict_is_the_state_unless_a_decision_is_being_carried_out(state: State) -> None:
    assert verdict(a_lease(state)) is state


@pytest.mark.parametrize("outcome", [State.DENIED, State.WITHDRAWN, State.LAPSED])
def test_a_decision_is_told_while_what_was_tried_is_looked_for(outcome: State) -> None:
    for state in (State.DELETING, State.BLOCKED):
        assert verdict(replace(a_lease(state), outcome=outcome)) is outcome


def test_what_failed_or_ended_was_approved() -> None:
    for outcome in (State.FAILED, State.CLOSED):
        assert verdict(replace(a_lease(State.DELETING), outcome=outcome)) is State.DELETING
