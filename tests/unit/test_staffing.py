"""Who is asked: enough people who are there, else the next level, and nobody is waited for who cannot decide."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import approval, staffing
from lessor.domain.approval import Step
from lessor.domain.errors import Refused
from lessor.domain.people import Person, Team
from lessor.domain.policy import StepSpec
from lessor.domain.worktime import Hours
from tests.builders import ADMIN, ASKED, FINANCE, MANAGER, REQUESTER, a_person, a_step, members_of

AWAY = ASKED + timedelta(days=3)
LEAD_STEP = (StepSpec("manager", ("lead:ml",)),)
OWNER = a_person("U0BUDGET", budgets=("ml",))
DEPUTY = a_person("U0DEPUTY")
TEAM = Team("ml", lead="U0MANAGER", delegate="U0DEPUTY", budget_owner="U0BUDGET")
BERLIN = Hours("Europe/Berlin", ((ASKED, 60),), opens=540, closes=1_080)
TOKYO = replace(BERLIN, zone="Asia/Tokyo", offsets=((ASKED, 540),))


def staffed(*people: Person, requester: Person = REQUESTER, team: Team = TEAM, quorum: int = 1) -> Step:
    members = members_of(*people, requester)
    specs = (replace(LEAD_STEP[0], quorum=quorum),)
    (step,) = staffing.staff(specs, members, requester, staffing.ladder(team, members, requester), ASKED)
    return step


def restaffed(step: Step, *people: Person, overdue: bool = False, team: Team = TEAM) -> Step:
    members = members_of(*people, REQUESTER)
    ladder = staffing.ladder(team, members, REQUESTER)
    late = frozenset({0} if overdue else ())
    (found,) = staffing.restaff((step,), members, REQUESTER, ladder, ASKED, late)
    return found


def test_the_lead_alone_is_asked_while_they_are_there() -> None:
    step = staffed(MANAGER, OWNER, DEPUTY, ADMIN)
    assert (step.approvers, step.escalated, step.quorum) == (("lead:ml",), "", 1)


def test_a_lead_who_asks_goes_to_the_budget_owner_and_never_to_their_own_delegate() -> None:
    step = staffed(OWNER, DEPUTY, ADMIN, requester=a_person("U0MANAGER", leads=("ml",)))
    assert (step.approvers, step.escalated) == (("lead:ml", "budget-owner:ml"), "budget-owner:ml")


def test_a_lead_who_asks_and_owns_the_budget_goes_to_the_administrators() -> None:
    lead = a_person("U0MANAGER", leads=("ml",), budgets=("ml",), delegate="U0DEPUTY")
    step = staffed(DEPUTY, ADMIN, requester=lead, team=replace(TEAM, budget_owner="U0MANAGER"))
    assert (step.approvers, step.escalated) == (("lead:ml", "admins"), "admins")


def test_somebody_who_is_away_is_stood_in_for_without_asking_anybody_else() -> None:
    away = replace(MANAGER, away_until=AWAY, delegate="U0DEPUTY")
    step = staffed(away, replace(DEPUTY, hours=TOKYO), OWNER, ADMIN)
    assert (step.approvers, step.escalated, step.hours) == (("lead:ml",), "", (TOKYO,))


@pytest.mark.parametrize("delegate", ["", "U0GONE", "U0AWAY", "U0REQUESTER", "U0NOBODY"])
def test_somebody_away_whom_nobody_stands_in_for_opens_the_next_level_at_once(delegate: str) -> None:
    away = replace(MANAGER, away_until=AWAY, delegate=delegate)
    gone, absent = a_person("U0GONE", active=False), a_person("U0AWAY", away_until=AWAY)
    step = staffed(away, gone, absent, OWNER, ADMIN, team=replace(TEAM, delegate=""))
    assert step.approvers == ("lead:ml", "budget-owner:ml")
    assert approval.check((step,), away, REQUESTER.all_ids) == step


def test_who_came_back_is_there() -> None:
    back = replace(MANAGER, away_until=ASKED)
    assert staffed(back, OWNER, ADMIN).approvers == ("lead:ml",)


def test_everybody_away_waits_for_those_who_were_asked() -> None:
    away = replace(MANAGER, away_until=AWAY)
    step = staffed(away, replace(ADMIN, away_until=AWAY), team=Team("ml"))
    assert (step.approvers, step.quorum) == (("lead:ml",), 1)


def test_nobody_but_administrators_who_are_away_is_still_somebody() -> None:
    step = staffed(replace(ADMIN, away_until=AWAY), team=Team("ml"))
    assert step.approvers == ("lead:ml", "admins")


def test_a_quorum_is_not_lowered_because_somebody_is_away() -> None:
    away = a_person("U0SECOND", leads=("ml",), away_until=AWAY)
    step = staffed(MANAGER, away, quorum=2, team=Team("ml"))
    assert (step.quorum, step.approvers) == (2, ("lead:ml",))
    assert staffed(MANAGER, quorum=2, team=Team("ml")).quorum == 1


def test_escalation_opens_one_level_after_the_other() -> None:
    people = (MANAGER, OWNER, DEPUTY, ADMIN)
    first = restaffed(a_step(), *people, overdue=True)
    assert first.approvers == ("lead:ml", "person:U0DEPUTY", "budget-owner:ml")
    assert first.escalated == "person:U0DEPUTY, budget-owner:ml"
    second = restaffed(first, *people, overdue=True)
    assert second.approvers[-1] == "admins"
    assert restaffed(second, *people, overdue=True).approvers == second.approvers


def test_a_level_that_adds_nobody_is_passed_over() -> None:
    both = a_person("U0MANAGER", leads=("ml",), budgets=("ml",))
    team = replace(TEAM, delegate="", budget_owner="U0MANAGER")
    assert restaffed(a_step(), both, ADMIN, overdue=True, team=team).approvers == ("lead:ml", "admins")


def test_a_step_whose_approver_was_deactivated_is_opened_at_once() -> None:
    gone = replace(MANAGER, active=False)
    assert restaffed(a_step(), gone, ADMIN, team=Team("ml")).approvers == ("lead:ml", "admins")
    with pytest.raises(Refused, match="nobody but the requester could decide step 'manager'") as refused:
        restaffed(a_step(), gone, team=Team("ml"))
    assert refused.value.code == "nobody-can-decide"


def test_votes_that_were_given_stay_and_one_more_is_always_needed() -> None:
    ids = REQUESTER.all_ids
    half = replace(a_step(quorum=3), votes=(approval.Vote("U0MANAGER", ASKED, ("U0MANAGER",)),))
    found = restaffed(half, MANAGER, ADMIN, team=Team("ml"))
    assert (found.quorum, found.approvers, found.votes) == (2, ("lead:ml", "admins"), half.votes)
    with pytest.raises(Refused, match="nobody but the requester"):
        restaffed(half, MANAGER, team=Team("ml"))
    assert approval.check((found,), ADMIN, ids) == found


def test_steps_that_are_done_or_wait_for_others_are_left_alone() -> None:
    done = replace(a_step(), votes=(approval.Vote("U0MANAGER", ASKED, ("U0MANAGER",)),))
    later = a_step("board", "group:board", stage=1)
    waits = a_step("budget", "group:finance")
    members = members_of(FINANCE, ADMIN)
    found = staffing.restaff((done, later, waits), members, REQUESTER, staffing.last_level, ASKED)
    assert found == (done, later, waits)


def test_the_hours_are_those_of_everybody_who_can_decide_each_once() -> None:
    people = (
        replace(MANAGER, hours=BERLIN),
        a_person("U1", leads=("ml",), hours=TOKYO),
        a_person("U2", leads=("ml",), hours=BERLIN),
        a_person("U3", leads=("ml",)),
        a_person("U4", leads=("ml",), hours=replace(TOKYO, opens=0), active=False),
    )
    assert staffed(*people).hours == (BERLIN, TOKYO)


def test_stages_are_kept() -> None:
    specs = (StepSpec("a", ("lead:ml",)), StepSpec("b", ("group:finance",)), StepSpec("c", ("admins",), stage=1))
    steps = staffing.staff(specs, members_of(MANAGER, FINANCE, ADMIN), REQUESTER)
    assert [(s.name, s.stage) for s in steps] == [("a", 0), ("b", 0), ("c", 1)]
