"""Law 6 with delegation, groups and other ids: whose right a vote is, and which of two votes counts."""

from __future__ import annotations

import pytest

from lessor.domain import approval, transitions
from lessor.domain.approval import Step
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.people import Person, StandIn
from tests.builders import ADMIN, APPROVED, FINANCE, MANAGER, READY, REQUESTER, STRANGER, a_lease, a_person, a_step

IDS = REQUESTER.all_ids
LEAD = StandIn("U0MANAGER", ("U0MANAGER", "W0MANAGER"), ("lead:ml", "person:U0MANAGER"))
SECOND = StandIn("U0SECOND", ("U0SECOND",), ("lead:ml",))
OF_REQUESTER = StandIn("W0REQUESTER", (), ("lead:ml", "admins"))
DEPUTY = a_person("U0DEPUTY", stands_in=(LEAD,))


def refusal(steps: tuple[Step, ...], person: Person) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        approval.check(steps, person, IDS)
    return refused.value.code, str(refused.value)


def voted(steps: tuple[Step, ...], *people: Person) -> tuple[Step, ...]:
    for person in people:
        steps = approval.vote(steps, approval.check(steps, person, IDS), person, APPROVED, "", IDS)
    return steps


def test_a_stand_in_decides_with_the_right_of_who_is_away() -> None:
    (step,) = voted((a_step(),), DEPUTY)
    assert step.done
    assert [(v.by, v.stood_in) for v in step.votes] == [("U0DEPUTY", "U0MANAGER")]


def test_an_own_right_comes_before_a_lent_one() -> None:
    both = a_person("U0DEPUTY", leads=("ml",), stands_in=(LEAD,))
    (step,) = voted((a_step(quorum=2),), both)
    assert step.votes[0].stood_in == ""


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (a_person("U0DEPUTY", stands_in=(OF_REQUESTER,)), "own-request"),
        (a_person("U0DEPUTY", stands_in=(StandIn("u0requester", (), ("lead:ml",)),)), "own-request"),
        (a_person("U0DEPUTY", stands_in=(StandIn("U9", ("Requester@Example.test",), ("lead:ml",)),)), "own-request"),
        (a_person("W0REQUESTER", stands_in=(LEAD,)), "own-request"),
        (a_person("U5", email="requester@example.test", stands_in=(LEAD,)), "own-request"),
        (a_person("U0DEPUTY", stands_in=(StandIn("U0FINANCE", (), ("group:finance",)),)), "not-approver"),
        (a_person("U0DEPUTY", active=False, stands_in=(LEAD,)), "inactive"),
    ],
)
def test_no_delegation_leads_round_the_law(person: Person, code: str) -> None:
    assert refusal((a_step(),), person)[0] == code
    with pytest.raises(Refused) as refused:
        approval.may_decide((a_step(),), person, IDS)
    assert refused.value.code == code


def test_what_the_requester_lent_takes_nothing_from_another_lender() -> None:
    person = a_person("U0DEPUTY", stands_in=(OF_REQUESTER, LEAD))
    (step,) = voted((a_step(),), person)
    assert step.votes[0].stood_in == "U0MANAGER"


def test_one_person_never_counts_twice_whoever_they_stand_in_for() -> None:
    steps = voted((a_step(quorum=2),), a_person("U0DEPUTY", stands_in=(LEAD, SECOND)))
    again = a_person("U0DEPUTY", stands_in=(SECOND,))
    assert refusal(steps, again) == ("already-voted", "you have approved step 'manager' already; it needs 2 people")


def test_two_stand_ins_of_one_person_are_one_vote() -> None:
    steps = voted((a_step(quorum=2),), DEPUTY)
    code, message = refusal(steps, a_person("U0OTHER", stands_in=(LEAD,)))
    assert code == "already-voted"
    assert message == "step 'manager' has the approval of the person for whom you stand in already; it needs 2 people"
    (step,) = voted(steps, a_person("U0OTHER", stands_in=(LEAD, SECOND)))
    assert [v.stood_in for v in step.counted] == ["U0MANAGER", "U0SECOND"]
    assert step.done


@pytest.mark.parametrize("own", [MANAGER, a_person("w0manager", leads=("ml",), ids=("w0manager", "U0MANAGER"))])
def test_who_comes_back_and_votes_takes_the_place_of_their_stand_in(own: Person) -> None:
    (step,) = voted((a_step(quorum=2),), DEPUTY, own)
    assert [v.by for v in step.votes] == ["U0DEPUTY", own.id]
    assert [v.by for v in step.counted] == [own.id]
    assert not step.done


def test_a_vote_for_somebody_who_has_voted_does_not_count() -> None:
    steps = voted((a_step(quorum=2),), MANAGER)
    assert refusal(steps, DEPUTY)[0] == "already-voted"


def test_side_by_side_each_decides_their_own_step_in_any_order() -> None:
    steps: tuple[Step, ...] = (a_step(), a_step("budget", "group:finance"), a_step("board", "admins", stage=1))
    assert approval.waiting(steps) == steps[:2]
    assert refusal(steps, ADMIN) == (
        "not-approver",
        "step 'manager' is decided by lead:ml and step 'budget' is decided by group:finance",
    )
    steps = voted(steps, FINANCE)
    assert [s.name for s in approval.waiting(steps)] == ["manager"]
    assert refusal(steps, FINANCE)[0] == "not-approver"
    steps = voted(steps, MANAGER)
    assert [s.name for s in approval.waiting(steps)] == ["board"]
    assert approval.waiting(voted(steps, ADMIN)) == ()


def test_somebody_in_two_steps_side_by_side_decides_one_after_the_other() -> None:
    both = a_person("U0BOTH", leads=("ml",), groups=("finance",))
    steps = voted((a_step(), a_step("budget", "group:finance")), both)
    assert [s.done for s in steps] == [True, False]
    assert all(s.done for s in voted(steps, both))


def test_a_stage_waits_for_every_step_of_the_one_before() -> None:
    steps: tuple[Step, ...] = (
        a_step("late", "admins", stage=2),
        a_step(stage=1),
        a_step("budget", "group:finance", stage=1),
    )
    for person, left in ((MANAGER, ["budget"]), (FINANCE, ["late"])):
        assert refusal(steps, ADMIN)[0] == "not-approver"
        steps = voted(steps, person)
        assert [s.name for s in approval.waiting(steps)] == left


def test_the_record_says_for_whom_somebody_decided() -> None:
    change = transitions.approve(a_lease(State.AWAITING_APPROVAL), DEPUTY, APPROVED, "go")
    assert change.lease.state is State.APPROVED
    assert change.events[0].data == {"step": "manager", "note": "go", "for": "U0MANAGER"}
    assert transitions.deny(a_lease(State.AWAITING_APPROVAL), DEPUTY, "no", READY).lease.decided_by == "U0DEPUTY"


def test_a_stand_in_of_the_requester_is_told_why() -> None:
    with pytest.raises(Refused, match="you stand in for the person whose request this is") as refused:
        transitions.approve(a_lease(State.AWAITING_APPROVAL), a_person("U1", stands_in=(OF_REQUESTER,)), APPROVED)
    assert refused.value.code == "own-request"
    with pytest.raises(Refused, match="step 'manager' is decided by lead:ml"):
        transitions.approve(a_lease(State.AWAITING_APPROVAL), STRANGER, APPROVED)
