"""How a request is decided: by people, by policy, by time; once, and never by its own requester."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal

import pytest

from lessor import contracts
from lessor.contracts import Act, Answer, LeaseInput, Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quota import Reservation
from lessor.ports import PermanentError, RetryableError
from tests.world import ADMIN, AT_ONCE, MANAGER, REQUESTER, SECOND, World

DENY = Decision(Outcome.DENY, (Reason("no-h100", "H100 is kept for training"),), policy_version="v1")


async def test_two_managers_at_once_make_one_decision_and_one_machine(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    first, second = await asyncio.gather(
        world.act(handle, Verb.APPROVE, MANAGER), world.act(handle, Verb.APPROVE, SECOND)
    )
    winner, loser = (first, second) if first.ok else (second, first)
    assert (winner.ok, loser.ok, loser.code) == (True, False, "already-decided")
    assert (loser.by, loser.message.split(" at ")[0]) == (winner.by, f"already approved by {winner.by}")
    await world.until(handle, State.ACTIVE)
    assert len(world.cloud.machines) == 1
    assert world.events(handle).count("approved") == 1


async def test_the_same_act_redelivered_gives_the_same_answer(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    act = Act("click-1", Verb.APPROVE, MANAGER.id)
    first = await handle.execute_update(act.verb.value, act, id=act.id, result_type=Answer)
    again = await handle.execute_update(act.verb.value, act, id="another-delivery", result_type=Answer)
    await handle.signal(contracts.SIGNAL_ACT, act)
    assert again == first
    await world.until(handle, State.ACTIVE)
    assert world.events(handle).count("approval-given") == 1
    assert "refused" not in world.events(handle)


async def test_a_recorded_act_has_its_effect_without_an_answer(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await handle.signal(contracts.SIGNAL_ACT, Act("kept", Verb.APPROVE, MANAGER.id))
    lease = await world.until(handle, State.ACTIVE)
    assert lease.decided_by == MANAGER.id


async def test_nobody_decides_their_own_request_under_any_id(world: World) -> None:
    handle = await world.ask(requester="W0REQUESTER")
    await world.until(handle, State.AWAITING_APPROVAL)
    for verb in (Verb.APPROVE, Verb.DENY):
        answer = await world.act(handle, verb, REQUESTER, reason="mine")
        assert (answer.ok, answer.code) == (False, "own-request")
    assert world.events(handle)[-2:] == ["refused", "refused"]
    assert (await world.lease(handle)).state is State.AWAITING_APPROVAL


async def test_a_stranger_and_an_unknown_person_cannot_decide(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.APPROVE, ADMIN)).code == "not-approver"
    unknown = Act("x", Verb.APPROVE, "U0NOBODY")
    answer = await handle.execute_update("approve", unknown, id="x", result_type=Answer)
    assert (answer.ok, answer.code) == (False, "inactive")


async def test_a_denial_needs_a_reason_and_ends_the_request(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.DENY, MANAGER, reason="  ")).code == "no-reason"
    assert (await world.act(handle, Verb.DENY, MANAGER, reason="use the shared pool")).ok
    outcome = await handle.result()
    assert outcome.state == "denied"
    assert world.cloud.machines == {}
    assert world.notifier.kinds(handle.id) == ["request", "decided"]


async def test_nobody_deciding_lapses_after_a_day_and_approves_nothing(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.sleep(timedelta(hours=23, minutes=59))
    assert (await world.lease(handle)).state is State.AWAITING_APPROVAL
    await world.sleep(timedelta(minutes=2))
    outcome = await handle.result()
    assert outcome.state == "lapsed"
    assert world.cloud.times("launch") == 0


async def test_the_policy_approves_at_once_and_no_card_is_posted(world: World) -> None:
    world.decision = AT_ONCE
    handle = await world.ask()
    lease = await world.until(handle, State.ACTIVE)
    assert (lease.decided_by, lease.decided_reason) == ("policy", "small: costs little")
    assert "request" not in world.notifier.kinds(handle.id)


async def test_the_policy_denies_with_its_reason(world: World) -> None:
    world.decision = DENY
    handle = await world.ask()
    assert (await handle.result()).state == "denied"
    assert (await world.lease(handle)).decided_reason == "no-h100: H100 is kept for training"


async def test_two_steps_are_both_needed_and_one_person_is_not_two(world: World) -> None:
    steps = (StepSpec("a lead", ("lead:research",)), StepSpec("managers", ("group:managers",)))
    world.decision = Decision(Outcome.REQUIRE, (Reason("big", "costs a lot"),), steps, "v1")
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    answer = await world.act(handle, Verb.APPROVE, MANAGER)
    assert answer.ok
    assert answer.state == "awaiting-approval"
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).code == "not-approver"
    assert (await world.act(handle, Verb.APPROVE, SECOND)).ok
    await world.until(handle, State.ACTIVE)


async def test_a_full_quota_refuses_the_approval_with_the_numbers_and_keeps_the_request(world: World) -> None:
    world.ledger.reserve(Reservation("gpu-00000000", "research", "A10G", 16), world.plan.ceilings)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    answer = await world.act(handle, Verb.APPROVE, MANAGER)
    assert (answer.ok, answer.code) == (False, "quota")
    assert "may hold 16 GPUs and holds 16" in answer.message
    world.ledger.release("gpu-00000000")
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok


async def test_a_full_quota_denies_what_the_policy_would_approve(world: World) -> None:
    world.decision = AT_ONCE
    world.ledger.reserve(Reservation("gpu-00000000", "research", "A10G", 16), world.plan.ceilings)
    handle = await world.ask()
    assert (await handle.result()).state == "denied"
    assert "may hold 16 GPUs and holds 16" in (await world.lease(handle)).decided_reason


async def test_what_cannot_be_priced_for_good_is_denied_and_what_can_be_later_is_retried(world: World) -> None:
    world.cloud.fail["quote"] = [RetryableError("throttled"), PermanentError("p9.huge is not offered in us-east-1")]
    handle = await world.ask()
    assert (await handle.result()).state == "denied"
    assert (await world.lease(handle)).decided_reason == (
        "the request could not be judged, nothing was created: p9.huge is not offered in us-east-1"
    )
    assert world.cloud.times("quote") == 2


async def test_a_workflow_started_by_hand_without_a_request_fails_with_the_remedy(world: World) -> None:
    handle = await world.env.client.start_workflow(
        contracts.LEASE_WORKFLOW, LeaseInput("gpu-byhand00"), id="gpu-byhand00", task_queue=contracts.TASK_QUEUE
    )
    with pytest.raises(Exception) as error:
        await handle.result()
    assert "start leases with /gpu request" in str(error.value.__cause__)


async def test_a_price_that_rose_while_the_approval_waited_goes_back_to_the_approver(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.sleep(timedelta(hours=1))
    world.cloud.hourly = Money(Decimal("2.76"))
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.when(handle, lambda _: "price-rose" in world.events(handle), "a price that rose")
    back = await world.until(handle, State.AWAITING_APPROVAL)
    assert back.quote is not None
    assert (str(back.quote.offer.hourly), back.decided_by, world.cloud.times("launch")) == ("2.76 USD", "", 0)
    assert world.ledger.held("research") == ()
    assert (await world.act(handle, Verb.APPROVE, SECOND)).ok
    assert (await world.until(handle, State.ACTIVE)).decided_by == SECOND.id


async def test_a_small_rise_stays_approved(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.sleep(timedelta(hours=1))
    world.cloud.hourly = Money(Decimal("2.75"))
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.ACTIVE)
    assert "price-rose" not in world.events(handle)
