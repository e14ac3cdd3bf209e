"""The stories whose histories are stored. Together they go through every phase, verb, event and message of a lease.

Each story moves one world and names the runs that are worth keeping, oldest first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from lessor.contracts import SIGNAL_ACT, SIGNAL_OBSERVED, Act, Notice, Observed, Verb
from lessor.domain.lease import State
from lessor.domain.money import Money
from lessor.domain.resource import Condition, Disk, Kind, Resource
from lessor.domain.terms import Terms
from lessor.ports import PermanentError, RetryableError
from tests.builders import tiny_terms
from tests.replay import deciding, idling, lasting, owning, requests
from tests.replay.moves import (
    HOUR,
    MINUTE,
    Runs,
    Story,
    asked,
    do,
    every_run,
    finished,
    held,
    run,
    used_and_released,
)
from tests.world import ADMIN, MANAGER, REQUESTER, World

RENEWED_AFTER = 60
"""How many events the real-time server lets a run have before it suggests to continue as new."""


async def whole_life(world: World) -> Runs:
    handle = await world.active()
    ready = await world.lease(handle)
    await world.sleep(7 * HOUR + 31 * MINUTE)
    await world.told(handle, "warning")
    assert ready.ends_at is not None
    await do(world, handle, Verb.EXTEND, until=ready.ends_at + 2 * HOUR, reason="one more epoch")
    await do(world, handle, Verb.KEEP)
    return await finished(handle, "closed")


async def restored(world: World) -> Runs:
    """Released; the first wish to have it back fails, the second is taken back, the third comes true."""
    handle = await world.active()
    await do(world, handle, Verb.RELEASE)
    stopped = await world.until(handle, State.STOPPED)
    assert stopped.stopped_at is not None
    later = stopped.stopped_at + 6 * HOUR
    world.cloud.fail["start"] = [PermanentError("the account has no vCPUs left", "VcpuLimitExceeded")]
    await do(world, handle, Verb.RESTORE, until=later)
    await world.eventually(lambda: world.events(handle)[-2:] == ["restore-failed", "stopped"], "a failed restore")
    await world.until(handle, State.STOPPED)
    with held() as gate:
        world.cloud.before["start"] = gate.pass_through
        await do(world, handle, Verb.RESTORE, until=later)
        await gate.reached()
        await do(world, handle, Verb.WITHDRAW)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RESTORE, until=later)
    await world.until(handle, State.ACTIVE)
    return await finished(handle, "closed")


async def unfit(world: World) -> Runs:
    """Its machine fails its health check, and passes the next one."""
    handle = await world.active()
    well = world.cloud.alive(handle.id)[0]
    for fault, told in (("a fan stands still", 1), ("", 2)):
        world.cloud.machines[well.id] = replace(well, fault=fault)
        await world.sweep()
        await world.eventually(lambda told=told: world.notifier.kinds(handle.id).count("unfit") == told, "unfit")
    assert world.events(handle)[-2:] == ["machine-unfit", "machine-fit"]
    return await used_and_released(world, handle)


async def added_disk(world: World) -> Runs:
    """Somebody adds a disk to it, and takes it away again."""
    handle = await world.active()
    since = (await world.lease(handle)).requested_at
    disk = Disk(since, 512, Money(Decimal("0.08")), f"{handle.id}/data")
    volume = Resource(Kind.VOLUME, "vol-added", Condition.RUNNING, disk=disk)
    world.cloud.machines[volume.id], world.cloud.owners[volume.id] = volume, handle.id
    await world.sweep()
    await world.eventually(lambda: world.events(handle).count("disks-seen") == 1, "a disk that is charged")
    del world.cloud.machines[volume.id]
    await world.sweep()
    await world.eventually(lambda: world.events(handle).count("disks-seen") == 2, "a disk that is gone")
    return await used_and_released(world, handle)


async def cancelled(world: World) -> Runs:
    handle = await world.active()
    await handle.cancel()
    return await finished(handle, "closed")


async def by_signal(world: World) -> Runs:
    """Every act arrives by the durable way: one that is refused, then the approval twice."""
    handle = await asked(world)
    await handle.signal(SIGNAL_ACT, Act("by-signal-0", Verb.APPROVE, REQUESTER.id))
    await world.told(handle, "refused")
    approval = Act("by-signal-1", Verb.APPROVE, MANAGER.id)
    await handle.signal(SIGNAL_ACT, approval)
    await handle.signal(SIGNAL_ACT, approval)
    await world.until(handle, State.ACTIVE)
    await handle.signal(SIGNAL_ACT, Act("by-signal-2", Verb.RELEASE, REQUESTER.id))
    return await finished(handle, "closed")


async def blocked(world: World) -> Runs:
    """Neither the stop nor the deletion works at first."""
    world.terms = Terms(verify_interval=11 * MINUTE)
    world.cloud.fail["stop"] = [PermanentError("stop protection is on", "OperationNotPermitted")]
    handle = await world.active()
    await do(world, handle, Verb.RELEASE)
    await world.when(handle, lambda lease: lease.problem != "", "a stop that failed")
    await world.sleep(31 * MINUTE)
    await world.until(handle, State.STOPPED)
    world.cloud.fail["delete"] = [PermanentError("termination protection is on") for _ in range(4)]
    await do(world, handle, Verb.RELEASE)
    return await finished(handle, "closed")


async def kept(world: World) -> Runs:
    """What people stored outlives the rest of it for a while."""
    handle = await world.active()
    ready = await world.lease(handle)
    assert ready.ready_at is not None
    world.cloud.kept_until = ready.ready_at + 20 * HOUR
    world.cloud.kept = (Resource(Kind.CLAIM, f"{handle.id}/data@1", Condition.STOPPED, type="100 GiB fast"),)
    await do(world, handle, Verb.RELEASE)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RELEASE)
    await world.told(handle, "kept")
    return await finished(handle, "closed")


async def nobody_reached(world: World) -> Runs:
    """The first warning reaches nobody, and the new end cannot be written on the machine."""
    world.notifier.silent[Notice.WARNING] = 1
    handle = await world.active()
    ready = await world.lease(handle)
    assert ready.ends_at is not None
    world.cloud.fail["set_end"] = [PermanentError("not authorized to perform CreateTags", "UnauthorizedOperation")]
    await do(world, handle, Verb.EXTEND, ADMIN, until=ready.ends_at + HOUR)
    await world.eventually(lambda: "end-unwritten" in world.events(handle), "an end that could not be written")
    return await finished(handle, "closed")


async def interrupted(world: World) -> Runs:
    """A report that proves wrong, then one that proves right."""
    handle = await world.active()
    lease = await world.lease(handle)
    assert lease.ready_at is not None
    machine = lease.resources[0]
    await world.sleep(30 * MINUTE)
    await handle.signal(SIGNAL_OBSERVED, Observed(machine.id, "gone", "", lease.ready_at + 29 * MINUTE))
    await world.eventually(lambda: world.cloud.times("look") == 2, "a second look")
    world.turn(handle, Condition.GONE, "Server.SpotInstanceTermination")
    seen = Observed(machine.id, "gone", "Server.SpotInstanceTermination", lease.ready_at + 31 * MINUTE)
    await world.sleep(2 * MINUTE)
    await handle.signal(SIGNAL_OBSERVED, seen)
    return await finished(handle, "closed")


async def throttled(world: World) -> Runs:
    """Every activity of a cloud fails once on its way."""
    for method in ("quote", "launch", "await_usable", "stop", "delete"):
        world.cloud.fail[method] = [RetryableError("too many requests", "RequestLimitExceeded")]
    handle = await world.active()
    await do(world, handle, Verb.RELEASE)
    return await finished(handle, "closed")


async def terminated(world: World) -> Runs:
    """Its workflow is ended from outside; a sweep starts another, which takes it down."""
    handle = await world.active()
    await world.sleep(11 * MINUTE)
    await handle.terminate(reason="cleaning up")
    await world.sweep()
    await world.recorded(handle, State.CLOSED)
    return [run(world, "sweep-1"), run(world, handle.id)]


async def left_over(world: World) -> Runs:
    """Something appears after the lease was closed; the second sweep believes it."""
    handle = await world.active()
    await do(world, handle, Verb.RELEASE)
    await world.until(handle, State.STOPPED)
    await do(world, handle, Verb.RELEASE)
    await finished(handle, "closed")
    machine = next(iter(world.cloud.machines.values()))
    await world.sleep(11 * MINUTE)
    world.cloud.machines[machine.id] = replace(machine, condition=Condition.RUNNING)
    await world.sweep()
    await world.sleep(11 * MINUTE)
    await world.sweep()
    await world.recorded(handle, State.CLOSED)
    return [run(world, "sweep-2"), run(world, handle.id)]


async def sweep_in_trouble(world: World) -> Runs:
    """The place cannot be read, and nothing is concluded from that."""
    await world.active()
    world.cloud.fail["conditions"] = [PermanentError("not authorized to perform DescribeInstances", "Unauthorized")]
    outcome = await world.sweep()
    assert not outcome.places[0].complete
    return [run(world, "sweep-1")]


async def continued_as_new(world: World) -> Runs:
    """For a server that suggests it after `RENEWED_AFTER` events."""
    world.terms = replace(tiny_terms(), grace=timedelta(milliseconds=50))
    handle = await world.active()
    first = await run(world, handle.id).describe()
    for _ in range(8):
        await do(world, handle, Verb.KEEP)
    await world.eventually(lambda: world.events(handle).count("kept") == 8, "eight acts")
    await do(world, handle, Verb.RELEASE)
    await finished(handle, "closed")
    return await every_run(world, handle.id, first.run_id)


SKIPPING: tuple[Story, ...] = (
    whole_life,
    requests.denied,
    requests.denied_by_policy,
    requests.withdrawn,
    requests.withdrawn_while_provisioning,
    requests.lapsed,
    requests.waiting_for_capacity,
    requests.waiting_in_a_queue,
    requests.failed,
    restored,
    cancelled,
    requests.cancelled_before_approval,
    by_signal,
    blocked,
    kept,
    unfit,
    added_disk,
    requests.auto_approved,
    requests.over_quota,
    requests.price_rose,
    nobody_reached,
    interrupted,
    throttled,
    terminated,
    left_over,
    sweep_in_trouble,
    deciding.escalated,
    deciding.approvers_left,
    deciding.nobody_can_decide,
    deciding.countered,
    deciding.talked_over,
    deciding.facts_changed,
    deciding.another_taken,
    deciding.limit_near,
    lasting.granted,
    lasting.wished_in_vain,
    lasting.shortened,
    lasting.reserved,
    lasting.rested,
    lasting.ended_at_night,
    owning.handed_over,
    owning.offered_in_vain,
    owning.shared,
    owning.left_and_taken,
    owning.left_and_ended,
    owning.looks_wrong,
    idling.stopped_for_nothing,
    idling.spoken_for,
    idling.started_in_vain,
    idling.capped,
    idling.metered,
    idling.money_gone,
    lasting.outage,
)
"""Played where time is skipped."""

REAL_TIME: tuple[Story, ...] = (continued_as_new, owning.carried_over)
"""Played on the dev server, since only that one suggests to continue as new."""
