"""Memory of the worker for each workflow that it keeps in its cache."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench.bare import BareTimer
from bench.people import AUTOMATIC
from bench.result import Result
from bench.stage import Stage, WorkerProcess, each, stage
from lessor.domain.lease import State
from lessor.domain.terms import Terms

CACHED = 1_000
WARM = 0.1
"""The share of the workflows that is started before the first look, so that what is loaded once is not counted."""

KIB = 1024
FAR = 4e9
"""An instant that no timer of the floor reaches."""

Start = Callable[[int], Awaitable[None]]


async def run(scale: float) -> list[Result]:
    """The floor has done as many activities as a lease in this state, and sleeps like it."""
    count = max(int(CACHED * scale), 100)
    async with stage(cache=2 * count) as on:
        waiting = await _slope(on.product, count, lambda n: open_leases(on, n, State.AWAITING_APPROVAL))
        bare = await _slope(on.bare, count, lambda n: _bare(on, n, "lrlr"))
    async with stage(cache=2 * count) as on:
        active = await _slope(on.product, count, lambda n: open_leases(on, n, State.ACTIVE, purpose=AUTOMATIC))
        grown = await _slope(on.bare, count, lambda n: _bare(on, n, "lrlllrrrl"))
    return [
        Result("memory per cached lease that waits for approval", waiting, "KiB", 2.0, bare),
        Result("memory per cached active lease", active, "KiB", 2.0, grown),
    ]


async def _slope(worker: WorkerProcess, count: int, start: Start) -> float:
    """KiB for each of the workflows after the first tenth."""
    first = int(count * WARM)
    await start(first)
    before = worker.memory
    await start(count - first)
    return (worker.memory - before) / KIB / (count - first)


async def open_leases(on: Stage, count: int, state: State, **changes: str) -> None:
    """Start so many leases; returns when all of them are in this state."""

    async def one(_: int) -> None:
        await on.until(await on.lease(Terms(), **changes), state)

    await each(range(count), one)


async def _bare(on: Stage, count: int, script: str) -> None:
    async def one(_: int) -> None:
        await on.asleep(await on.bare_workflow(BareTimer.run, script, FAR, ""))

    await each(range(count), one)
