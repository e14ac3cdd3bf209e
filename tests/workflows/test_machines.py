"""Leases of the organisation's own machines, from the request to the proven end, with the real provider behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.testing import WorkflowEnvironment

from lessor.contracts import Alarm, Verb
from lessor.domain.bookings import Phase
from lessor.domain.lease import Lease, State
from lessor.domain.records import Submission
from lessor.domain.request import Need
from lessor.domain.terms import Terms
from lessor.engine import TemporalEngine
from lessor.providers.machines.running import Ran
from tests.builders import a_quota, a_request
from tests.providers.pool_world import PLACE, PoolWorld
from tests.world import MANAGER, REQUESTER, Handle, World, activity_time, idle_world

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
DGX = Need(instance_type="dgx-1", count=8)


class ServerPool(PoolWorld):
    """A pool that lives in the server's time."""

    def now(self) -> datetime:
        return activity_time() if activity.in_activity() else self.now_at


@pytest.fixture
async def world(server: WorkflowEnvironment) -> AsyncIterator[World]:
    async with idle_world(server) as made:
        made.terms = replace(made.terms, grace=HOUR, capacity_waits=(30 * MINUTE,) * 8)
        yield made


@pytest.fixture
async def pool(world: World, tmp_path: Path) -> AsyncIterator[ServerPool]:
    made = ServerPool(tmp_path, world.ledger, quick=True)
    world.others["machines"] = made.provider()
    async with world.working():
        yield made


async def asked(world: World, **changes: object) -> Handle:
    return await world.ask(**{"place": PLACE, "need": DGX, **changes})


async def approved(world: World, **changes: object) -> Handle:
    handle = await asked(world, **changes)
    await world.until(handle, State.AWAITING_APPROVAL)
    answer = await world.act(handle, Verb.APPROVE, MANAGER)
    assert answer.ok, answer.message
    return handle


async def active(world: World, **changes: object) -> tuple[Handle, Lease]:
    handle = await approved(world, **changes)
    return handle, await world.until(handle, State.ACTIVE)


async def test_a_lease_lets_its_owner_in_and_out_again(world: World, pool: ServerPool) -> None:
    handle, lease = await active(world, duration=8 * HOUR)
    assert (lease.access, lease.stoppable) == ("ssh dgx-1.example.test", True)
    assert pool.open_to("dgx-1") == {handle.id: ["requester@example.test"]}
    assert [r.ref for r in lease.resources] == ["machine:dgx-1"]
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.until(handle, State.STOPPED)
    assert pool.open_to("dgx-1") == {}
    assert [one.phase for one in pool.bookings(handle.id)] == [Phase.STOPPED]
    outcome = await handle.result()
    assert outcome.state == "closed"
    assert outcome.proof.endswith("machine:dgx-1 gone")
    assert [one.phase for one in pool.bookings(handle.id)] == [Phase.ENDED]


async def test_two_reservations_of_one_machine_never_overlap(world: World, pool: ServerPool) -> None:
    now = await world.env.get_current_time()
    first = await approved(world, start=now + DAY, duration=4 * HOUR)
    await world.until(first, State.APPROVED)
    second = await asked(world, start=now + DAY + HOUR, duration=HOUR)
    await world.until(second, State.AWAITING_APPROVAL)
    answer = await world.act(second, Verb.APPROVE, MANAGER)
    assert not answer.ok
    assert f"dgx-1 by {first.id} until" in answer.message
    assert "It is free from" in answer.message
    assert world.ledger.held("research") == tuple(r for r in world.ledger.held() if r.lease_id == first.id)
    assert (await world.act(first, Verb.WITHDRAW, REQUESTER)).ok
    assert (await first.result()).state == "withdrawn"
    assert pool.bookings(first.id) == []
    assert (await world.act(second, Verb.APPROVE, MANAGER)).ok
    await world.sleep(DAY + HOUR + MINUTE)
    await world.until(second, State.ACTIVE)
    assert pool.open_to("dgx-1") == {second.id: ["requester@example.test"]}


