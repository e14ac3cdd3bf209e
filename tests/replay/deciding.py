"""Stories of people who decide: reminded, replaced, asked back; and of requests that become others first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.pending import Changes
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.request import Market
from lessor.domain.terms import Terms
from lessor.ports import NoCapacityError
from tests.builders import a_quota
from tests.replay.moves import HOUR, MINUTE, Runs, asked, do, finished, run, used_and_released
from tests.world import ADMIN, APPROVAL, ASK_THE_LEAD, AT_ONCE, MANAGER, SECOND, World

TWO_STEPS = Decision(
    Outcome.REQUIRE,
    (Reason("big", "costs a lot"),),
    (APPROVAL, StepSpec("managers", ("group:managers",), stage=1)),
    "v1",
)
SHORTER = Changes(duration=2 * HOUR)


async def escalated(world: World) -> Runs:
    """The lead is silent, an administrator decides instead; then the second step is asked."""
    world.decision = TWO_STEPS
    world.terms = Terms(remind_after=HOUR, escalate_after=2 * HOUR)
    handle = await asked(world)
    await world.sleep(HOUR + MINUTE)
    await world.told(handle, "reminder")
    await world.sleep(HOUR)
    await world.told(handle, "escalated")
    await do(world, handle, Verb.APPROVE, ADMIN)
    await world.when(handle, lambda lease: lease.steps[1].asked_at is not None, "the second step")
    await do(world, handle, Verb.APPROVE, SECOND)
    return await used_and_released(world, handle)


async def approvers_left(world: World) -> Runs:
    """Both leads leave while they are asked; the daily look finds out, and administrators are asked."""
    handle = await asked(world)
    world.directory.closed.update((MANAGER.id, SECOND.id))
    report = await world.sweep_people()
    assert report.restaffed == (handle.id,)
    await world.when(handle, lambda lease: lease.steps[0].escalated == "admins", "administrators to be asked")
    await do(world, handle, Verb.APPROVE, ADMIN)
    return [run(world, "people-1"), *await used_and_released(world, handle)]


async def nobody_can_decide(world: World) -> Runs:
    """Not even an administrator is left: denied, with words."""
    handle = await asked(world)
    world.directory.closed.update((MANAGER.id, SECOND.id, ADMIN.id))
    await world.sweep_people()
    return await finished(handle, "denied")


async def countered(world: World) -> Runs:
    """The lead proposes less; declined at first, accepted then, which carries the lead's approval."""
    handle = await asked(world)
    for answer in (Verb.DECLINE, Verb.ACCEPT):
        await do(world, handle, Verb.COUNTER, MANAGER, changes=SHORTER, reason="two hours will do")
        await world.told(handle, "countered")
        await do(world, handle, answer)
    lease = await world.until(handle, State.ACTIVE)
    assert (lease.decided_by, lease.request.duration) == (MANAGER.id, 2 * HOUR)
    return await finished(handle, "closed")


async def talked_over(world: World) -> Runs:
    """A question, its answer, another request; and an approval that has to be typed out."""
    world.terms = Terms(step_up=Money(Decimal("20")))
    handle = await asked(world)
    await do(world, handle, Verb.ASK, MANAGER, reason="would spot do?")
    await world.told(handle, "question")
    await do(world, handle, Verb.REPLY, reason="it would, with two of them")
    await world.told(handle, "answered")
    await do(world, handle, Verb.REVISE, changes=Changes(market=Market.SPOT, count=2))
    await world.when(handle, lambda lease: lease.request.need.count == 2 and bool(lease.steps), "the other request")
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).code == "needs-confirmation"
    await do(world, handle, Verb.APPROVE, MANAGER, confirmation=handle.id)
    return await used_and_released(world, handle)


async def facts_changed(world: World) -> Runs:
    """The budget shrank while the approval waited."""
    world.decision = replace(ASK_THE_LEAD, facts=(("budget.left", "1000"),))
    handle = await asked(world)
    await world.sleep(HOUR)
    world.decision = replace(ASK_THE_LEAD, facts=(("budget.left", "500"),))
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.when(
        handle, lambda lease: lease.state is State.AWAITING_APPROVAL and not lease.decided_by, "facts that changed"
    )
    await do(world, handle, Verb.APPROVE, SECOND)
    return await used_and_released(world, handle)


async def another_taken(world: World) -> Runs:
    """What waits for capacity becomes another request; that is denied, and what was tried before is looked for."""
    world.cloud.fail["launch"] = [NoCapacityError("none", ("g5.xlarge",), "Insufficient") for _ in range(2)]
    handle = await asked(world)
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    await do(world, handle, Verb.REVISE, changes=Changes(count=2))
    await world.until(handle, State.AWAITING_APPROVAL)
    await do(world, handle, Verb.DENY, SECOND, reason="one at a time")
    return await finished(handle, "denied")


async def limit_near(world: World) -> Runs:
    """The second lease reaches half of what its team may hold, and people are told of that."""
    world.decision = AT_ONCE
    world.allow(a_quota("research", 4, hard=False), thresholds=(50,))
    await world.until(await world.ask(), State.ACTIVE)
    handle = await world.ask()
    await world.eventually(lambda: len(world.notifier.paged) == 1, "an alert")
    return await used_and_released(world, handle)
