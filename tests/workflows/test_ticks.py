"""One tick after another over a real ledger: what is told and stored, and what a fault or a crash leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from activities.meter import MeterActivities
from lessor.contracts import Alarm
from lessor.domain.idle import IdleTerms, Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Event, Lease, State
from lessor.domain.usage import Reading, Subject
from lessor.ledger import SqlLedger
from lessor.ports import LedgerUnavailableError
from tests.metering import BUSY, IDLE, MINUTE, START, FakeTelemetry, Meter, fleet, machine_of, running, silent

WINDOW = 60
"""Ticks until a lease that does nothing is judged idle."""


@pytest.fixture
def meter(sqlite_ledger: SqlLedger) -> Meter:
    return Meter(sqlite_ledger)


async def test_only_leases_whose_verdict_changed_are_told(meter: Meter) -> None:
    leases = fleet(meter, 20)
    meter.source.all(leases[:2], IDLE)
    report = await meter.ticks(WINDOW)
    assert meter.verdicts == [(leases[0].id, "idle"), (leases[1].id, "idle")]
    assert report.told == (leases[0].id, leases[1].id)
    assert (report.leases, report.verdicts) == (20, {"busy": 18, "idle": 2})
    await meter.ticks(5)
    assert len(meter.verdicts) == 2
    meter.source.all(leases[:1], BUSY)
    assert (await meter.tick()).told == (leases[0].id,)
    assert meter.verdicts[2:] == [(leases[0].id, "busy")]


async def test_what_a_lease_is_told_rests_on_the_record(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    meter.plan = IdlePlan(organisation={"warn": timedelta(minutes=70)})
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW)
    told = meter.runs.told[0][1]
    assert (told.evidence.since, told.evidence.at) == (START - MINUTE, START + 59 * MINUTE)
    assert (told.evidence.peak_engine, told.evidence.peak_power, told.evidence.peak_cpu) == (0.0, 60.0, 1.0)
    assert told.terms.warn == timedelta(minutes=70)


async def test_other_thresholds_are_told_to_idle_leases(meter: Meter) -> None:
    lease = fleet(meter, 2)[0]
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW)
    meter.plan = IdlePlan(organisation={"stop": timedelta(hours=4)})
    await meter.tick()
    assert [(one, told.terms.stop) for one, told in meter.runs.told] == [
        (lease.id, timedelta(hours=2)),
        (lease.id, timedelta(hours=4)),
    ]


async def test_a_repeated_tick_counts_nothing_twice(meter: Meter, sqlite_ledger: SqlLedger) -> None:
    lease = fleet(meter, 1)[0]
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW)
    standing, asked = meter.standing(lease), len(meter.source.asked)
    report = await meter.tick(meter.now)
    assert not report.stored
    assert (report.leases, report.told) == (1, ())
    assert (meter.standing(lease), len(meter.source.asked), len(meter.verdicts)) == (standing, asked, 1)
    assert len(list(sqlite_ledger.observations(START, START + timedelta(hours=9)))) == WINDOW


async def test_a_late_tick_changes_nothing_and_tells_nobody(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    await meter.ticks(3)
    standing, latest = meter.standing(lease), meter.now
    report = await meter.tick(latest - MINUTE)
    assert (report.stored, report.at, report.told) == (False, latest, ())
    assert meter.standing(lease) == standing


async def test_who_was_not_heard_is_told_again_and_spoils_no_other(meter: Meter) -> None:
    leases = fleet(meter, 12)
    meter.source.all(leases[:3], IDLE)
    meter.runs.lost = {leases[1].id}
    report = await meter.ticks(WINDOW)
    assert report.told == (leases[0].id, leases[2].id)
    assert report.problem == "1 failed, such as: Temporal does not answer"
    assert (await meter.tick()).told == ()
    meter.runs.lost = set()
    assert (await meter.tick()).told == (leases[1].id,)


async def test_a_worker_that_dies_before_it_tells_is_followed_by_one_that_does(meter: Meter) -> None:
    leases = fleet(meter, 12)
    meter.source.all(leases[:2], IDLE)
    await meter.ticks(WINDOW - 1)
    meter.runs.lost = {lease.id for lease in leases}
    await meter.tick()
    meter.restart()
    meter.runs.lost = set()
    again = await meter.tick(meter.now)
    assert (again.stored, again.told) == (False, (leases[0].id, leases[1].id))
    assert (await meter.tick()).told == ()


async def test_a_worker_that_dies_between_two_ticks_goes_on_from_the_record(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    meter.source.all([lease], IDLE)
    for _ in range(WINDOW):
        meter.restart()
        await meter.tick()
    assert meter.verdicts == [(lease.id, "idle")]
    assert meter.standing(lease).since == START - MINUTE


async def test_two_workers_that_tick_by_turns_agree(meter: Meter, sqlite_ledger: SqlLedger) -> None:
    lease = fleet(meter, 1)[0]
    meter.source.all([lease], IDLE)
    other = Meter(sqlite_ledger, meter.source, meter.runs)
    for number in range(WINDOW):
        await (other if number % 3 else meter).tick(START + number * MINUTE)
    assert meter.verdicts == [(lease.id, "idle")]
    assert meter.standing(lease).since == START - MINUTE


async def test_a_lease_that_begins_meanwhile_is_metered_and_one_that_ends_is_not(meter: Meter) -> None:
    first = fleet(meter, 1)[0]
    assert (await meter.tick()).leases == 1
    second = running(2)
    meter.record(second)
    meter.ledger.record(*ended(first))
    report = await meter.tick()
    assert report.leases == 1
    assert [one.lease_id for one in meter.ledger.standings()] == [second.id]


async def test_a_lease_that_ended_forgets_what_it_heard(meter: Meter, sqlite_ledger: SqlLedger) -> None:
    lease = fleet(meter, 2)[0]
    meter.source.all([lease], IDLE)
    await meter.ticks(WINDOW)
    assert list(sqlite_ledger.heard()) == [lease.id]
    sqlite_ledger.record(*ended(lease))
    await meter.tick()
    assert sqlite_ledger.heard() == {}


async def test_one_lease_that_cannot_be_judged_spoils_no_other(meter: Meter) -> None:
    leases = fleet(meter, 3)

    class Plan:
        def terms(self, lease: Lease, now: object = None) -> IdleTerms:
            if lease.id == leases[1].id:
                raise ZeroDivisionError
            if lease.id == leases[2].id:
                return IdleTerms(window=timedelta.max)
            return IdleTerms()

    meter.plan = Plan()  # type: ignore[assignment]
    report = await meter.tick()
    assert report.problem.startswith("1 cannot be metered, such as gpu-00000002")
    assert report.leases == 2
    assert meter.standing(leases[0]).verdict is Verdict.BUSY
    assert meter.standing(leases[2]).verdict is Verdict.UNKNOWN


async def test_a_dead_ledger_is_left_to_those_who_try_again(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    whole = meter.ledger

    class Dead:
        def __getattr__(self, name: str) -> object:
            raise LedgerUnavailableError("the ledger cannot be used")

    sources = {meter.source.name: meter.source}
    activities = MeterActivities(sources, Dead(), meter.runs, None, lambda: meter.now, IdlePlan)  # type: ignore[arg-type]
    meter.activities, kept = activities, meter.activities
    with pytest.raises(LedgerUnavailableError):
        await meter.tick()
    meter.activities = kept
    assert (await meter.tick(meter.now)).stored
    assert whole.standing(lease.id) is not None


async def test_a_silent_source_makes_only_its_own_leases_unknown(sqlite_ledger: SqlLedger) -> None:
    other = FakeTelemetry("cloudwatch")
    meter = Meter(sqlite_ledger, others=(other,))
    mine, theirs = running(1), running(2)
    meter.record(mine, theirs)
    meter.source.all([mine], IDLE)
    other.all([theirs], IDLE)
    await meter.ticks(WINDOW)
    other.fail = silent("cloudwatch")
    report = await meter.ticks(3)
    assert report.verdicts == {"idle": 1, "unknown": 1}
    assert meter.verdicts[2:] == [(theirs.id, "unknown")]
    other.fail = None
    await meter.ticks(WINDOW - 1)
    assert meter.standing(theirs).verdict is Verdict.UNKNOWN
    await meter.tick()
    assert (meter.standing(theirs).verdict, meter.verdicts[3:]) == (Verdict.IDLE, [(theirs.id, "idle")])


async def test_an_answer_that_makes_no_sense_spoils_no_other_source(sqlite_ledger: SqlLedger) -> None:
    class Nonsense(FakeTelemetry):
        def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
            return Reading(self.name, at, (None,))  # type: ignore[arg-type]

    meter = Meter(sqlite_ledger, others=(Nonsense("cloudwatch"),))
    mine, theirs = running(1), running(2)
    meter.record(mine, theirs)
    meter.source.all([mine], BUSY)
    assert (await meter.tick()).stored
    assert meter.standing(mine).verdict is Verdict.BUSY
    assert meter.standing(theirs).problem == "cloudwatch gave no answer"


@pytest.mark.parametrize("error", [silent(), ValueError("secret-token"), KeyError("x")])
async def test_three_silent_ticks_page_once_and_name_the_source(meter: Meter, error: Exception) -> None:
    fleet(meter, 1)
    await meter.tick()
    meter.source.fail = error
    reports = [await meter.tick() for _ in range(5)]
    assert [len(report.pages) for report in reports] == [0, 0, 1, 0, 0]
    page = reports[2].pages[0]
    assert (page.alarm, page.subject) == (Alarm.SOURCE_SILENT, "prometheus")
    assert page.problem.startswith("telemetry source 'prometheus' ")
    assert "its last answer was at 2026-11-27 10:00 UTC" in page.problem
    assert "secret-token" not in page.problem
    assert reports[4].sources[0].silent == 5
    meter.source.fail = None
    assert (await meter.tick()).sources[0].silent == 0


async def test_a_broken_gpu_is_paged_once(meter: Meter) -> None:
    lease = fleet(meter, 1)[0]
    meter.source.all([lease], replace(BUSY, processes=0))
    reports = [await meter.tick() for _ in range(90)]
    pages = [page for report in reports for page in report.pages]
    assert [(page.alarm, page.subject) for page in pages] == [(Alarm.FAULTY_GPU, lease.id)]
    assert pages[0].problem == f"GPU 0 of {machine_of(lease)} looks broken: busy or full without a process"


async def test_a_node_without_labels_is_paged(meter: Meter) -> None:
    fleet(meter, 1)
    meter.source.unlabelled = {"node-7": 3}
    report = await meter.tick()
    pages = report.pages
    assert report.sources[0].unlabelled == {"node-7": 1.0}
    shown = {"source": "prometheus", "node": "node-7"}
    assert REGISTRY.get_sample_value("lessor_meter_unlabelled_share", shown) == 1.0
    assert [(page.alarm, page.subject) for page in pages] == [(Alarm.UNLABELLED, "node-7")]
    assert pages[0].problem.endswith("nothing is stopped as idle there")


def ended(lease: Lease) -> tuple[Lease, list[Event]]:
    """The lease a revision later, on its way out."""
    return replace(lease, revision=lease.revision + 1, state=State.ENDING), [Event("ended", START, "lessor", {})]
