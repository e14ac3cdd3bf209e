"""Disks that people add while a lease lives: the sweep sees them, the lease looks for itself and is charged."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lessor.contracts import Verb
from lessor.domain import costing, disks, storage
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Disk, Kind, Resource
from lessor.ports import PermanentError
from tests.builders import usd
from tests.world import REQUESTER, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
PRICE = usd("0.10")


def put(world: World, handle: Handle, name: str, since: datetime, **disk: object) -> Resource:
    """A volume of half a TiB that somebody made in the lease."""
    found = Disk(**({"since": since, "gib": 512, "monthly": PRICE, "name": f"{handle.id}/{name}"} | disk))  # type: ignore[arg-type]
    volume = Resource(Kind.VOLUME, f"{name}@1", Condition.RUNNING, disk=found)
    world.cloud.machines[volume.id], world.cloud.owners[volume.id] = volume, handle.id
    return volume


async def ready(world: World, **changes: object) -> tuple[Handle, datetime]:
    handle = await world.active(**changes)
    lease = await world.lease(handle)
    assert lease.ready_at is not None
    return handle, lease.ready_at


async def billed(world: World, handle: Handle, lines: int) -> Lease:
    return await world.when(handle, lambda one: len(one.storage) == lines, f"{lines} lines for disks")


async def test_F30_what_people_store_is_charged_since_it_is_there_until_it_was_seen_gone(world: World) -> None:
    handle, since = await ready(world, duration=20 * DAY)
    volume = put(world, handle, "data", since + MINUTE)
    await world.sleep(HOUR)
    assert (await world.sweep()).places[0].told == (handle.id,)
    lease = await billed(world, handle, 1)
    [line] = lease.storage
    assert (line.start, line.end, line.gib, line.monthly) == (since + MINUTE, None, 512, PRICE)
    assert (await world.sweep()).places[0].told == ()
    assert world.cloud.times("look") == 2
    await world.sleep(3 * DAY)
    del world.cloud.machines[volume.id]
    assert (await world.sweep()).places[0].told == (handle.id,)
    lease = await world.when(handle, lambda one: one.storage[0].end is not None, "a disk that was seen gone")
    end = lease.storage[0].end
    assert end is not None
    assert end - since >= 3 * DAY + HOUR
    expected = storage.cost((replace(line, end=end),), end, "USD")
    assert costing.storage_cost(lease, end) == costing.storage_cost(lease, end + 9 * DAY) == expected
    assert lease.state is State.ACTIVE
    assert world.events(handle).count("disks-seen") == 2


async def test_a_sweep_that_read_nothing_or_a_look_that_failed_changes_nothing(world: World) -> None:
    handle, since = await ready(world)
    volume = put(world, handle, "data", since)
    await world.sweep()
    lease = await billed(world, handle, 1)
    del world.cloud.machines[volume.id]
    world.cloud.fail["conditions"] = [PermanentError("not authorized", "UnauthorizedOperation")]
    assert (await world.sweep()).places[0].told == ()
    world.cloud.fail["look"] = [PermanentError("not authorized", "UnauthorizedOperation")]
    looks = world.cloud.times("look")
    assert (await world.sweep()).places[0].told == (handle.id,)
    await world.eventually(lambda: world.cloud.times("look") > looks, "a look that fails")
    assert (await world.lease(handle)).storage == lease.storage


async def test_what_was_stored_since_the_last_sweep_is_charged_when_it_is_stopped_and_on_the_last_bill(
    world: World,
) -> None:
    handle, since = await ready(world, place=Place("kubernetes", "lab"))
    put(world, handle, "data", since, gib=Decimal("0.5"))
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    lease = await world.until(handle, State.STOPPED)
    [line] = lease.storage
    assert (line.start, line.gib, line.end) == (since, Decimal("0.5"), None)
    put(world, handle, "late", since, gib=7_200)
    await world.sleep(DAY)
    assert (await world.sweep(Place("kubernetes", "lab"))).places[0].told == (handle.id,)
    await billed(world, handle, 2)
    await world.sleep(timedelta(days=7))
    lease = await world.recorded(handle, State.CLOSED)
    assert all(one.end is not None and one.end - since >= 7 * DAY for one in lease.storage)
    closed = next(one.event for one in world.ledger.events(handle.id) if one.event.type == "closed")
    cost = costing.storage_cost(lease, datetime(2100, 1, 1, tzinfo=UTC))
    assert cost is not None
    assert cost > Money(Decimal(150))
    assert closed.data["storage"] == str(cost)


async def test_more_disks_than_a_message_carries_make_the_cost_unknown_and_the_lease_goes_on(world: World) -> None:
    handle, since = await ready(world)
    for n in range(1_100):
        put(world, handle, f"v{n:04}", since)
    assert (await world.sweep()).places[0].told == (handle.id,)
    lease = await billed(world, handle, 1_000)
    assert [one.disk for one in lease.storage if one.monthly is None] == [disks.OTHERS]
    assert lease.cost(since + HOUR) is None
    assert (await world.sweep()).places[0].told == ()
    said = next(one.event for one in world.ledger.events(handle.id) if one.event.type == "disks-seen").data["charged"]
    assert said.endswith("; and 980 more")
    assert (await world.act(handle, Verb.KEEP, REQUESTER)).ok
