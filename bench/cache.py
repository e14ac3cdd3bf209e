"""Memory of the worker beyond its cache: with many more open leases than it keeps, it must not grow."""

from __future__ import annotations

from bench.memory import KIB, open_leases
from bench.result import Result
from bench.stage import stage
from lessor.domain.lease import State

CACHED = 500
OPEN = 10_000
GROWTH = 1.1


async def run(scale: float) -> list[Result]:
    """Twice as many open leases as the cache holds, then all of them."""
    cached, most = max(int(CACHED * scale), 20), max(int(OPEN * scale), 400)
    async with stage(cache=cached) as on:
        await open_leases(on, 2 * cached, State.AWAITING_APPROVAL)
        before = on.product.memory
        await open_leases(on, most - 2 * cached, State.AWAITING_APPROVAL)
        after = on.product.memory
    name = f"worker memory with {most:,} open leases beside {2 * cached:,}, {cached:,} cached"
    return [Result(name, after / KIB**2, "MiB", GROWTH, before / KIB**2)]
