"""Round trips of approve and extend beside a bare update that runs one activity. One at a time, in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from statistics import median
from typing import Any

from temporalio.client import WorkflowHandle

from bench.bare import Bare
from bench.people import AUTOMATIC, MANAGER, requester
from bench.result import Result
from bench.stage import Stage, approval, each, stage
from lessor.contracts import Act, Verb
from lessor.domain.lease import State
from lessor.domain.terms import Terms

PAIRS = 300
ACTIVE = 10
PAUSE_SECONDS = 0.1
"""Between two: an approval sets off provisioning, which must not slow down the floor's next update."""

TERMS = Terms(min_duration=timedelta(seconds=1), auto_extensions=1_000_000)
STEP = timedelta(minutes=1)


async def run(scale: float) -> list[Result]:
    pairs = max(int(PAIRS * scale), 10)
    times: dict[str, list[float]] = {"approve": [], "extend": [], "remote": [], "local": []}
    async with stage() as on:
        waiting, active = await _leases(on, pairs)
        bare = await on.bare_workflow(Bare.run, "u")
        for number in range(pairs):
            await _pair(on, bare, waiting[number], active[number % ACTIVE], number, times)
    return _results(times)


async def _pair(
    on: Stage, bare: WorkflowHandle[Any, Any], waiting: str, active: str, number: int, times: dict[str, list[float]]
) -> None:
    approve, extend = approval(waiting, MANAGER.id), await _extension(on, active, number)
    await _timed(times["approve"], lambda: on.act(waiting, approve))
    await _timed(times["remote"], lambda: bare.execute_update(Bare.tell_far, id=f"far-{number}"))
    await _timed(times["extend"], lambda: on.act(active, extend))
    await _timed(times["local"], lambda: bare.execute_update(Bare.tell_near, id=f"near-{number}"))


def _results(times: dict[str, list[float]]) -> list[Result]:
    results = []
    for verb in ("approve", "extend"):
        for words, floor, targets in (
            ("", "remote", (1.5, 2.0)),
            (", floor with a local activity", "local", (None, None)),
        ):
            for share, target in zip((0.50, 0.99), targets, strict=True):
                ours, reference = _at(times[verb], share), _at(times[floor], share)
                name = f"{verb} p{share * 100:.0f}{words}"
                results.append(Result(name, ours, "ms", target, reference))
    return results


async def _leases(on: Stage, count: int) -> tuple[list[str], list[str]]:
    waiting = [await on.lease(TERMS) for _ in range(count)]
    active = [await on.lease(TERMS, purpose=AUTOMATIC) for _ in range(ACTIVE)]
    await each(waiting, lambda lease_id: on.until(lease_id, State.AWAITING_APPROVAL))
    await each(active, lambda lease_id: on.until(lease_id, State.ACTIVE))
    return waiting, active


async def _extension(on: Stage, lease_id: str, number: int) -> Act:
    lease = await on.until(lease_id, State.ACTIVE)
    assert lease.ends_at is not None
    return Act(f"extend-{number}", Verb.EXTEND, requester(lease_id).id, until=lease.ends_at + STEP)


async def _timed(times: list[float], call: Callable[[], Awaitable[object]]) -> None:
    await asyncio.sleep(PAUSE_SECONDS)
    started = time.perf_counter()
    await call()
    times.append((time.perf_counter() - started) * 1000)


def _at(times: list[float], share: float) -> float:
    if share == 0.50:
        return median(times)
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]
