"""A revised request is held to the organisation's limits, and people who decide to who is there now."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor import approvers
from lessor.contracts import Act, Answer, Verb
from lessor.domain import asking
from lessor.domain.errors import Invalid
from lessor.domain.lease import State
from lessor.domain.pending import Changes
from lessor.domain.people import Team
from lessor.domain.terms import Terms
from tests.builders import ADMIN, ASKED, FINANCE, MANAGER, REQUESTER, a_lease, a_person, a_step
from tests.fakes import FakeDirectory
from tests.gateway.test_gateway import AN_EVENT, Desk, desk

__all__ = ["desk"]

AWAY = ASKED + timedelta(days=3)
TERMS = Terms()
DONE = Answer(True, "revise", "", "gpu-7k3qxa2m", "requested")


async def revise(desk: Desk, count: int) -> Answer:
    desk.engine.answer = DONE
    lease = a_lease(State.AWAITING_APPROVAL)
    desk.ledger.record(lease, AN_EVENT)
    act = Act("a", Verb.REVISE, REQUESTER.id, changes=Changes(count=count))
    return await desk.gateway.act(lease.id, act)


async def test_what_is_allowed_reaches_the_lease(desk: Desk) -> None:
    assert await revise(desk, 4) == DONE


async def test_more_than_anybody_may_have_does_not(desk: Desk) -> None:
    with pytest.raises(Invalid) as invalid:
        await revise(desk, 65)
    assert [(e.field, e.message) for e in invalid.value.errors] == [
        ("count", "65 GPUs; 1 to 64 are allowed in one request")
    ]


async def test_what_the_lease_itself_refuses_is_left_to_it_for_the_record(desk: Desk) -> None:
    assert await revise(desk, 8) == DONE


async def test_who_is_asked_of_steps_side_by_side_is_everybody_who_can_still_vote() -> None:
    both = a_person("U0BOTH", leads=("ml",), groups=("finance",))
    directory = FakeDirectory((MANAGER, FINANCE, both, ADMIN, REQUESTER))
    steps = asking.asked(
        (a_step(), a_step("budget", "group:finance"), a_step("board", "admins", stage=1)), TERMS, ASKED
    )
    people = await approvers.able(directory, steps, REQUESTER, ASKED)
    assert [p.id for p in people] == ["U0MANAGER", "U0BOTH", "U0FINANCE"]


async def test_a_delegate_of_the_team_is_asked_for_a_lead_who_is_away() -> None:
    team = Team("ml", lead="U0MANAGER", delegate="U0FINANCE")
    directory = FakeDirectory((replace(MANAGER, away_until=AWAY), FINANCE, ADMIN, REQUESTER), (team,))
    (step,) = await approvers.staff(directory, (), "ml", REQUESTER, ASKED)
    assert step.approvers == ("admins",)
    people = await approvers.able(directory, (a_step(),), REQUESTER, ASKED)
    assert [p.id for p in people] == ["U0FINANCE"]


async def test_where_nobody_stands_in_those_who_are_away_are_asked_all_the_same() -> None:
    directory = FakeDirectory((replace(MANAGER, away_until=AWAY), REQUESTER))
    people = await approvers.able(directory, (a_step(),), REQUESTER, ASKED)
    assert [p.id for p in people] == ["U0MANAGER"]


async def test_nobody_is_asked_about_what_is_decided() -> None:
    directory = FakeDirectory((MANAGER, REQUESTER))
    assert await approvers.deciding(directory, a_lease(State.ACTIVE), ASKED) == ()
    assert [p.id for p in await approvers.deciding(directory, a_lease(State.AWAITING_APPROVAL), ASKED)] == ["U0MANAGER"]
