"""Slack and Temporal cases whose answer the domain gives: who decided, who is who, what a cancel leads to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain import approval, life, transitions
from lessor.domain.identity import lease_id
from lessor.domain.lease import FINAL, State, describe
from tests.builders import (
    APPROVED,
    ASKED,
    ENDS,
    MANAGER,
    READY,
    REQUESTER,
    a_decision,
    a_lease,
    a_person,
    a_quote,
    a_sighting,
    a_step,
    members_of,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def test_A26_the_second_manager_is_told_who_decided_and_when() -> None:
    first = transitions.approve(a_lease(State.AWAITING_APPROVAL), MANAGER, APPROVED)
    second = a_person("U0SECOND", leads=("ml",))
    assert refusal(transitions.approve, first.lease, second, APPROVED + timedelta(milliseconds=100)) == (
        "already-decided",
        "already approved by U0MANAGER at 2026-11-27 09:10 UTC",
    )
    assert [e.type for e in first.events].count("approved") == 1


def test_A28_both_forms_of_a_person_are_one_person() -> None:
    u_form, w_form = a_person("U1", ids=("U1", "W1"), leads=("ml",)), a_person("W1", ids=("W1",), leads=("ml",))
    assert approval.eligible(("lead:ml",), members_of(u_form, w_form), REQUESTER) == (u_form,)
    lease = a_lease(State.AWAITING_APPROVAL, steps=(a_step(quorum=2),))
    lease = transitions.approve(lease, u_form, APPROVED).lease
    assert refusal(transitions.approve, lease, w_form, APPROVED)[0] == "already-voted"
    assert refusal(transitions.approve, lease, a_person("W0REQUESTER", leads=("ml",)), APPROVED)[0] == "own-request"


def test_A30_a_click_after_expiry_says_when_it_expired_and_changes_nothing() -> None:
    lease = a_lease(State.LAPSED)
    code, message = refusal(transitions.approve, lease, MANAGER, ASKED + 2 * DAY)
    assert code == "wrong-state"
    assert "expired at 2026-11-28 09:00 UTC without a decision" in message
    assert describe(lease) == "expired at 2026-11-28 09:00 UTC without a decision"


def test_B09_an_approval_before_people_are_asked_is_told_so_and_nothing_is_lost() -> None:
    early = a_lease(State.REQUESTED)
    assert refusal(transitions.approve, early, MANAGER, ASKED)[0] == "wrong-state"
    asked = transitions.assess(early, a_quote(), a_decision(), (a_step(),), REQUESTER, ASKED).lease
    assert transitions.approve(asked, MANAGER, ASKED).lease.state is State.APPROVED


def test_B10_the_same_interaction_is_the_same_lease_and_another_one_is_not() -> None:
    assert lease_id("slack:T1:view:V1") == lease_id("slack:T1:view:V1")
    assert lease_id("slack:T1:view:V1") != lease_id("slack:T1:view:V2")
    salted = [lease_id("slack:T1:view:V1", salt) for salt in range(16)]
    assert len(set(salted)) == 16


@pytest.mark.parametrize("state", sorted(FINAL))
def test_B10_what_is_over_never_provisions_again(state: State) -> None:
    assert refusal(life.start_provisioning, a_lease(state), ENDS + 9 * DAY)[0] == "wrong-state"


def test_B24_a_cancel_at_any_point_is_carried_out() -> None:
    for state in State:
        lease = a_lease(state)
        if lease.final:
            continue
        lease, at = life.cancel(lease, "operator", ENDS + 7 * DAY).lease, ENDS + 7 * DAY
        while not lease.final:
            at += MINUTE
            lease = life.looked(lease, a_sighting(at=at), at).lease
        if state not in (State.DELETING, State.BLOCKED):
            assert describe(lease).startswith("cancelled by operator at 2026-12-04 17:")


def test_B25_a_second_cancel_does_not_stop_the_clean_up() -> None:
    lease = life.cancel(a_lease(), "operator", READY + HOUR).lease
    again = life.cancel(lease, "operator", READY + 2 * HOUR).lease
    assert (again.state, again.deleting_at) == (State.DELETING, READY + HOUR)
