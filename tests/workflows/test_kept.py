"""What people stored outlives the rest of their lease: they are told, and it closes once that is gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Resource
from tests.world import REQUESTER, World

HOUR = timedelta(hours=1)
FAR = datetime(2100, 1, 1, tzinfo=UTC)


async def test_a_lease_waits_for_what_is_kept_on_purpose_and_closes_when_that_is_gone(world: World) -> None:
    handle = await world.active()
    ready = await world.lease(handle)
    assert ready.ready_at is not None
    until = ready.ready_at + 20 * HOUR
    claim = Resource(Kind.CLAIM, f"{handle.id}/data@1", Condition.STOPPED, type="100 GiB fast")
    world.cloud.kept, world.cloud.kept_until = (claim,), until
    for _ in range(2):
        assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
        await world.until(handle, State.STOPPED, State.DELETING)
    await world.told(handle, "kept")
    lease = await world.lease(handle)
    assert (lease.state, lease.left) == (State.DELETING, (claim.ref,))
    outcome = await handle.result()
    closed = await world.lease(handle)
    assert closed.closed_at is not None
    assert (outcome.state, closed.closed_at >= until) == ("closed", True)
    events = world.events(handle)
    assert (events.count("kept"), events.count("blocked")) == (1, 0)


async def test_what_people_stored_in_a_cluster_is_told_when_their_lease_is_stopped(world: World) -> None:
    claim = Resource(Kind.CLAIM, "gpu-x/data@1", Condition.STOPPED, type="100 GiB fast", reason="10.00 USD a month")
    world.cloud.kept, world.cloud.kept_until = (claim,), FAR
    handle = await world.active(place=Place("kubernetes", "lab"))
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    lease = await world.until(handle, State.STOPPED)
    assert lease.resources[-1] == claim
    stopped = next(one.event for one in world.ledger.events(handle.id) if one.event.type == "stopped")
    assert stopped.data["disks"] == "claim gpu-x/data, 100 GiB fast, 10.00 USD a month"
