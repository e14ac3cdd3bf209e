"""What an act leaves on record, and what the person who acted is told."""

from __future__ import annotations

import pytest

from lessor.contracts import Act, Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from tests.builders import ENDS, LAUNCHED, LEASE_ID, MANAGER, REQUESTER, a_lease
from workflows.acts import accepted, attempted, transition


@pytest.mark.parametrize(("via", "expected"), [("cli", {"via": "cli"}), ("slack", {"via": "slack"}), ("", {})])
def test_the_record_says_where_an_act_came_from(via: str, expected: dict[str, str]) -> None:
    act = Act("1", Verb.APPROVE, MANAGER.id, "go", via=via)
    change = transition(a_lease(State.AWAITING_APPROVAL), act, MANAGER, LAUNCHED)
    plain = transition(a_lease(State.AWAITING_APPROVAL), Act("1", Verb.APPROVE, MANAGER.id, "go"), MANAGER, LAUNCHED)
    assert [event.data for event in change.events] == [{**event.data, **expected} for event in plain.events]
    assert change.lease == plain.lease


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.AWAITING_APPROVAL, "withdrawn"),
        (State.PROVISIONING, "is being withdrawn; what exists of it is taken down first"),
    ],
)
def test_a_withdrawal_is_told_as_what_it_is(state: State, words: str) -> None:
    act = Act("1", Verb.WITHDRAW, REQUESTER.id, via="cli")
    lease = transition(a_lease(state), act, REQUESTER, LAUNCHED).lease
    assert accepted(lease, act, LAUNCHED).message == f"{LEASE_ID}: {words}"


def test_a_refused_act_says_where_it_came_from() -> None:
    act = Act("a", Verb.APPROVE, "U0STRANGER", via="cli")
    change = attempted(a_lease(), act, Refused("not-approver", "no"), ENDS)
    assert [(e.type, e.data["via"], e.data["code"]) for e in change.events] == [("refused", "cli", "not-approver")]
