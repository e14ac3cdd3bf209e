"""What the command line tells of the meter, the brake and what a lease did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from typer.testing import Result

from lessor.contracts import MeterReport, RunsReport, SourceReport, SweepOutcome
from lessor.domain.lease import State
from lessor.domain.people import Person
from lessor.gauging import Gauging
from lessor.ledger import SqlLedger
from tests.cli.conftest import NOW, FakeGateway
from tests.metering import BUSY, IDLE, MINUTE, FakeTelemetry, Meter, running, silent

Lessor = Callable[..., Result]
LEASE = replace(running(1), ready_at=NOW - timedelta(days=1))
HOUR = timedelta(hours=1)


class FakeEngine:
    stored = True

    async def look(self, schedule: str, report: type[Any]) -> Any:
        sources = (SourceReport("prometheus", True, 9),)
        return MeterReport(NOW, self.stored, leases=3, verdicts={"busy": 3}, sources=sources)


@pytest.fixture(autouse=True)
def gauging(gateway: FakeGateway, sqlite_ledger: SqlLedger) -> None:
    async def known(person_id: str) -> Person:
        return Person(person_id, admin=person_id == "U0ADMIN")

    gateway.meter = Gauging(FakeEngine(), sqlite_ledger, known, lambda: NOW, lambda: MINUTE)  # type: ignore[arg-type]
    gateway.leases_ = {LEASE.id: LEASE}


def metered(ledger: SqlLedger, ticks: int, source: FakeTelemetry | None = None) -> Meter:
    """So many ticks, the last one now."""
    meter = Meter(ledger, source or FakeTelemetry())
    meter.record(LEASE)
    if source is None:
        meter.source.all([LEASE], BUSY)
    meter.now = NOW.replace(second=0) - ticks * MINUTE

    async def tick() -> None:
        await meter.ticks(ticks)

    asyncio.run(tick())
    return meter


def test_the_state_of_the_meter_names_each_source_and_the_brake(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    metered(sqlite_ledger, 2)
    result = lessor("meter", "status")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "latest tick: Wednesday 3 June 2026 15:11 CEST, 1 lease: 1 busy",
            "prometheus: 2 GPUs and machines",
            "the brake is off",
        ],
    )
    facts = json.loads(lessor("meter", "status", "--json").stdout)
    assert facts["every_seconds"] == 60
    assert facts["overdue"] is None
    assert facts["latest"]["sources"][0]["last_good"] == "2026-06-03T13:11:00+00:00"
    assert facts["brake"] == {"on": False, "by": None, "at": None, "reason": None}


def test_a_silent_source_and_a_dead_meter_fail(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    metered(sqlite_ledger, 2, FakeTelemetry(fail=silent()))
    result = lessor("meter", "status")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1] == (
        "prometheus: silent for 2 ticks (never answered): telemetry source 'prometheus' does not answer; start it"
    )


def test_a_meter_that_never_ticked_fails_once_it_should_have(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    result = lessor("meter", "status")
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["the meter has not ticked yet", "the brake is off"])


def test_a_tick_can_be_started_by_administrators(lessor: Lessor, monkeypatch: pytest.MonkeyPatch) -> None:
    result = lessor("meter", "--once", actor="U0ADMIN")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        ["latest tick: Wednesday 3 June 2026 13:11 UTC, 3 leases: 3 busy", "prometheus: 9 GPUs and machines"],
    )
    monkeypatch.setattr(FakeEngine, "stored", False)
    assert lessor("meter", "--once", actor="U0ADMIN").stdout.splitlines()[-1] == (
        "this tick was on record already; who had not heard of it was told again"
    )
    refused = lessor("meter", "--once")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "lessor: only administrators start a tick; it comes by itself as well\n",
    )
    assert lessor("meter").exit_code == 2


def test_the_brake_is_put_on_with_a_reason_and_taken_off(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    on = lessor("brake", "on", "we", "move", "racks", actor="U0ADMIN")
    words = "the brake is on since Wednesday 3 June 2026 {}, by U0ADMIN: we move racks"
    assert (on.exit_code, on.stdout.splitlines()) == (0, [words.format("13:11 UTC")])
    assert sqlite_ledger.brake().on
    assert lessor("brake", "status").stdout.splitlines() == [words.format("15:11 CEST")]
    off = lessor("brake", "off", "done", "--json", actor="U0ADMIN")
    assert json.loads(off.stdout) == {
        "ok": True,
        "on": False,
        "by": "U0ADMIN",
        "at": "2026-06-03T13:11:00+00:00",
        "reason": "done",
    }


@pytest.mark.parametrize(
    ("words", "actor", "told"),
    [
        (
            ("brake", "on"),
            "U0ADMIN",
            "lessor: say why: it goes on record, and people read it where a stop is held back",
        ),
        (("brake", "on", "mine"), "U0REQUESTER", "lessor: only administrators put the brake on or take it off"),
        (("brake", "off", "x"), "U0ADMIN", "lessor: the brake is off already; nothing was changed"),
    ],
)
def test_a_brake_that_cannot_be_set_is_refused(
    lessor: Lessor, sqlite_ledger: SqlLedger, words: tuple[str, ...], actor: str, told: str
) -> None:
    result = lessor(*words, actor=actor)
    assert (result.exit_code, result.stderr.splitlines()) == (1, [told])
    assert sqlite_ledger.verify().events == 0


def test_what_a_lease_did_is_shown_hour_by_hour(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    metered(sqlite_ledger, 120)
    sqlite_ledger.roll_up(NOW)
    result = lessor("usage", LEASE.id)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == (
        f"{LEASE.id}: busy since Wednesday 3 June 2026 13:11 CEST, last active Wednesday 3 June 2026 15:11 CEST (gpu)"
    )
    assert [" ".join(line.split()) for line in lines[1:] if "14:00" in line] == [
        "Wednesday 3 June 2026 14:00 CEST 100 % 0 % 0 % 100 % 90 % 95 % 73 % 380 W 1 %"
    ]
    facts = json.loads(lessor("usage", LEASE.id, "--hours", "2", "--json").stdout)
    assert (facts["now"]["verdict"], facts["now"]["last_activity"]) == ("busy", "gpu")
    assert [(one["hour"], one["ticks"]) for one in facts["hours"]] == [("2026-06-03T12:00:00+00:00", 60)]


def test_what_is_unknown_is_called_unknown(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    assert lessor("usage", LEASE.id).stdout.splitlines() == [f"{LEASE.id} was never metered"]
    metered(sqlite_ledger, 90, FakeTelemetry(gpus={"i-00000001": ()}))
    sqlite_ledger.roll_up(NOW)
    lines = lessor("usage", LEASE.id).stdout.splitlines()
    assert "unknown since" in lines[0]
    assert lines[2].split()[-5:] == ["unknown"] * 5
    assert lessor("usage", "gpu-00000099").exit_code == 1


def test_idle_gpus_are_counted(lessor: Lessor, sqlite_ledger: SqlLedger) -> None:
    source = FakeTelemetry()
    source.all([LEASE], IDLE)
    metered(sqlite_ledger, 70, source)
    assert ", 1 of 1 GPUs idle" in lessor("usage", LEASE.id).stdout.splitlines()[0]


def test_of_a_stopped_lease_the_first_line_says_so(
    lessor: Lessor, sqlite_ledger: SqlLedger, gateway: FakeGateway
) -> None:
    source = FakeTelemetry()
    source.all([LEASE], IDLE)
    metered(sqlite_ledger, 70, source)
    gateway.leases_ = {LEASE.id: replace(LEASE, state=State.SUSPENDED, suspended_at=NOW)}
    first, second = lessor("usage", LEASE.id).stdout.splitlines()[:2]
    assert first == (f"{LEASE.id} is stopped since Wednesday 3 June 2026 15:11 CEST; what is told of it is from before")
    assert second.startswith(f"{LEASE.id}: idle since")


def test_a_sweep_says_when_the_meter_is_dead(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.places = SweepOutcome((), RunsReport(unmetered="the meter has never ticked"))
    result = lessor("sweep", "--once")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "the meter has never ticked")
    assert json.loads(lessor("sweep", "--once", "--json").stdout)["runs"]["unmetered"] == "the meter has never ticked"
