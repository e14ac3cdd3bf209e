"""Who may act on a lease that exists."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lessor.domain.approval import Step, Vote
from lessor.domain.authority import require_covered, require_member, require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.pending import CoOwner
from lessor.domain.people import Person
from lessor.domain.policy import Outcome, Reason, StepSpec
from tests.builders import ADMIN, FINANCE, MANAGER, READY, REQUESTER, STRANGER, a_decision, a_lease, a_person


@pytest.mark.parametrize("person", [REQUESTER, a_person("W0REQUESTER"), MANAGER, ADMIN])
def test_who_may(person: Person) -> None:
    require_steward(a_lease(), person)


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (STRANGER, "not-owner"),
        (FINANCE, "not-owner"),
        (a_person("U0OTHERLEAD", leads=("vision",)), "not-owner"),
        (replace(REQUESTER, active=False), "inactive"),
        (replace(ADMIN, active=False), "inactive"),
    ],
)
def test_who_may_not(person: Person, code: str) -> None:
    with pytest.raises(Refused) as refused:
        require_steward(a_lease(), person)
    assert refused.value.code == code


def test_a_longer_lease_needs_those_whom_the_policy_would_ask() -> None:
    lease = a_lease()
    asks = a_decision(steps=(StepSpec("finance", ("group:finance",)),))
    with pytest.raises(Refused, match=re.escape("needs the approval of finance (group:finance)")) as refused:
        require_covered(lease, asks, REQUESTER)
    assert refused.value.code == "needs-approval"
    require_covered(lease, asks, FINANCE)
    approved = Step("finance", ("group:finance", "admins"), votes=(Vote("U0ADMIN", READY),), escalated="admins")
    require_covered(replace(lease, steps=(*lease.steps, approved)), asks, REQUESTER)
    require_covered(lease, a_decision(Outcome.APPROVE), REQUESTER)
    with pytest.raises(Refused, match="the lease still ends at 2026-11-27 17:15 UTC") as denied:
        require_covered(lease, a_decision(Outcome.DENY), MANAGER)
    assert denied.value.code == "policy"


def test_who_is_asked_because_a_budget_is_unknown_is_not_told_that_it_is_for_the_length() -> None:
    unknown = Reason("budget-is-spent", "cannot be judged, a fact is unknown: budget.left < 0")
    asks = a_decision(reasons=(unknown,), steps=(StepSpec("finance", ("group:finance",)),))
    with pytest.raises(Refused) as refused:
        require_covered(a_lease(State.STOPPED), asks, REQUESTER)
    assert str(refused.value) == (
        "running until then needs the approval of finance (group:finance), because of budget-is-spent: cannot be "
        "judged, a fact is unknown: budget.left < 0; it stays stopped and is deleted at 2026-12-04 17:15 UTC. "
        "Ask one of them to do it, or make a new request"
    )


def test_an_approval_of_somebody_else_does_not_cover_those_who_are_asked() -> None:
    """Finance or the lead could approve what was asked for first, and the lead did; finance alone decides on more."""
    either = Step("either", ("lead:ml", "group:finance"), votes=(Vote(MANAGER.id, READY),))
    asks = a_decision(steps=(StepSpec("finance", ("group:finance",)),))
    with pytest.raises(Refused, match=re.escape("needs the approval of finance (group:finance)")):
        require_covered(replace(a_lease(), steps=(either,)), asks, REQUESTER)


@pytest.mark.parametrize("shared", [True, False])
def test_what_its_holder_approved_before_it_was_theirs_does_not_cover_it(shared: bool) -> None:
    """Law 6, also by way of a transfer or a share."""
    asks = a_decision(steps=(StepSpec("lead", ("lead:ml",)),))
    mine = tuple(sorted(MANAGER.all_ids))
    approved = Step("lead", ("lead:ml",), votes=(Vote(MANAGER.id, READY, mine),))
    moved = replace(a_lease(), steps=(approved,), owner=MANAGER.id, owner_ids=mine)
    lease = replace(a_lease(), steps=(approved,), co_owners=(CoOwner(MANAGER.id, mine),)) if shared else moved
    with pytest.raises(Refused, match=re.escape("needs the approval of lead (lead:ml)")):
        require_covered(lease, asks, MANAGER)


def test_the_owner_is_never_one_of_those_who_are_asked() -> None:
    leads = replace(REQUESTER, leads=("ml",))
    asks = a_decision(steps=(StepSpec("a lead", ("lead:ml",), 1),))
    with pytest.raises(Refused, match="needs the approval of a lead"):
        require_covered(replace(a_lease(), steps=()), asks, leads)


@pytest.mark.parametrize(
    ("person", "co_owner", "allowed"),
    [
        (replace(REQUESTER, teams=()), (), False),
        (replace(REQUESTER, teams=("vision",)), (), False),
        (REQUESTER, (), True),
        (replace(REQUESTER, teams=(), admin=True), (), True),
        (replace(REQUESTER, teams=(), leads=("ml",)), (), True),
        (a_person("U0MEMBER", teams=()), (CoOwner("U0MEMBER", ("U0MEMBER",), member=True),), False),
        (STRANGER, (CoOwner("U0STRANGER", ("U0STRANGER",)),), True),
        (MANAGER, (), True),
        (ADMIN, (), True),
    ],
)
def test_f04_who_left_the_team_that_pays_does_not_make_it_longer(
    person: Person, co_owner: tuple[CoOwner, ...], allowed: bool
) -> None:
    lease = replace(a_lease(), co_owners=co_owner)
    require_steward(lease, person)
    if allowed:
        require_member(lease, person)
        return
    with pytest.raises(Refused, match="you do not belong to team ml any more") as refused:
        require_member(lease, person)
    assert refused.value.code == "not-in-team"
