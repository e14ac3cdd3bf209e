"""Requests that become others before they are decided, questions, typed approvals, approvals that do not hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from lessor import contracts
from lessor.contracts import Act, Notice, Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.pending import Changes
from lessor.domain.policy import Decision, Outcome, Reason
from lessor.domain.request import Market
from lessor.ports import NoCapacityError
from tests.builders import a_quota
from tests.world import ADMIN, ASK_THE_LEAD, MANAGER, REQUESTER, SECOND, Handle, World

HOUR = timedelta(hours=1)
SHORTER = Changes(duration=2 * HOUR)
DENY = Decision(Outcome.DENY, (Reason("frozen", "the budget is spent"),), policy_version="v2")


def usd(amount: str) -> Money:
    return Money(Decimal(amount))


def held(world: World, handle: Handle) -> int:
    """The GPUs that the lease takes from its team's quota."""
    return sum(r.gpus for r in world.ledger.held("research") if r.lease_id == handle.id)


async def waiting(world: World, **changes: object) -> Handle:
    handle = await world.ask(**changes)
    await world.until(handle, State.AWAITING_APPROVAL)
    return handle


async def countered(world: World, wanted: Changes = SHORTER) -> Handle:
    handle = await waiting(world)
    answer = await world.act(handle, Verb.COUNTER, MANAGER, changes=wanted, reason="two hours will do")
    assert answer.ok
    assert answer.state == "awaiting-approval"
    return handle


async def test_accepted_changes_carry_the_approval_of_who_proposed_them(world: World) -> None:
    handle = await countered(world)
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).ok
    lease = await world.until(handle, State.ACTIVE)
    assert (lease.decided_by, lease.request.duration, lease.counter) == (MANAGER.id, 2 * HOUR, None)
    assert lease.ends_at is not None
    assert lease.ready_at is not None
    assert lease.ends_at - lease.ready_at == 2 * HOUR
    assert lease.decided_reason == "approved with changes: for 2 h"
    assert world.events(handle)[:9] == [
        "requested",
        "assessed",
        "asked",
        "countered",
        "changes-accepted",
        "assessed",
        "asked",
        "approval-given",
        "approved",
    ]
    await world.told(handle, "countered")
    assert world.cloud.times("launch") == 1


async def test_declined_changes_leave_the_request_to_those_who_decide(world: World) -> None:
    handle = await countered(world)
    assert (await world.act(handle, Verb.DECLINE, REQUESTER)).ok
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).code == "no-counter"
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    lease = await world.until(handle, State.ACTIVE)
    assert lease.request.duration == 8 * HOUR


async def test_nobody_accepts_for_somebody_else_nor_proposes_for_themselves(world: World) -> None:
    handle = await countered(world)
    assert (await world.act(handle, Verb.ACCEPT, MANAGER)).code == "not-owner"
    assert (await world.act(handle, Verb.COUNTER, REQUESTER, changes=SHORTER)).code == "own-request"
    longer = Changes(duration=9 * HOUR)
    assert (await world.act(await waiting(world), Verb.COUNTER, MANAGER, changes=longer)).code == "not-less"
    assert world.events(handle)[-2:] == ["refused", "refused"]


async def test_changes_that_became_dearer_are_decided_again(world: World) -> None:
    handle = await countered(world)
    world.cloud.hourly = usd("2.51")
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).ok
    lease = await world.when(
        handle, lambda found: found.request.duration == 2 * HOUR and bool(found.steps), "new steps"
    )
    assert (lease.state, lease.steps[0].votes) == (State.AWAITING_APPROVAL, ())
    await world.sleep(timedelta(minutes=1))
    assert "approval-given" not in world.events(handle)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok


async def test_changes_of_somebody_who_left_meanwhile_carry_nothing(world: World) -> None:
    handle = await countered(world)
    world.directory.people[:] = [REQUESTER, replace(MANAGER, active=False), SECOND, ADMIN]
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).ok
    await world.when(handle, lambda found: found.refusal is not None, "a refusal")
    assert (await world.lease(handle)).state is State.AWAITING_APPROVAL
    assert (await world.act(handle, Verb.APPROVE, SECOND)).ok


