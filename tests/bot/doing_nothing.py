"""Leases of the bot's world that do nothing: seen so by the meter, warned, stopped; with figures on record."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.charts import Figures
from lessor.contracts import Delivery, Notice
from lessor.domain import idling, suspension
from lessor.domain.idle import Evidence, IdleTerms, Standing, Verdict
from lessor.domain.ladder import Rung
from lessor.domain.lease import Lease
from lessor.domain.usage import GpuUse, HostUse, Observation
from tests.bot.world import World

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def a_png(width: int = 2, height: int = 2) -> bytes:
    """A white picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    head = struct.pack("!IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\xff" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@dataclass
class Easel:
    """Draws a white picture of whatever it is shown, or fails."""

    shown: list[Figures] = field(default_factory=list)
    fail: Exception | None = None

    async def png(self, shown: Figures) -> bytes:
        self.shown.append(shown)
        if self.fail:
            raise self.fail
        return a_png()


async def seen_idle(
    world: World, lease: Lease, verdict: Verdict = Verdict.IDLE, terms: IdleTerms | None = None, **peaks: Any
) -> Lease:
    """The meter found that it does nothing since an hour ago; it has been running since two."""
    if lease.idle is None:
        world.clock.moved += 2 * HOUR
    now = world.clock()
    since = lease.idle.evidence.since if lease.idle else now - HOUR
    figures: dict[str, Any] = {"gpus": 2, "idle_gpus": 2, "covered": 0.98, "peak_engine": 0.004, "peak_util": 1.0}
    figures |= {"peak_memory": 0.03, "peak_power": 61.0, "peak_cpu": 2.0, "peak_network": 12_000.0}
    figures |= {"active_at": since, "active_kind": "gpu"}
    evidence = Evidence(verdict, since, now, **(figures | peaks))
    return await world.move(
        lease, idling.found, evidence, terms or (lease.idle.terms if lease.idle else IdleTerms()), now
    )


async def warned(world: World, lease: Lease, rung: Rung = Rung.WARN) -> tuple[Lease, Delivery]:
    """What the workflow does at a rung: tell people, then put on record that they were told."""
    notice = Notice.IDLE_FINAL if rung is Rung.FINAL else Notice.IDLE_WARNING
    world.engine.tell(lease.id, notice)
    await world.settled()
    delivery = world.engine.told[-1][2]
    now = world.clock()
    moved = await world.move(lease, idling.warned, rung, delivery.via, now, owner=delivery.owner)
    return moved, delivery


async def stopped(world: World, lease: Lease) -> Lease:
    """Warned twice, stopped for doing nothing, and seen stopped."""
    lease, _ = await warned(world, lease)
    world.clock.moved += 45 * MINUTE
    lease, _ = await warned(world, await seen_idle(world, lease), Rung.FINAL)
    world.clock.moved += 20 * MINUTE
    lease = await seen_idle(world, lease)
    assert lease.idle is not None
    lease = await world.move(lease, idling.stop, lease.idle.evidence, world.clock())
    return await world.move(lease, suspension.suspended, world.clock(), world.clock())


def metered(world: World, lease: Lease, hours: int = 2) -> None:
    """Figures on record, a tick every five minutes: busy until an hour ago."""
    now = world.clock().replace(second=0, microsecond=0)
    for ago in range(hours * 60, 0, -5):
        at = now - ago * MINUTE
        use = 0.9 if ago > 60 else 0.0
        gpus = (GpuUse("0", engine=use, memory_used=800.0, memory_total=80_000.0),)
        seen = Observation(lease.id, at, at, gpus, (HostUse(cpu=3.0),))
        world.ledger.meter(at, [(seen, _standing(lease, at))])


def _standing(lease: Lease, at: datetime) -> Standing:
    return Standing(lease.id, at, Verdict.IDLE, at)
