"""A tick of the meter over 2,000 leases, beside what nobody can do without: one query and one bulk insert of its rows.

Prometheus is a real one, with seven metrics of each GPU and five of each machine; the ledger is SQLite on the disk. The
reference asks the same query and takes its answer as bytes, then inserts the same rows in one transaction.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from temporalio.testing import ActivityEnvironment

from activities.meter import MeterActivities
from bench.result import Result
from lessor.contracts import Metered, MeterReport, MeterTick
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Event, Lease
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import LeaseRuns
from lessor.telemetry import Metrics, PrometheusSource
from lessor.telemetry.promql import expression
from tests.builders import PEOPLE
from tests.fakes import FakeDirectory
from tests.metering import machine_of, running
from tests.telemetry.exporter import Exporter, Gpu
from tests.telemetry.server import PrometheusServer, prometheus
from tests.telemetry.writing import lines, write

TARGET = 2.0
LEASES = 2_000
TICKS = 7
CHANGED = 20
EVERY = timedelta(minutes=5)
SCRAPE = 15
LOT = 50
PLAN = IdlePlan(organisation={"window": 2 * EVERY, "warm_up": timedelta()})
HOST = {"cpu_percent": 4.0, "network_bytes_per_second": 900.0, "disk_bytes_per_second": 100.0, "sessions": 0.0}


@dataclass
class Counting:
    """Stands for the workflows of leases: counts who is told."""

    told: list[str] = field(default_factory=list)

    async def metered(self, lease_id: str, told: Metered) -> bool:
        self.told.append(lease_id)
        return True


async def run(scale: float) -> list[Result]:
    """Ticks over leases that all work, but for a few that fall idle in the last one."""
    many = max(int(LEASES * scale), 2 * CHANGED)
    end = datetime.fromtimestamp(time.time() // 300 * 300, UTC)
    leases = [replace(running(number), ready_at=end - timedelta(days=1)) for number in range(many)]
    with prometheus() as server, tempfile.TemporaryDirectory(prefix="lessor-bench-") as home:
        await asyncio.to_thread(_fill, server, leases, end)
        ledger = open_ledger(f"sqlite:///{home}/lessor.db")
        try:
            for lease in leases:
                ledger.record(lease, [Event("ready", end, "lessor", {})])
            return await _measured(server, ledger, Path(home), many, end)
        finally:
            ledger.close()


async def _measured(server: PrometheusServer, ledger: SqlLedger, home: Path, many: int, end: datetime) -> list[Result]:
    source, runs = PrometheusSource("fleet", server.url, timeout=timedelta(seconds=60)), Counting()
    directory = FakeDirectory(PEOPLE)
    now = [end]
    meter = MeterActivities({"fleet": source}, ledger, cast(LeaseRuns, runs), directory, lambda: now[0], lambda: PLAN)
    ours, query, insert = [], [], []
    report = MeterReport(end)
    for number in range(TICKS):
        now[0] = end - (TICKS - 1 - number) * EVERY
        query.append(await asyncio.to_thread(_query, server, now[0]))
        started = time.perf_counter()
        report = await ActivityEnvironment().run(meter.tick, MeterTick(now[0], EVERY))
        ours.append(time.perf_counter() - started)
        insert.append(await asyncio.to_thread(_insert, home, now[0]))
    if report.leases != many or len(runs.told) != CHANGED:
        raise RuntimeError(
            f"{report.leases} of {many} leases were metered, {len(runs.told)} of {CHANGED} told: {report}"
        )
    # The first tick reads every lease once, and each later one only those that changed.
    asked, inserted, ticked = (1_000 * statistics.median(times[1:]) for times in (query, insert, ours))
    return [
        Result(f"meter: a tick of {many:,} leases", ticked, "ms", TARGET, asked + inserted),
        Result("meter: the query alone", asked, "ms"),
        Result("meter: the insert alone", inserted, "ms"),
        Result("meter: the first tick of a worker", 1_000 * ours[0], "ms"),
        Result(f"meter: leases told when {CHANGED} of {many:,} fell idle", float(len(runs.told)), "", CHANGED),
    ]


def _fill(server: PrometheusServer, leases: Sequence[Lease], end: datetime) -> None:
    """What exporters of all machines would have been asked until `end`; a few do nothing in the last ticks."""
    count = TICKS * int(EVERY.total_seconds()) // SCRAPE
    times = [end.timestamp() - SCRAPE * (count - 1 - number) for number in range(count)]
    # One sample more: where a span begins, Prometheus before version 3 takes the sample of that very moment too.
    quiet = len(times) - 3 * int(EVERY.total_seconds()) // SCRAPE - 1
    for first in range(0, len(leases), LOT):
        written = []
        for number, lease in enumerate(leases[first : first + LOT], first):
            busy, idle = _machine(lease), _machine(lease)
            busy.gpus[0].busy()
            idle.gpus[0].idle()
            falls = number < CHANGED
            written += lines(busy, times[:quiet] if falls else times)
            written += lines(idle, times[quiet:]) if falls else []
        write(server.url, written)


def _machine(lease: Lease) -> Exporter:
    machine = machine_of(lease)
    host = {f"lessor_host_{name}": value for name, value in HOST.items()}
    return Exporter(machine, gpus=[Gpu(processes=0)], host=host, labels={"instance_id": machine})


def _query(server: PrometheusServer, at: datetime) -> float:
    form = {"query": expression(Metrics(), EVERY, time.time(), ()), "time": f"{at.timestamp():.3f}"}
    started = time.perf_counter()
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"{server.url}/api/v1/query", body, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - started


def _insert(home: Path, at: datetime) -> float:
    """The rows that the tick has just stored, into the same table of another file, as the ledger writes: durably."""
    with sqlite3.connect(home / "lessor.db") as ledger:
        (made,) = ledger.execute("SELECT sql FROM sqlite_master WHERE name = 'meter_readings'").fetchone()
        rows = ledger.execute("SELECT * FROM meter_readings WHERE at = ?", [int(at.timestamp())]).fetchall()
    bare = sqlite3.connect(home / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=NORMAL")
    if not bare.execute("SELECT 1 FROM sqlite_master").fetchone():
        bare.execute(made)
    marks = ", ".join("?" * len(rows[0]))
    started = time.perf_counter()
    bare.execute("BEGIN IMMEDIATE")
    bare.executemany(f"INSERT INTO meter_readings VALUES ({marks})", rows)
    bare.execute("COMMIT")
    passed = time.perf_counter() - started
    bare.close()
    return passed