async def test_accepted_changes_need_room_like_everything_else(world: World) -> None:
    handle = await countered(world)
    world.allow(a_quota("research", 0))
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).ok
    lease = await world.when(handle, lambda found: found.refusal is not None, "a refusal")
    assert lease.state is State.AWAITING_APPROVAL
    assert lease.refusal is not None
    assert "may hold 0 GPUs" in lease.refusal.why


async def test_a_changed_request_that_the_policy_denies_is_denied(world: World) -> None:
    handle = await countered(world)
    world.decision = DENY
    assert (await world.act(handle, Verb.ACCEPT, REQUESTER)).ok
    assert (await handle.result()).state == "denied"


async def test_a_revised_request_is_decided_from_the_start(world: World) -> None:
    handle = await waiting(world)
    wanted = Changes(market=Market.SPOT, count=2)
    assert (await world.act(handle, Verb.REVISE, REQUESTER, changes=wanted)).ok
    lease = await world.when(handle, lambda found: found.request.market is Market.SPOT and bool(found.steps), "spot")
    assert (lease.request.need.count, lease.steps[0].votes) == (2, ())
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    assert world.events(handle).count("assessed") == 2


async def test_an_alternative_is_taken_while_it_waits_for_capacity(world: World) -> None:
    world.cloud.fail["launch"] = [NoCapacityError("none", ("a",)), NoCapacityError("none", ("b",))]
    handle = await waiting(world)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    assert (await world.act(handle, Verb.REVISE, REQUESTER, changes=Changes(count=2))).ok
    await world.until(handle, State.AWAITING_APPROVAL)
    assert held(world, handle) == 0
    assert (await world.act(handle, Verb.APPROVE, SECOND)).ok
    lease = await world.until(handle, State.ACTIVE)
    assert (lease.gpus, lease.decided_by, held(world, handle)) == (2, SECOND.id, 2)


async def test_what_was_tried_and_then_denied_is_looked_for_before_it_is_over(world: World) -> None:
    world.cloud.fail["launch"] = [NoCapacityError("none", ("a",)), NoCapacityError("none", ("b",))]
    handle = await waiting(world)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    world.decision = DENY
    assert (await world.act(handle, Verb.REVISE, REQUESTER, changes=Changes(count=2))).ok
    outcome = await handle.result()
    assert outcome.state == "denied"
    assert "clean looks" in outcome.proof
    assert world.cloud.times("look") >= 2


async def test_questions_and_answers_are_told_and_hold_reminders_back(world: World) -> None:
    handle = await waiting(world)
    assert (await world.act(handle, Verb.ASK, MANAGER, reason="why eight?")).ok
    await world.told(handle, "question")
    await world.sleep(6 * HOUR)
    assert "reminded" not in world.events(handle)
    assert (await world.act(handle, Verb.REPLY, REQUESTER, reason="the batch needs it")).ok
    await world.told(handle, "answered")
    lease = await world.lease(handle)
    assert [(q.text, q.answer, q.answered_by) for q in lease.questions] == [
        ("why eight?", "the batch needs it", REQUESTER.id)
    ]
    await world.sleep(timedelta(minutes=16))
    assert world.events(handle)[-1] == "reminded"


async def test_an_expensive_approval_is_typed_out(world: World) -> None:
    world.terms = replace(world.terms, step_up=usd("20"))
    handle = await waiting(world)
    refused = await world.act(handle, Verb.APPROVE, MANAGER)
    assert (refused.ok, refused.code) == (False, "needs-confirmation")
    assert refused.message.endswith(f"type {handle.id} to approve it; nothing was decided yet")
    assert (await world.act(handle, Verb.APPROVE, MANAGER, confirmation="yes")).code == "needs-confirmation"
    assert (await world.act(handle, Verb.APPROVE, MANAGER, confirmation=handle.id)).ok
    await world.until(handle, State.ACTIVE)


async def test_facts_that_changed_while_it_waited_go_back_to_the_approver(world: World) -> None:
    world.decision = replace(ASK_THE_LEAD, facts=(("budget.left", "1000"),))
    handle = await waiting(world)
    await world.sleep(HOUR)
    world.decision = replace(ASK_THE_LEAD, facts=(("budget.left", "500"),))
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.when(handle, lambda _: "facts-changed" in world.events(handle), "changed facts")
    lease = await world.until(handle, State.AWAITING_APPROVAL)
    assert (lease.decided_by, held(world, handle), world.cloud.times("launch")) == ("", 0, 0)
    assert (await world.act(handle, Verb.APPROVE, SECOND)).ok
    await world.until(handle, State.ACTIVE)


