"""Who decides: never the requester, under no id; enough different people; never nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain import approval, staffing
from lessor.domain.approval import Step, Vote
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.domain.policy import StepSpec
from tests.builders import ADMIN, APPROVED, FINANCE, MANAGER, REQUESTER, STRANGER, a_person, a_step, members_of

IDS = REQUESTER.all_ids


def test_a_person_is_known_by_every_id_and_address() -> None:
    person = Person("U1", ids=("U1", "W1"), email="Ana.Diaz@X.test")
    assert person.all_ids == {"U1", "W1", "ana.diaz@x.test"}
    for known in ("U1", "W1", "u1", "ANA.DIAZ@x.TEST"):
        assert person.is_same(frozenset({known}))
    assert not person.is_same(frozenset({"U2", ""}))


def test_an_empty_id_is_nobodys() -> None:
    assert not Person("U1", ids=("",)).is_same(Person("U2", ids=("",)).all_ids)
    assert not Person("U1", ids=("",)).is_same(frozenset({""}))


def test_what_refers_to_a_person() -> None:
    person = a_person("U1", ids=("U1", "W1"), groups=("finance",), leads=("ml", "vision"), admin=True)
    assert person.refs == {"person:U1", "person:W1", "team:ml", "group:finance", "lead:ml", "lead:vision", "admins"}
    assert a_person("U2").refs == {"person:U2", "team:ml"}


@pytest.mark.parametrize(
    ("spec", "people", "expected"),
    [
        (StepSpec("s", ("lead:ml",)), (MANAGER, ADMIN), Step("s", ("lead:ml",))),
        (StepSpec("s", ("lead:ml",)), (ADMIN,), Step("s", ("lead:ml", "admins"), escalated="admins")),
        (StepSpec("s", ("lead:ml",), 2), (MANAGER, ADMIN), Step("s", ("lead:ml", "admins"), 2, escalated="admins")),
        (StepSpec("s", ("lead:ml",), 3), (MANAGER, ADMIN), Step("s", ("lead:ml", "admins"), 2, escalated="admins")),
        (StepSpec("s", ("admins",), 2), (MANAGER, ADMIN), Step("s", ("admins",), 1)),
        (StepSpec("s", ("lead:ml",), 0), (MANAGER,), Step("s", ("lead:ml",), 1)),
    ],
)
def test_steps_are_staffed_with_people_who_can_decide(
    spec: StepSpec, people: tuple[Person, ...], expected: Step
) -> None:
    assert staffing.staff((spec,), members_of(*people), REQUESTER) == (expected,)


def test_the_requester_and_deactivated_people_are_not_counted() -> None:
    lead = a_person("U9", ids=("U9", "W0REQUESTER"), leads=("ml",))
    gone = a_person("U8", leads=("ml",), active=False)
    (step,) = staffing.staff((StepSpec("s", ("lead:ml",)),), members_of(lead, gone, ADMIN), REQUESTER)
    assert step == Step("s", ("lead:ml", "admins"), escalated="admins")


def test_one_person_under_two_ids_is_one() -> None:
    one, again = a_person("U1", ids=("U1", "W1"), leads=("ml",)), a_person("W1", groups=("finance",))
    assert approval.eligible(("lead:ml", "group:finance"), members_of(one, again), REQUESTER) == (one,)
    (step,) = staffing.staff((StepSpec("s", ("lead:ml", "group:finance"), 2),), members_of(one, again), REQUESTER)
    assert step.quorum == 1


def test_a_step_that_nobody_can_decide_is_an_error_for_a_person() -> None:
    alone = a_person("U0REQUESTER", leads=("ml",), admin=True)
    with pytest.raises(Refused, match="nobody but the requester could decide step 'manager'") as refused:
        staffing.staff((StepSpec("manager", ("lead:ml",)),), members_of(alone), alone)
    assert refused.value.code == "nobody-can-decide"


def test_a_request_that_no_step_is_required_of_goes_to_the_administrators() -> None:
    assert staffing.staff((), members_of(ADMIN), REQUESTER) == (Step("approval", ("admins",)),)


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (REQUESTER, "own-request"),
        (a_person("W0REQUESTER", leads=("ml",)), "own-request"),
        (a_person("w0requester", leads=("ml",)), "own-request"),
        (a_person("U5", leads=("ml",), email="Requester@Example.test"), "own-request"),
        (a_person("U6", ids=("U6", "U0REQUESTER"), leads=("ml",), admin=True), "own-request"),
        (a_person("U7", leads=("ml",), active=False), "inactive"),
        (STRANGER, "not-approver"),
        (FINANCE, "not-approver"),
        (ADMIN, "not-approver"),
    ],
)
def test_who_may_not_decide(person: Person, code: str) -> None:
    with pytest.raises(Refused) as refused:
        approval.check((a_step(),), person, IDS)
    assert refused.value.code == code
    with pytest.raises(Refused) as refused:
        approval.may_decide((a_step(),), person, IDS)
    assert refused.value.code == code


def test_the_refusal_names_who_decides() -> None:
    with pytest.raises(Refused, match="step 'budget' is decided by group:finance, person:U1"):
        approval.check((a_step("budget", "group:finance", "person:U1"),), MANAGER, IDS)


def test_steps_are_decided_one_after_the_other() -> None:
    steps: tuple[Step, ...] = (a_step(), a_step("budget", "group:finance", stage=1))
    with pytest.raises(Refused, match="step 'manager' is decided by lead:ml"):
        approval.check(steps, FINANCE, IDS)
    steps = approval.vote(steps, approval.check(steps, MANAGER, IDS), MANAGER, APPROVED, "ok")
    assert steps[0].votes == (Vote("U0MANAGER", APPROVED, ("U0MANAGER",), "ok"),)
    assert approval.waiting(steps) == steps[1:]
    steps = approval.vote(steps, approval.check(steps, FINANCE, IDS), FINANCE, APPROVED)
    assert approval.waiting(steps) == ()
    with pytest.raises(Refused) as refused:
        approval.check(steps, FINANCE, IDS)
    assert refused.value.code == "already-decided"


def test_a_quorum_needs_different_people_not_different_ids() -> None:
    one, same = a_person("U1", ids=("U1", "W1"), leads=("ml",)), a_person("W1", leads=("ml",))
    steps: tuple[Step, ...] = (a_step(quorum=2),)
    steps = approval.vote(steps, approval.check(steps, one, IDS), one, APPROVED)
    assert not steps[0].done
    for again in (one, same):
        with pytest.raises(Refused, match="you have approved step 'manager' already; it needs 2 people") as refused:
            approval.check(steps, again, IDS)
        assert refused.value.code == "already-voted"
        assert approval.may_decide(steps, again, IDS) == steps[0]
    steps = approval.vote(steps, approval.check(steps, MANAGER, IDS), MANAGER, APPROVED)
    assert steps[0].done


PERSON = st.builds(
    lambda number, second, **rest: a_person(f"U{number}", ids=(f"U{number}", f"W{second}"), **rest),
    st.integers(0, 5),
    st.integers(0, 5),
    leads=st.sampled_from([(), ("ml",)]),
    groups=st.sampled_from([(), ("finance",)]),
    admin=st.booleans(),
    active=st.booleans(),
)


@given(
    st.lists(PERSON, max_size=6),
    PERSON,
    st.lists(
        st.builds(
            StepSpec,
            st.sampled_from("st"),
            st.sampled_from([("lead:ml",), ("group:finance", "lead:ml")]),
            st.integers(0, 4),
        ),
        max_size=2,
    ),
)
def test_whatever_the_people_a_staffed_step_can_be_decided_by_others(
    people: list[Person], requester: Person, specs: list[StepSpec]
) -> None:
    members = members_of(*people, requester)
    wanted = [ref for spec in specs for ref in spec.approvers] or ["admins"]
    if not all(approval.eligible((*spec.approvers, "admins"), members, requester) for spec in specs) or (
        not approval.eligible((*wanted, "admins"), members, requester)
    ):
        with pytest.raises(Refused, match="nobody but the requester"):
            staffing.staff(specs, members, requester)
        return
    steps = staffing.staff(specs, members, requester)
    assert len(steps) == max(len(specs), 1)
    for step in steps:
        able = approval.eligible(step.approvers, members, requester)
        assert 1 <= step.quorum <= len(able)
        for person in able:
            steps_now = (step,)
            assert approval.check(steps_now, person, requester.all_ids) is step
            assert not person.is_same(requester.all_ids)
