"""Many leases at once: all of them end at the same instant; later the worker dies and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from temporalio.client import WorkflowHandle

from bench.bare import BareTimer
from bench.people import AUTOMATIC
from bench.result import Result, table
from bench.stage import Stage, WorkerProcess, each, stage
from lessor.contracts import QUERY_LEASE
from lessor.domain.lease import Lease, State
from lessor.domain.terms import Terms

LEASES = 2_000
CACHE = 5_000
SETUP_SECONDS = 0.7
"""For each lease and its floors, to be active and asleep before the end comes."""

APART_SECONDS = 0.1
"""For each lease, between the crowd of the leases and those of the floors."""

LEAST_SECONDS = 90.0

SETTLED_SECONDS = 12.0
"""Between the last stop and SIGKILL: a task that the worker had in hand is given out again after 10 s by the server,
for lessor and floor alike, and would be all that is measured."""

WARNED_AFTER = timedelta(seconds=20)
"""From a lease's start to its only warning, so that warnings come while leases are still being started."""

PLAYED = "lrlllrrrlrl"
"""What a lease has asked of Temporal when it is active and warned."""

STOPPING = "lr"
"""What it asks from its end until it is stopped."""


async def run(scale: float) -> list[Result]:
    count = max(int(LEASES * scale), 50)
    async with stage(cache=CACHE) as on:
        at = datetime.now(UTC) + timedelta(seconds=max(count * SETUP_SECONDS, LEAST_SECONDS))
        leases, timers, stops = await _set_up(on, count, at)
        late = (datetime.now(UTC) - at).total_seconds()
        if late > 0:
            raise RuntimeError(f"everything before the end took {late:.0f} s too long; raise SETUP_SECONDS")
        found: list[Result] = []
        try:
            for part in (_end(on, leases, timers, stops, at), _recover(on, leases, stops)):
                async for result in part:
                    found.append(result)
        except BaseException:
            table(found)  # What half an hour has shown is not lost with the rest.
            raise
        return found


async def _set_up(on: Stage, count: int, at: datetime) -> tuple[list[str], list[Any], list[Any]]:
    """Active leases that end at `at`; later the same number of timers, and then of timers with a stop."""
    leases: list[str] = []
    due: list[str] = []
    timers: list[WorkflowHandle[Any, Any]] = []
    stops: list[WorkflowHandle[Any, Any]] = []
    apart = max(count * APART_SECONDS, LEAST_SECONDS)
    first, second = at.timestamp() + apart, at.timestamp() + 2 * apart

    async def one(_: int) -> None:
        warning = at - datetime.now(UTC) - WARNED_AFTER
        terms = Terms(warnings=(warning,), short_warnings=(warning,), notice=timedelta(seconds=1))
        lease_id = await on.lease(terms, duration=None, until=at, purpose=AUTOMATIC)
        timers.append(await on.bare_workflow(BareTimer.run, PLAYED, first, ""))
        stops.append(await on.bare_workflow(BareTimer.run, PLAYED, second, STOPPING))
        await on.until(lease_id, State.ACTIVE)
        leases.append(lease_id)
        if datetime.now(UTC) < at - warning:
            due.append(lease_id)

    await each(range(count), one)
    await each([*timers, *stops], on.asleep)
    async with asyncio.timeout((at - datetime.now(UTC)).total_seconds()):
        # A lease that was ready only after its warning was due is not warned any more.
        await each(due, on.warned)
    return leases, timers, stops


async def _recover(on: Stage, leases: list[str], stops: list[Any]) -> AsyncIterator[Result]:
    """SIGKILL, start again, and ask every workflow: each answer needs its whole history played back."""
    lost = 0
    await asyncio.sleep(SETTLED_SECONDS)

    async def ask(lease_id: str) -> None:
        nonlocal lost
        lease = await on.answer(on.handle(lease_id), QUERY_LEASE, result_type=Lease)
        lost += lease.state is not State.STOPPED

    ours = await _reborn(on.product, lambda: each(leases, ask))
    yield Result("leases lost by SIGKILL", lost, "leases", 0)
    reference = await _reborn(on.bare, lambda: each(stops, on.asleep))
    yield Result(f"SIGKILL until {len(leases):,} leases answer again", ours, "s", 1.3, reference)


async def _reborn(worker: WorkerProcess, ask: Any) -> float:
    worker.kill()
    await worker.start()
    started = time.monotonic()
    await ask()
    return time.monotonic() - started


async def _end(
    on: Stage, leases: list[str], timers: list[Any], stops: list[Any], at: datetime
) -> AsyncIterator[Result]:
    """How late the last one is: lessor's by its ledger, the floor's by its own clock when it woke up."""
    await asyncio.sleep(max((at - datetime.now(UTC)).total_seconds(), 0))
    for lease_id in leases:
        await on.until(lease_id, State.STOPPED)
    ended, stopped = await asyncio.to_thread(_lateness, on, leases, at)
    yield Result("last one stopped after their end", max(stopped), "s")
    woken = [await handle.result() for handle in timers]
    yield Result(f"last of {len(leases):,} leases ended after their end", max(ended), "s", 1.5, max(woken))
    yield Result("median lease ended after its end", median(ended), "s", None, median(woken))
    loaded = [await on.late(handle) for handle in stops]
    yield Result(f"last of {len(leases):,}, floor with a stop of its own", max(ended), "s", None, max(loaded))


def _lateness(on: Stage, leases: list[str], at: datetime) -> tuple[list[float], list[float]]:
    times: dict[str, list[float]] = {"ended": [], "stopped": []}
    for lease_id in leases:
        for stored in on.ledger.events(lease_id):
            if stored.event.type in times:
                times[stored.event.type].append((stored.event.at - at).total_seconds())
    return times["ended"], times["stopped"]