async def test_a_price_that_rose_while_it_waited_for_capacity_goes_back_too(world: World) -> None:
    world.cloud.fail["launch"] = [NoCapacityError("none", ("a",)), NoCapacityError("none", ("b",))]
    handle = await waiting(world)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    world.cloud.hourly = usd("5.00")
    await world.sleep(HOUR + timedelta(minutes=1))
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (held(world, handle), world.cloud.times("launch")) == (0, 2)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)


async def test_what_the_policy_denies_by_now_is_not_created(world: World) -> None:
    handle = await waiting(world)
    await world.sleep(HOUR)
    world.decision = DENY
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    outcome = await handle.result()
    assert outcome.state == "denied"
    assert "does not allow it any more" in (await world.lease(handle)).decided_reason
    assert (held(world, handle), world.cloud.times("launch")) == (0, 0)


@pytest.mark.parametrize(
    ("verb", "details", "told"),
    [
        (Verb.COUNTER, {}, "to propose changes of a request, say what is to be different"),
        (Verb.REVISE, {"changes": Changes()}, "to change a request, say what is to be different"),
        (Verb.ASK, {"reason": " "}, "write the question, in at most 2,000 characters"),
        (Verb.REPLY, {"reason": "x" * 2_001}, "write the answer, in at most 2,000 characters"),
        (Verb.REVISE, {"changes": Changes(instance_type="x" * 65)}, "not the name of an instance type"),
        (Verb.APPROVE, {"confirmation": "x" * 101}, "type the id of the lease"),
    ],
)
async def test_what_cannot_even_be_tried_leaves_no_history(
    world: World, verb: Verb, details: dict[str, object], told: str
) -> None:
    handle = await waiting(world)
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await world.act(handle, verb, MANAGER, **details)
    assert isinstance(error.value.cause, ApplicationError)
    assert told in error.value.cause.message
    assert "refused" not in world.events(handle)


RECORDED: list[tuple[Verb, Callable[[], dict[str, object]]]] = [
    (Verb.COUNTER, lambda: {"changes": SHORTER}),
    (Verb.ASK, lambda: {"reason": "why?"}),
]


@pytest.mark.parametrize(("verb", "details"), RECORDED)
async def test_an_act_that_nobody_waited_for_has_its_effect(
    world: World, verb: Verb, details: Callable[[], dict[str, object]]
) -> None:
    handle = await waiting(world)
    act = Act("kept", verb, MANAGER.id, **details())  # type: ignore[arg-type]
    await handle.signal(contracts.SIGNAL_ACT, act)
    await handle.signal(contracts.SIGNAL_ACT, act)
    await world.when(handle, lambda found: bool(found.counter or found.questions), "the effect")
    assert len((await world.lease(handle)).questions) <= 1
    assert "refused" not in world.events(handle)


async def test_a_click_on_a_card_from_before_the_change_decides_nothing(world: World) -> None:
    handle = await waiting(world)
    await world.told(handle, "request")
    held_up = asyncio.Event()
    world.notifier.before[Notice.REQUEST] = held_up.wait
    assert (await world.act(handle, Verb.REVISE, REQUESTER, changes=Changes(count=8))).ok
    await world.until(handle, State.AWAITING_APPROVAL)
    click = await world.act(handle, Verb.APPROVE, MANAGER, via="slack")
    assert (click.ok, click.code) == (False, "changed")
    assert click.message == "the request has just changed; look at its card again, nothing was decided"
    held_up.set()
    await world.eventually(lambda: world.notifier.kinds(handle.id).count("request") == 2, "the new card")
    await world.sleep(timedelta(seconds=5))
    assert (await world.act(handle, Verb.APPROVE, MANAGER, via="slack")).ok
    assert (await world.until(handle, State.ACTIVE)).gpus == 8


async def test_a_second_approver_need_not_wait_for_the_first_one_to_be_shown(world: World) -> None:
    world.decision = replace(ASK_THE_LEAD, steps=(replace(ASK_THE_LEAD.steps[0], quorum=2),))
    handle = await waiting(world)
    assert (await world.act(handle, Verb.APPROVE, MANAGER, via="slack")).ok
    assert (await world.act(handle, Verb.APPROVE, SECOND, via="slack")).ok
    await world.until(handle, State.ACTIVE)
