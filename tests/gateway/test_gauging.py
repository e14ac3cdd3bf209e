"""The use cases of the meter read the record, and only administrators touch the brake."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.contracts import METER_SCHEDULE, MeterReport
from lessor.domain.errors import Refused
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event
from lessor.domain.people import Person
from lessor.engine import UnreachableError
from lessor.gauging import Gauging, MeterStatus
from lessor.ledger import SqlLedger
from tests.builders import ADMIN, REQUESTER
from tests.metering import IDLE, MINUTE, START, Meter, running


class FakeEngine:
    """Runs looks: what it was asked for, and what it answers or raises."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fail: Exception | None = None

    async def look(self, schedule: str, report: type[Any]) -> Any:
        self.asked.append(schedule)
        if self.fail:
            raise self.fail
        return report(START)


async def known(person_id: str) -> Person:
    return {one.id: one for one in (ADMIN, REQUESTER)}[person_id]


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def gauging(sqlite_ledger: SqlLedger, engine: FakeEngine) -> Gauging:
    return Gauging(engine, sqlite_ledger, known, lambda: START, lambda: MINUTE)  # type: ignore[arg-type]


async def refused(asking: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as error:
        await asking
    return error.value.code, str(error.value)


async def test_the_brake_is_put_on_and_taken_off_on_record(gauging: Gauging, sqlite_ledger: SqlLedger) -> None:
    assert await gauging.brake() == Brake()
    put = await gauging.set_brake(ADMIN.id, "  we move\nthe racks ", on=True)
    assert put == Brake(True, ADMIN.id, START, "we move the racks")
    assert await gauging.brake() == put
    await gauging.set_brake(ADMIN.id, "done", on=False)
    assert [(one.event.type, one.event.actor, one.event.data) for one in sqlite_ledger.events("fleet")] == [
        ("brake-on", ADMIN.id, {"reason": "we move the racks"}),
        ("brake-off", ADMIN.id, {"reason": "done"}),
    ]


async def test_only_administrators_touch_the_brake_and_say_why(gauging: Gauging) -> None:
    assert (await refused(gauging.set_brake(REQUESTER.id, "mine", on=True)))[0] == "not-admin"
    assert (await refused(gauging.set_brake(ADMIN.id, " ", on=True)))[0] == "no-reason"
    assert await refused(gauging.set_brake(ADMIN.id, "all is well", on=False)) == (
        "no-change",
        "the brake is off already; nothing was changed",
    )
    await gauging.set_brake(ADMIN.id, "racks", on=True)
    assert await refused(gauging.set_brake(ADMIN.id, "again", on=True)) == (
        "no-change",
        "the brake is on already since 2026-11-27 10:00 UTC, by U0ADMIN: racks; nothing was changed",
    )


async def test_the_state_of_the_meter_is_read_from_the_record(gauging: Gauging, sqlite_ledger: SqlLedger) -> None:
    assert await gauging.status() == MeterStatus(MINUTE, None, Brake())
    meter = Meter(sqlite_ledger)
    lease = running(1)
    meter.record(lease)
    dead = await gauging.status()
    assert dead.overdue.startswith("the meter has never ticked")
    meter.source.all([lease], IDLE)
    await meter.tick(START)
    status = await gauging.status()
    assert (status.overdue, status.report and status.report.leases) == ("", 1)


async def test_where_nothing_is_metered_nothing_is_missed(sqlite_ledger: SqlLedger, engine: FakeEngine) -> None:
    Meter(sqlite_ledger).record(running(1))
    gauging = Gauging(engine, sqlite_ledger, known, lambda: START + timedelta(days=9), lambda: None)  # type: ignore[arg-type]
    assert await gauging.status() == MeterStatus(None, None, Brake())


async def test_a_tick_is_started_by_administrators(gauging: Gauging, engine: FakeEngine) -> None:
    assert (await refused(gauging.once(REQUESTER.id)))[0] == "not-admin"
    assert await gauging.once(ADMIN.id) == MeterReport(START)
    assert engine.asked == [METER_SCHEDULE]
    engine.fail = UnreachableError("Temporal cannot be reached now")
    assert await refused(gauging.once(ADMIN.id)) == (
        "unreachable",
        "Temporal cannot be reached now; try again in a minute",
    )


async def test_what_a_lease_did_comes_tick_by_tick_and_hour_by_hour(gauging: Gauging, sqlite_ledger: SqlLedger) -> None:
    meter = Meter(sqlite_ledger)
    lease = running(1)
    meter.record(lease)
    meter.source.all([lease], IDLE)
    await meter.ticks(3)
    sqlite_ledger.roll_up(START)
    seen = await gauging.seen(lease.id, START, START + timedelta(hours=1))
    assert [(one.at, one.gpus[0].power) for one in seen] == [(START + n * MINUTE, 60.0) for n in range(3)]
    assert [one.ticks for one in await gauging.usage(lease.id, START - timedelta(hours=1), START)] == [1]
    standing = await gauging.standing(lease.id)
    assert standing is not None
    assert standing.at == START + 2 * MINUTE
    assert await gauging.standing("gpu-00000099") is None


async def test_verdicts_that_people_called_wrong_are_listed_newest_first(
    gauging: Gauging, sqlite_ledger: SqlLedger
) -> None:
    for number, minutes in ((1, 0), (2, 5), (3, -60 * 24 * 40)):
        lease = running(number)
        event = Event("verdict-disputed", START + minutes * MINUTE, "U0REQUESTER", {"reason": f"it serves {number}"})
        sqlite_ledger.record(lease, [Event("approved", START, "U0MANAGER", {})])
        sqlite_ledger.record(replace(lease, revision=lease.revision + 1), [event])
    found = await gauging.disputes(START - timedelta(days=30))
    assert [one.event.data["reason"] for one in found] == ["it serves 2", "it serves 1"]