async def test_an_approval_beyond_the_quota_books_nothing(world: World, pool: ServerPool) -> None:
    world.allow(a_quota("research", 4))
    handle = await asked(world, start=await world.env.get_current_time() + DAY, duration=HOUR)
    await world.until(handle, State.AWAITING_APPROVAL)
    answer = await world.act(handle, Verb.APPROVE, MANAGER)
    assert not answer.ok
    assert "8 more do not fit" in answer.message
    assert pool.bookings(handle.id) == []


async def test_a_suspended_lease_keeps_its_machine_and_is_let_in_again(world: World, pool: ServerPool) -> None:
    handle, _ = await active(world, duration=8 * HOUR)
    assert (await world.act(handle, Verb.STOP, REQUESTER)).ok
    await world.when(handle, lambda found: found.suspended_at is not None, "stopped")
    assert pool.open_to("dgx-1") == {}
    other = await asked(world, start=await world.env.get_current_time() + HOUR, duration=HOUR)
    await world.until(other, State.AWAITING_APPROVAL)
    assert not (await world.act(other, Verb.APPROVE, MANAGER)).ok
    assert (await world.act(handle, Verb.START, REQUESTER)).ok
    await world.until(handle, State.ACTIVE)
    assert pool.open_to("dgx-1") == {handle.id: ["requester@example.test"]}


async def test_a_lease_that_is_asked_back_in_its_grace_has_its_machine_again(world: World, pool: ServerPool) -> None:
    handle, _ = await active(world, duration=2 * HOUR)
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    stopped = await world.until(handle, State.STOPPED)
    assert stopped.stopped_at is not None
    until = stopped.stopped_at + 5 * HOUR
    answer = await world.act(handle, Verb.RESTORE, REQUESTER, until=until)
    assert answer.ok, answer.message
    await world.until(handle, State.ACTIVE)
    assert [(one.machine, one.ends, one.phase) for one in pool.bookings(handle.id)] == [("dgx-1", until, Phase.HELD)]
    assert pool.open_to("dgx-1") == {handle.id: ["requester@example.test"]}


async def test_a_later_end_in_anothers_time_is_refused_before_it_is_granted(world: World, pool: ServerPool) -> None:
    now = await world.env.get_current_time()
    mine, lease = await active(world, duration=2 * HOUR)
    theirs = await approved(world, start=now + 6 * HOUR, duration=HOUR)
    await world.until(theirs, State.APPROVED)
    assert lease.ends_at is not None
    refused = await world.act(mine, Verb.EXTEND, REQUESTER, until=now + 7 * HOUR, reason="more")
    assert not refused.ok
    assert f"dgx-1 is booked for {theirs.id} from" in refused.message
    assert (await world.lease(mine)).ends_at == lease.ends_at
    until = now + 4 * HOUR
    granted = await world.act(mine, Verb.EXTEND, REQUESTER, until=until, reason="more")
    assert granted.ok, granted.message
    if (await world.lease(mine)).wish is not None:
        assert (await world.act(mine, Verb.GRANT, MANAGER)).ok
    assert (await world.lease(mine)).ends_at == until
    keys, told = pool.root / "dgx-1" / "authorized_keys", f'expiry-time="{until:%Y%m%d%H%M%S}Z"'
    await world.eventually(lambda: told in keys.read_text(), "the end on the machine")
    assert [one.open_until for one in pool.bookings(mine.id)] == [until]


async def test_a_rejected_wish_gives_the_time_back(world: World, pool: ServerPool) -> None:
    world.terms = replace(world.terms, auto_extensions=0)
    mine, lease = await active(world, duration=2 * HOUR)
    assert lease.ends_at is not None
    wished = lease.ends_at + HOUR
    assert (await world.act(mine, Verb.EXTEND, REQUESTER, until=wished, reason="more")).ok
    assert (await world.lease(mine)).wish is not None
    assert [one.ends for one in pool.bookings(mine.id)] == [wished]
    assert (await world.act(mine, Verb.REJECT, MANAGER, reason="no")).ok
    assert [one.ends for one in pool.bookings(mine.id)] == [lease.ends_at]


