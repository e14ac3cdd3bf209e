"""Leases of which nothing whole is seen: who hears of them, also while a source is silent."""

from __future__ import annotations

from lessor.contracts import Alarm
from lessor.domain.usage import HostUse
from lessor.ledger import SqlLedger
from tests.metering import BUSY, IDLE, FakeTelemetry, Meter, machine_of, running, silent

WINDOW = 60


async def test_a_lease_that_is_not_seen_whole_is_told_to_people_after_three_ticks(sqlite_ledger: SqlLedger) -> None:
    meter = Meter(sqlite_ledger)
    lease = running(1)
    meter.record(lease, running(2))
    meter.source.all([lease, running(2)], BUSY)
    await meter.ticks(WINDOW)
    meter.source.gpus.pop(machine_of(lease))
    meter.source.hosts[machine_of(lease)] = HostUse(cpu=1.0)
    reports = [await meter.tick() for _ in range(4)]
    assert [[page.subject for page in report.pages] for report in reports] == [[], [], [lease.id], []]
    assert "; asked were prometheus; they are not stopped as idle" in reports[2].pages[0].problem


async def test_a_silent_source_hides_no_lease_that_another_source_has_lost(sqlite_ledger: SqlLedger) -> None:
    other = FakeTelemetry("cloudwatch")
    meter = Meter(sqlite_ledger, others=(other,))
    lost, theirs, both = running(1), running(2), running(3)
    meter.record(lost, theirs, both)
    meter.source.all([lost, both], IDLE)
    other.all([theirs, both], IDLE)
    await meter.ticks(20)
    other.fail = silent("cloudwatch")
    meter.source.gpus.pop(machine_of(lost))
    meter.source.gpus.pop(machine_of(both))
    meter.source.hosts.pop(machine_of(both))
    paged = [[(page.alarm, page.subject) for page in (await meter.tick()).pages] for _ in range(4)]
    silence, unseen = (Alarm.SOURCE_SILENT, "cloudwatch"), (Alarm.METER_SILENT, lost.id)
    assert paged == [[], [], [silence, unseen], []]
    other.fail = None
    other.gpus.pop(machine_of(both))
    other.hosts.pop(machine_of(both))
    again = [[(page.alarm, page.subject) for page in (await meter.tick()).pages] for _ in range(2)]
    assert again == [[(Alarm.METER_SILENT, both.id)], []]
