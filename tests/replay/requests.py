"""Stories of requests: decided by people and policy, priced, provisioned or not."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from lessor.contracts import QUEUED, Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.policy import Decision, Outcome, Reason
from lessor.ports import NoCapacityError, PermanentError
from tests.builders import a_quota
from tests.replay.moves import HOUR, MINUTE, Runs, asked, do, finished, held
from tests.world import AT_ONCE, MANAGER, REQUESTER, SECOND, World


async def denied(world: World) -> Runs:
    handle = await asked(world)
    assert not (await world.act(handle, Verb.APPROVE, REQUESTER)).ok
    await do(world, handle, Verb.DENY, MANAGER, reason="the cluster is free tonight")
    return await finished(handle, "denied")


async def denied_by_policy(world: World) -> Runs:
    world.decision = Decision(Outcome.DENY, (Reason("frozen", "no leases this week"),), policy_version="v1")
    return await finished(await world.ask(), "denied")


async def withdrawn(world: World) -> Runs:
    handle = await asked(world)
    await do(world, handle, Verb.WITHDRAW)
    return await finished(handle, "withdrawn")


async def withdrawn_while_provisioning(world: World) -> Runs:
    """The machine comes to life although nobody wants it any more."""
    usable = world.cloud.clock
    with held() as gate:
        handle = await asked(world)

        def late() -> datetime:
            gate.pass_through()
            return usable()

        world.cloud.before["await_usable"] = lambda: setattr(world.cloud, "clock", late)
        await do(world, handle, Verb.APPROVE, MANAGER)
        await gate.reached()
        await do(world, handle, Verb.WITHDRAW)
    return await finished(handle, "withdrawn")


async def lapsed(world: World) -> Runs:
    return await finished(await asked(world), "lapsed")


async def waiting_for_capacity(world: World) -> Runs:
    world.cloud.fail["launch"] = [NoCapacityError("none", ("g5.xlarge",), "Insufficient") for _ in range(2)]
    handle = await asked(world)
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    await world.sleep(HOUR + MINUTE)
    await world.until(handle, State.ACTIVE)
    await do(world, handle, Verb.RELEASE)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RELEASE)
    return await finished(handle, "closed")


async def waiting_in_a_queue(world: World) -> Runs:
    """It moves up while it is looked at, and its turn comes."""
    stands = (("number 2 of 2 that wait in queue gpus",), ("number 1 of 1 that wait in queue gpus",))
    world.cloud.fail["await_usable"] = [NoCapacityError("it waits", one, QUEUED) for one in stands]
    handle = await asked(world)
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.until(handle, State.WAITING_FOR_CAPACITY)
    await world.sleep(21 * MINUTE)
    await world.until(handle, State.ACTIVE)
    await do(world, handle, Verb.RELEASE)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RELEASE)
    return await finished(handle, "closed")


async def failed(world: World) -> Runs:
    world.cloud.fail["launch"] = [PermanentError("192 vCPUs needed, the quota is 64", "VcpuLimitExceeded")]
    handle = await asked(world)
    await do(world, handle, Verb.APPROVE, MANAGER)
    return await finished(handle, "failed")


async def cancelled_before_approval(world: World) -> Runs:
    handle = await asked(world)
    await handle.cancel()
    return await finished(handle, "withdrawn")


async def auto_approved(world: World) -> Runs:
    """Nobody is asked, and what cannot be stopped is deleted at its end."""
    world.decision, world.cloud.stoppable = AT_ONCE, False
    return await finished(await world.ask(), "closed")


async def over_quota(world: World) -> Runs:
    """The policy says yes, the quota says no."""
    world.decision = AT_ONCE
    world.allow(a_quota("research", 0))
    return await finished(await world.ask(), "denied")


async def price_rose(world: World) -> Runs:
    handle = await asked(world)
    await world.sleep(HOUR)
    world.cloud.hourly = Money(Decimal("4.00"))
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.when(
        handle, lambda lease: lease.state is State.AWAITING_APPROVAL and not lease.decided_by, "a price that rose"
    )
    await world.told(handle, "request")
    await do(world, handle, Verb.APPROVE, SECOND)
    await world.until(handle, State.ACTIVE)
    await do(world, handle, Verb.RELEASE)
    return await finished(handle, "closed")
