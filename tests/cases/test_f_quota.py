"""Governance cases of quotas and budgets, through whole leases: never more than there is, and all is given back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal

import pytest

from lessor.contracts import Verb
from lessor.domain.budget import MILLIONTHS
from lessor.domain.lease import FINAL, State
from lessor.domain.quota import Account, Ceiling, Kind
from lessor.domain.request import Need
from lessor.ports import NoCapacityError, PermanentError
from tests.builders import a_quota
from tests.world import AT_ONCE, MANAGER, REQUESTER, Handle, World

EIGHT = Need("A10G", 8)
MONTHS = [f"{year}-{month:02}" for year in range(2020, 2060) for month in range(1, 13)]


def used(leases: World) -> int:
    return sum(r.gpus for r in leases.ledger.held("research"))


def by_month(leases: World) -> dict[str, Decimal]:
    """Money that the team has used and planned of each month."""
    months: dict[str, Decimal] = {}
    for entry in leases.ledger.taken(Account("research"), MONTHS):
        one = entry.commitment
        months[one.month] = months.get(one.month, Decimal(0)) + Decimal(one.money or 0) / MILLIONTHS
    return months


def taken(leases: World) -> Decimal:
    return sum(by_month(leases).values(), Decimal(0))


async def test_F10_two_requests_pass_the_same_quota_check(leases: World) -> None:
    leases.allow(a_quota("research", 8))
    two = [await leases.ask(need=EIGHT) for _ in range(2)]
    for handle in two:
        await leases.until(handle, State.AWAITING_APPROVAL)
    answers = await asyncio.gather(*(leases.act(handle, Verb.APPROVE, MANAGER) for handle in two))
    assert sorted(answer.ok for answer in answers) == [False, True]
    [refused] = [answer for answer in answers if not answer.ok]
    assert (refused.code, refused.state) == ("quota", "awaiting-approval")
    assert "team research may hold 8 GPUs and holds 8; 8 more do not fit" in refused.message
    [winner] = [handle for handle in two if handle.id != refused.lease_id]
    await leases.until(winner, State.ACTIVE)
    assert (used(leases), len(leases.cloud.machines)) == (8, 1)


async def test_F10_random_parallel_requests_never_show_more_than_the_quota(leases: World) -> None:
    leases.allow(a_quota("research", 8), Ceiling("team:research", Decimal(60), Kind.MONEY))
    leases.decision = AT_ONCE
    dice = random.Random(10)
    handles = await asyncio.gather(*(leases.ask(need=Need("A10G", dice.randint(1, 8))) for _ in range(50)))
    seen: list[tuple[int, Decimal]] = []

    async def settled(handle: Handle) -> State:
        found = await leases.when(handle, lambda one: one.ready_at is not None or one.final, "an answer")
        seen.append((used(leases), max(by_month(leases).values(), default=Decimal(0))))
        return found.state

    states = await asyncio.gather(*(settled(handle) for handle in handles))
    assert set(states) == {State.ACTIVE, State.DENIED}
    assert max(gpus for gpus, _ in seen) <= 8
    # The moments between launch and use are paid as well, and nobody knows them before.
    assert max(money for _, money in seen) < Decimal("60.1")
    assert abs(taken(leases) - 20 * states.count(State.ACTIVE)) < 1


async def denied(leases: World) -> Handle:
    handle = await leases.ask()
    await leases.until(handle, State.AWAITING_APPROVAL)
    await leases.act(handle, Verb.DENY, MANAGER, reason="too expensive")
    return handle


async def expired(leases: World) -> Handle:
    return await leases.ask()


async def withdrawn(leases: World) -> Handle:
    leases.cloud.fail["launch"] = [NoCapacityError("none left", ("us-east-1a",)) for _ in range(2)]
    leases.decision = AT_ONCE
    handle = await leases.ask()
    await leases.until(handle, State.WAITING_FOR_CAPACITY)
    assert used(leases) == 1
    await leases.act(handle, Verb.WITHDRAW, REQUESTER)
    return handle


async def failed(leases: World) -> Handle:
    leases.cloud.fail["launch"] = [PermanentError("access denied", "UnauthorizedOperation")]
    leases.decision = AT_ONCE
    return await leases.ask()


async def cancelled(leases: World) -> Handle:
    handle = await leases.active()
    await leases.sleep(timedelta(hours=1))
    await handle.cancel()
    return handle


async def ended(leases: World) -> Handle:
    return await leases.active()


@pytest.mark.parametrize("end", [denied, expired, withdrawn, failed, cancelled, ended])
async def test_F11_reserved_quota_not_given_back(leases: World, end: Callable[[World], Awaitable[Handle]]) -> None:
    handle = await end(leases)
    assert State((await handle.result()).state) in FINAL
    lease = await leases.lease(handle)
    assert leases.ledger.held() == ()
    cost = lease.cost(lease.closed_at) if lease.closed_at else None
    assert cost is not None
    assert abs(taken(leases) - cost.amount) < Decimal("0.01")
    assert (cost.amount == 0) is (end in (denied, expired, withdrawn, failed))


async def test_F29_cost_goes_on_growing_after_the_stop(leases: World) -> None:
    """Counted ten times after the stop, by whatever is recorded then, it is what it was at the stop."""
    handle = await leases.active()
    await leases.sleep(timedelta(hours=3))
    await leases.act(handle, Verb.RELEASE, REQUESTER)
    await leases.until(handle, State.STOPPED)
    at_the_stop = taken(leases)
    assert Decimal("7.4") < at_the_stop < Decimal("7.7")
    for _ in range(10):
        await leases.act(handle, Verb.EXTEND, REQUESTER, until=(await leases.lease(handle)).ends_at)
        await leases.sleep(timedelta(hours=1))
        assert taken(leases) == at_the_stop
