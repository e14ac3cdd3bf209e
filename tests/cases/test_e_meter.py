"""Cases E01, E02 and E17 as the meter and its watch answer them, and B20 and B21 for its schedule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from temporalio.client import ScheduleOverlapPolicy

from lessor import contracts
from lessor.contracts import Alarm
from lessor.domain.idle import Verdict
from lessor.domain.lease import State
from lessor.ledger import SqlLedger
from tests.cases.test_b_watch import times
from tests.metering import BUSY, IDLE, MINUTE, START, FakeTelemetry, Meter, fleet, machine_of, silent
from tests.temporal import dev_server, time_skipping
from tests.ticking import tick
from tests.world import busy_world
from workflows.schedule import keep_schedule, meter_schedule

WINDOW = 60
EVERY = timedelta(minutes=5)


@pytest.fixture
def meter(sqlite_ledger: SqlLedger) -> Meter:
    return Meter(sqlite_ledger)


def emptied(source: FakeTelemetry) -> tuple[dict[str, object], dict[str, object]]:
    """The store lost all its data and answers all the same; what was in it."""
    kept = dict(source.gpus), dict(source.hosts)
    source.gpus.clear()
    source.hosts.clear()
    return kept  # type: ignore[return-value]


async def test_E01_an_empty_answer_is_unknown_and_the_clock_starts_from_zero(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW + 30)
    gpus, hosts = emptied(meter.source)
    await meter.ticks(5)
    assert meter.verdicts[-1] == (lease.id, "unknown")
    assert not (await meter.clearance(lease)).clear
    meter.source.gpus, meter.source.hosts = gpus, hosts  # type: ignore[assignment]
    back = meter.now
    await meter.ticks(WINDOW - 1)
    assert meter.standing(lease).verdict is Verdict.UNKNOWN
    assert not (await meter.clearance(lease)).clear
    await meter.tick()
    assert (meter.standing(lease).verdict, meter.standing(lease).since) == (Verdict.IDLE, back)
    assert meter.verdicts[-1] == (lease.id, "idle")


async def test_E01_a_store_that_is_empty_at_once_scales_nothing_down(meter: Meter) -> None:
    """At peak time all of a fleet has no data from one moment to the next."""
    leases = fleet(meter, 20)
    await meter.ticks(WINDOW)
    emptied(meter.source)
    reports = [await meter.tick() for _ in range(2 * WINDOW)]
    assert reports[-1].verdicts == {"unknown": 20}
    assert [page.alarm for report in reports for page in report.pages] == [Alarm.BRAKE, Alarm.METER_SILENT]
    assert meter.ledger.brake().reason.startswith("20 of 20 leases that worked went quiet in one tick")
    assert meter.verdicts == []
    assert not any([(await meter.clearance(lease)).clear for lease in leases[:3]])


async def test_E02_one_alert_that_names_the_source_after_three_intervals_and_nothing_stops(meter: Meter) -> None:
    lease = fleet(meter, 10)[0]
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW)
    meter.source.fail = silent()
    reports = [await meter.tick() for _ in range(30)]
    pages = [(number, page) for number, report in enumerate(reports, 1) for page in report.pages]
    assert [(number, page.alarm, page.subject) for number, page in pages] == [(3, Alarm.SOURCE_SILENT, "prometheus")]
    clearance = await meter.clearance(lease)
    assert (clearance.clear, clearance.why) == (False, "what it does is unknown: prometheus gave no answer")


async def test_E02_one_source_that_is_down_says_nothing_of_the_leases_of_another(sqlite_ledger: SqlLedger) -> None:
    other = FakeTelemetry("cloudwatch")
    meter = Meter(sqlite_ledger, others=(other,))
    lease = fleet(meter, 10)[0]
    meter.source.all([lease], IDLE)
    await meter.tick()
    other.fail = silent("cloudwatch")
    await meter.ticks(WINDOW - 1)
    assert meter.verdicts == [(lease.id, "idle")]
    clearance = await meter.clearance(lease)
    assert (clearance.clear, clearance.why) == (
        False,
        "nothing is stopped while a source of telemetry is silent: cloudwatch",
    )
    other.fail = None
    await meter.tick()
    assert (await meter.clearance(lease)).clear


async def test_E17_three_missed_heartbeats_of_a_lease_alert_operators_once(meter: Meter) -> None:
    leases = fleet(meter, 10)
    await meter.ticks(WINDOW)
    for lease in leases[:2]:
        meter.source.gpus.pop(machine_of(lease))
    reports = [await meter.tick() for _ in range(20)]
    pages = [(number, page) for number, report in enumerate(reports, 1) for page in report.pages]
    assert [(number, page.alarm, page.subject) for number, page in pages] == [
        (3, Alarm.METER_SILENT, f"{leases[0].id}, {leases[1].id}")
    ]


async def test_E17_the_lease_ends_without_the_detector_and_its_death_is_told() -> None:
    async with time_skipping() as env, busy_world(env) as world:
        handle = await world.active()
        world.telemetry.all([await world.lease(handle)], BUSY)
        await tick(world)
        world.metering = MINUTE
        await world.sleep(timedelta(minutes=5))
        assert (await world.sweep()).runs.unmetered.startswith("the latest tick of the meter was at ")
        assert [page.alarm for page in world.notifier.paged] == [Alarm.METER_SILENT]
        await world.sleep(timedelta(hours=9))
        assert (await world.until(handle, State.STOPPED)).stopped_at is not None


async def test_B20_the_meter_ticks_in_elapsed_time_around_the_clock_change() -> None:
    days = [("2026-03-29", "Europe/Madrid", 23), ("2026-10-25", "Europe/Madrid", 25)]
    async with dev_server() as env:
        await keep_schedule(env.client, meter_schedule(EVERY))
        for day, zone, hours in days:
            midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
            begin, end = (at.astimezone(UTC) - timedelta(seconds=1) for at in (midnight, midnight + timedelta(days=1)))
            runs = await times(env.client, begin, end, contracts.METER_SCHEDULE)
            assert len(runs) == hours * 12
            assert {after - before for before, after in pairwise(runs)} == {EVERY}


async def test_B21_ticks_that_were_missed_are_one_and_what_comes_twice_counts_once(meter: Meter) -> None:
    async with dev_server() as env:
        await keep_schedule(env.client, meter_schedule(EVERY))
        policy = (await env.client.get_schedule_handle(contracts.METER_SCHEDULE).describe()).schedule.policy
        assert (policy.overlap, policy.catchup_window) == (ScheduleOverlapPolicy.SKIP, EVERY)
    lease = fleet(meter, 1)[0]
    for at in (START, START + MINUTE, START, START + MINUTE, START - MINUTE, START + 2 * MINUTE):
        await meter.tick(at)
    seen = list(meter.ledger.observations(START - timedelta(hours=1), START + timedelta(hours=1), lease.id))
    assert [one.at for one in seen] == [START, START + MINUTE, START + 2 * MINUTE]
    assert replace(meter.standing(lease), tracks=()).since == START - MINUTE
