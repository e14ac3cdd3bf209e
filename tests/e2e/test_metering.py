"""What a real Prometheus tells of seven leases, from its series to what becomes of each lease.

The server's clock skips hours, Prometheus' does not: what happens to the leases in the coming hours was written into it
as the past, and is asked for by as much earlier.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.contracts import Alarm, MeterReport
from lessor.domain.idle import Verdict
from lessor.domain.ladder import Why
from lessor.domain.lease import Lease, State
from lessor.domain.request import Need
from lessor.domain.resource import Condition
from lessor.domain.usage import Reading, Seen, Subject
from lessor.ports import Telemetry
from tests.telemetry.exporter import Exporter, Gpu, eight
from tests.telemetry.fixtures import installed, prometheus_server, store
from tests.telemetry.store import Store
from tests.temporal import time_skipping
from tests.ticking import ticks
from tests.world import Handle, World, idle_world

__all__ = ["installed", "prometheus_server", "store"]

EVERY = timedelta(minutes=5)
MINUTE = timedelta(minutes=1)
LENGTH = timedelta(hours=4)
"""How much of the future is written."""


@dataclass
class Earlier:
    """A source that asks for what was `by` earlier, and tells it as if it was of now."""

    source: Telemetry
    by: timedelta
    name: str = "fleet"

    def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
        found = self.source.read(at - self.by, length, only)
        return replace(found, at=at, seen=tuple(map(self._now, found.seen)))

    def _now(self, seen: Seen) -> Seen:
        return replace(seen, newest=seen.newest + self.by)


class Scene:
    """A world whose leases' machines do what is written; minutes count from when all leases are usable."""

    def __init__(self, world: World, store: Store, begin: datetime) -> None:
        self.world = world
        self.leases: list[Handle] = []
        self._store = store
        self._by = begin + LENGTH - store.end
        self._begin = begin - self._by
        world.telemetry = Earlier(store.source(), self._by)  # type: ignore[assignment]

    def writes(self, lease: Handle, exporter: Exporter, since: int, until: int) -> None:
        """The exporter of the lease's machine was scraped all that time, saying what it says now."""
        machine = self.world.cloud.alive(lease.id)[0].id
        exporter.hostname, exporter.labels = f"host-of-{lease.id}", {"instance_id": machine}
        shift = (self._begin - self._store.end).total_seconds()
        self._store.keep(exporter, shift + 60 * since, shift + 60 * until)

    def time(self, minutes: int) -> datetime:
        """The world's time of a minute of the story."""
        return self._begin + self._by + minutes * MINUTE

    async def passes(self, minutes: int) -> MeterReport:
        return await ticks(self.world, minutes // 5, EVERY, self.leases)

    async def lease(self, handle: Handle) -> Lease:
        return await self.world.lease(handle)

    def events(self, handle: Handle) -> list[str]:
        return [kind for kind in self.world.events(handle) if "idle" in kind]


@asynccontextmanager
async def leased(store: Store, *needs: int) -> AsyncIterator[tuple[Scene, list[Handle]]]:
    """Leases of so many GPUs each that have just become usable, and nothing written yet."""
    async with time_skipping() as env, idle_world(env) as world:
        world.metering = EVERY
        begin = await env.get_current_time()
        # The story begins with a tick: else its first tick is whole or not by the second in which the test runs.
        scene = Scene(world, store, begin + EVERY - (begin - datetime.min.replace(tzinfo=UTC)) % EVERY)
        async with world.working():
            scene.leases = [await world.active(need=Need("A10G", count)) for count in needs]
            yield scene, scene.leases


def one(do: Callable[[Gpu], None]) -> Exporter:
    """A machine with one GPU that does this, and that is quiet otherwise."""
    exporter = Exporter(gpus=[Gpu()], host={"lessor_host_cpu_percent": 2.0, "lessor_host_sessions": 0.0})
    do(exporter.gpus[0])
    return exporter


def sliced(*engines: float) -> Exporter:
    """A card cut into slices: DCGM reports no utilisation of them, or 0 (case E04)."""
    gpus = [
        Gpu(0, slice_id=str(number), util=0.0, engine=engine, sm=engine, used=9_000.0, free=1_000.0, processes=1)
        for number, engine in enumerate(engines, 7)
    ]
    return Exporter(gpus=gpus, host={"lessor_host_cpu_percent": 2.0})


def one_of_eight() -> Exporter:
    exporter = eight(host={"lessor_host_cpu_percent": 2.0})
    for gpu in exporter.gpus[1:]:
        gpu.idle()
    exporter.gpus[0].busy()
    return exporter


async def test_each_lease_ends_as_what_its_gpus_did_calls_for(store: Store) -> None:
    async with leased(store, 1, 1, 1, 1, 1, 8, 1) as (scene, handles):
        busy, idle, gap, gone, mig, partly, holding = handles
        scene.writes(busy, one(Gpu.busy), 0, 240)
        scene.writes(idle, one(Gpu.idle), 0, 240)
        scene.writes(gap, one(Gpu.idle), 0, 90)
        scene.writes(gap, one(Gpu.idle), 115, 240)
        scene.writes(gone, one(Gpu.idle), 0, 75)
        scene.writes(mig, sliced(0.8, 0.0), 0, 240)
        scene.writes(partly, one_of_eight(), 0, 240)
        scene.writes(holding, one(Gpu.hold), 0, 240)
        report = await scene.passes(160)
        assert report.verdicts == {"busy": 3, "unknown": 2, Verdict.HELD.value: 1}

        await is_stopped_for_idleness(scene, idle)
        # One slice works and one does not, judged apart, although the card's own utilisation is always 0.
        for handle, heard in ((busy, []), (mig, ["partly-idle"]), (partly, ["partly-idle"])):
            assert (await scene.lease(handle)).state is State.ACTIVE
            assert scene.events(handle) == heard
        for handle in (gap, gone):
            await is_unknown_and_left_alone(scene, handle)
        lost = [page for page in scene.world.notifier.paged if page.alarm is Alarm.METER_SILENT]
        assert {name for page in lost for name in page.subject.split(", ")} == {gap.id, gone.id}
        assert (await scene.lease(partly)).idle is None
        told = next(e.event for e in scene.world.ledger.events(partly.id) if e.event.type == "partly-idle")
        assert (told.data["idle_gpus"], told.data["gpus"]) == ("7", "8")
        await is_warned_of_what_it_holds(scene, holding)

        # A whole window after the gap its clock has run anew, and it is warned from the beginning.
        await scene.passes(30)
        lease = await scene.world.when(gap, lambda found: found.idle is not None, "idle once more")
        assert lease.idle is not None
        assert lease.idle.evidence.since >= scene.time(110)
        assert (await scene.lease(gone)).idle is None


async def is_stopped_for_idleness(scene: Scene, handle: Handle) -> None:
    stopped = await scene.world.when(handle, lambda lease: lease.suspended_at is not None, "stopped")
    assert stopped.state is State.SUSPENDED
    assert stopped.pause is not None
    assert stopped.pause.why is Why.IDLE
    assert [machine.condition for machine in scene.world.cloud.alive(handle.id)] == [Condition.STOPPED]
    kinds = scene.events(handle)
    assert [kinds.count(kind) for kind in ("idle-warned", "idle-final-warned", "idle-stopped")] == [1, 1, 1]


async def is_unknown_and_left_alone(scene: Scene, handle: Handle) -> None:
    lease = await scene.lease(handle)
    assert (lease.state, lease.pause, lease.idle) == (State.ACTIVE, None, None)
    kinds = scene.events(handle)
    assert kinds[-1] == "idle-unknown"
    assert "idle-stopped" not in kinds


async def is_warned_of_what_it_holds(scene: Scene, handle: Handle) -> None:
    lease = await scene.lease(handle)
    assert lease.state is State.ACTIVE
    assert lease.idle is not None
    assert lease.idle.evidence.verdict is Verdict.HELD
    assert "idle-warned" in scene.events(handle)
    assert "idle-stopped" not in scene.events(handle)


@pytest.mark.parametrize("what", ["empty", "away"])
async def test_a_prometheus_that_lost_everything_stops_nobody(store: Store, what: str) -> None:
    """Cases E01 and E02: no data is not zero, whether the store is empty or does not answer."""
    async with leased(store, 1) as (scene, [lease]):
        scene.writes(lease, one(Gpu.idle), 0, 75)
        await scene.passes(75)
        await scene.world.told(lease, "idle-warning")
        if what == "away":
            scene.world.telemetry.source = Store(_Nowhere(), "x").source()  # type: ignore[attr-defined, arg-type]
        await scene.passes(90)
        found = await scene.lease(lease)
        assert (found.state, found.pause, found.idle) == (State.ACTIVE, None, None)
        assert scene.events(lease)[-1] == "idle-unknown"
        expected = Alarm.SOURCE_SILENT if what == "away" else Alarm.METER_SILENT
        assert [page.alarm for page in scene.world.notifier.paged] == [expected]


class _Nowhere:
    """Where no Prometheus listens."""

    url = "http://127.0.0.1:9"