async def test_what_nobody_can_have_now_is_waited_for(world: World, pool: ServerPool) -> None:
    first, _ = await active(world, duration=8 * HOUR)
    second = await approved(world, duration=HOUR)
    waiting = await world.until(second, State.WAITING_FOR_CAPACITY)
    assert waiting.capacity is not None
    assert waiting.capacity.tried == ("dgx-1 (on-demand)",)
    assert (await world.act(first, Verb.RELEASE, REQUESTER)).ok
    await world.sleep(2 * HOUR)
    await world.until(second, State.ACTIVE)
    assert pool.open_to("dgx-1") == {second.id: ["requester@example.test"]}


async def test_a_machine_that_fails_its_check_is_told_to_its_lease_and_to_administrators(
    world: World, pool: ServerPool
) -> None:
    handle, _ = await active(world, duration=8 * HOUR)
    await world.sweep(PLACE)
    assert world.notifier.paged == []
    pool.ill["dgx-1"] = "a fan stands still"
    await world.sleep(5 * MINUTE)
    outcome = await world.sweep(PLACE)
    assert [report.told for report in outcome.places] == [(handle.id,)]
    await world.told(handle, "unfit")
    lease = await world.lease(handle)
    assert (lease.state, lease.unfit and lease.unfit.machines) == (State.ACTIVE, ("machine:dgx-1",))
    assert world.events(handle)[-1] == "machine-unfit"
    words = "a fan stands still"
    assert [(p.alarm, p.subject, p.problem) for p in world.notifier.paged] == [
        (Alarm.UNFIT, "machines/pool/dgx-1", words)
    ]
    assert [report.told for report in (await world.sweep(PLACE)).places] == [()]
    pool.ill.clear()
    for _ in range(2):
        await world.sleep(5 * MINUTE)
        await world.sweep(PLACE)
    await world.when(handle, lambda found: found.unfit is not None and not found.unfit.machines, "well again")
    assert world.events(handle)[-1] == "machine-fit"


async def test_a_revoke_that_fails_keeps_the_lease_open_and_the_machine_taken(world: World, pool: ServerPool) -> None:
    handle, _ = await active(world, duration=8 * HOUR)
    pool.broken["verify"] = Ran(1, words="no route")
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.sleep(2 * HOUR)
    stuck = await world.lease(handle)
    assert stuck.state is State.ENDING
    assert "who can is not known" in stuck.problem
    assert [one.phase for one in pool.bookings(handle.id)] == [Phase.HELD]
    pool.broken.clear()
    assert (await handle.result()).state == "closed"
    assert pool.open_to("dgx-1") == {}


async def test_a_lease_whose_hooks_are_gone_stays_open_until_somebody_says_that_nobody_gets_in(
    world: World, pool: ServerPool
) -> None:
    handle, _ = await active(world, duration=8 * HOUR)
    pool.hooks = False
    provider = world.others["machines"]
    provider._pools[PLACE.name] = pool.pool()
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok
    await world.told(handle, "stop-failed")
    await world.sleep(2 * HOUR)
    stuck = await world.lease(handle)
    assert stuck.state is State.ENDING
    assert f"lessor places confirm-closed {handle.id}" in stuck.problem
    assert pool.open_to("dgx-1") == {handle.id: ["requester@example.test"]}
    (pool.root / "dgx-1" / "authorized_keys").unlink()
    provider.confirm_closed(handle.id, PLACE)
    assert (await handle.result()).state == "closed"


async def test_a_lease_takes_the_grace_of_its_place_with_it(world: World, pool: ServerPool) -> None:
    own = {PLACE.name: 15 * MINUTE}
    engine = TemporalEngine(world.env.client, Terms, grace=lambda place: own.get(place.name))
    graces = []
    for number, place in enumerate((PLACE, replace(PLACE, provider="aws", name="research"))):
        request = a_request(requester=REQUESTER.id, team="research", place=place)
        assert await engine.start(Submission(f"click-{number}", f"gpu-0000009{number}", request, pool.now()))
        handle = world.env.client.get_workflow_handle(f"gpu-0000009{number}")
        lease = await world.lease(handle)
        graces.append(lease.terms.grace)
    assert graces == [15 * MINUTE, Terms().grace]
