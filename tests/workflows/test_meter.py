"""The meter as the schedule runs it: known by the time that was meant, counting on, and leading idle leases on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.service import RPCError

from lessor import contracts
from lessor.contracts import Alarm, MeterReport
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.ladder import Why
from lessor.domain.lease import State
from lessor.domain.resource import Condition
from lessor.looking import look_now
from lessor.ports import LedgerUnavailableError
from tests.metering import BUSY, IDLE, QUIET_HOST, silent
from tests.temporal import dev_server
from tests.ticking import tick, ticks
from tests.world import Handle, World, busy_world
from workflows.meter import floored
from workflows.schedule import drop_schedule, keep_schedule, meter_schedule

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
QUICK = IdlePlan(
    organisation={
        "window": 5 * MINUTE,
        "warn": 5 * MINUTE,
        "final": 20 * MINUTE,
        "stop": 40 * MINUTE,
        "warm_up": timedelta(),
        "notice": MINUTE,
    }
)


@pytest.fixture
async def dev() -> AsyncIterator[World]:
    async with dev_server() as env, busy_world(env) as made:
        yield made


def test_a_tick_is_the_latest_that_is_over() -> None:
    noon = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
    assert floored(noon, 5 * MINUTE) == noon
    assert floored(noon + timedelta(seconds=299.9), 5 * MINUTE) == noon
    assert floored(noon - timedelta(microseconds=1), 15 * MINUTE) == noon - 15 * MINUTE


def shows(world: World, handle: Handle, *gpus: object) -> str:
    """From now on the lease's machine does this; its id."""
    machine = world.cloud.alive(handle.id)[0].id
    world.telemetry.gpus[machine] = gpus  # type: ignore[assignment]
    world.telemetry.hosts[machine] = QUIET_HOST
    return machine


async def test_an_idle_lease_is_warned_twice_and_stopped_and_its_quota_stays(world: World) -> None:
    world.idle_plan = QUICK
    handle = await world.active()
    shows(world, handle, IDLE)
    await ticks(world, 6, MINUTE, [handle])
    lease = await world.when(handle, lambda found: found.idle is not None, "idle")
    await world.told(handle, "idle-warning")
    assert lease.idle is not None
    assert lease.idle.terms.stop == 40 * MINUTE
    for _ in range(45):
        await ticks(world, 1, MINUTE, [handle])
        if (await world.lease(handle)).state is State.SUSPENDED:
            break
    lease = await world.when(handle, lambda found: found.suspended_at is not None, "stopped")
    assert lease.pause is not None
    assert lease.pause.why is Why.IDLE
    assert [one.condition for one in world.cloud.alive(handle.id)] == [Condition.STOPPED]
    assert [kind for kind in world.events(handle) if kind.startswith("idle-") and kind != "idle-seen"] == [
        "idle-warned",
        "idle-final-warned",
        "idle-stopped",
    ]
    assert [one.gpus for one in world.ledger.held("research")] == [1]
    assert (await ticks(world, 1)).leases == 0


async def test_work_that_begins_again_ends_the_ladder_and_busy_leases_hear_nothing(world: World) -> None:
    world.idle_plan = QUICK
    idle, busy = await world.active(), await world.active()
    shows(world, idle, IDLE)
    shows(world, busy, BUSY)
    await ticks(world, 6, MINUTE, [idle, busy])
    await world.told(idle, "idle-warning")
    shows(world, idle, BUSY)
    assert (await ticks(world, 1)).told == (idle.id,)
    await world.when(idle, lambda found: found.idle is None, "busy again")
    await world.told(idle, "idle-over")
    assert not [kind for kind in world.events(busy) if kind.startswith("idle")]
    signals = [e for e in await world.history(busy) if e.HasField("workflow_execution_signaled_event_attributes")]
    assert signals == []


async def test_a_dead_ledger_is_told_and_the_next_tick_goes_on(world: World) -> None:
    handle = await world.active()
    shows(world, handle, BUSY)
    assert (await ticks(world, 1)).stored
    last_report = world.ledger.last_report

    def dead() -> None:
        raise LedgerUnavailableError("the ledger cannot be used: disk full")

    world.ledger.last_report = dead  # type: ignore[method-assign, assignment]
    running = asyncio.create_task(tick(world))
    await asyncio.sleep(0.05)
    world.ledger.last_report = last_report  # type: ignore[method-assign]
    assert (await running).problem == ""


async def test_the_schedule_ticks_counts_on_and_pages_a_silent_source_once(dev: World) -> None:
    await dev.active()
    dev.telemetry.fail = silent()
    await keep_schedule(dev.env.client, meter_schedule(SECOND))
    await dev.eventually(lambda: bool(dev.notifier.paged), "a page")
    report = await look_now(dev.env.client, contracts.METER_SCHEDULE, MeterReport)
    while report.sources[0].silent < 5:
        report = await look_now(dev.env.client, contracts.METER_SCHEDULE, MeterReport)
    assert {(page.alarm, page.subject) for page in dev.notifier.paged} == {(Alarm.SOURCE_SILENT, "prometheus")}
    paged = len(dev.notifier.paged)
    assert report.at == floored(report.at, SECOND)
    assert report.pages == ()
    dev.telemetry.fail = None
    report = replace(report, sources=())
    while not report.stored or not report.sources:
        report = await look_now(dev.env.client, contracts.METER_SCHEDULE, MeterReport)
    assert [(one.ok, one.silent) for one in report.sources] == [(True, 0)]
    assert len(dev.notifier.paged) == paged


async def test_a_page_that_nobody_heard_is_sent_with_a_later_tick(dev: World) -> None:
    await dev.active()
    dev.telemetry.fail = silent()
    dev.notifier.deaf = 1
    await keep_schedule(dev.env.client, meter_schedule(SECOND))
    await dev.eventually(lambda: bool(dev.notifier.paged), "the page")
    assert [page.alarm for page in dev.notifier.paged] == [Alarm.SOURCE_SILENT]


async def test_a_schedule_is_taken_away_where_nothing_is_metered_any_more(dev: World) -> None:
    await keep_schedule(dev.env.client, meter_schedule(timedelta(days=1)))
    await drop_schedule(dev.env.client, contracts.METER_SCHEDULE)
    await drop_schedule(dev.env.client, contracts.METER_SCHEDULE)
    with pytest.raises(RPCError, match="not found"):
        await dev.env.client.get_schedule_handle(contracts.METER_SCHEDULE).describe()


async def test_the_sweep_pages_when_the_meter_is_dead(world: World) -> None:
    """Case E17: whoever is dead cannot say so."""
    handle = await world.active()
    shows(world, handle, BUSY)
    await ticks(world, 1)
    world.metering = MINUTE
    assert (await world.sweep()).runs.unmetered == ""
    await world.sleep(4 * MINUTE)
    outcome = await world.sweep()
    assert outcome.runs.unmetered.startswith("the latest tick of the meter was at ")
    assert [(page.alarm, page.subject) for page in world.notifier.paged] == [(Alarm.METER_SILENT, "meter")]
    assert (await world.lease(handle)).state is State.ACTIVE


async def test_without_telemetry_nobody_misses_the_meter(world: World) -> None:
    await world.active()
    await world.sleep(timedelta(hours=2))
    assert (await world.sweep()).runs.unmetered == ""
    assert world.notifier.paged == []
