"""What stands between an idle lease and its stop: another look, the brake, and how many may stop in an hour."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from lessor.contracts import Alarm, MeterTick, OverBudget
from lessor.domain.idle import Verdict
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, Lease, State
from lessor.domain.records import FLEET
from lessor.domain.request import Workload
from lessor.domain.usage import HostUse
from lessor.ledger import SqlLedger
from tests.metering import BUSY, IDLE, MINUTE, START, FakeTelemetry, Meter, machine_of, running, silent

WINDOW = 60
PAGED = "6 of 10 leases would be stopped as idle within an hour"


@pytest.fixture
def meter(sqlite_ledger: SqlLedger) -> Meter:
    return Meter(sqlite_ledger)


async def fleet(meter: Meter, count: int, idle: int) -> list[Lease]:
    """So many leases, of which some have been idle for a whole window."""
    leases = [running(number) for number in range(1, count + 1)]
    meter.record(*leases)
    meter.source.all(leases, BUSY)
    meter.source.all(leases[:idle], IDLE)
    await meter.ticks(WINDOW)
    return leases


async def test_a_lease_that_is_still_idle_may_stop(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    meter.now += timedelta(seconds=20)
    clearance = await meter.clearance(lease)
    assert (clearance.clear, clearance.why) == (True, "")
    assert clearance.metered is not None
    assert (clearance.metered.evidence.verdict, clearance.metered.evidence.at) == (Verdict.IDLE, meter.now)


async def test_a_look_asks_for_one_lease_and_stores_nothing(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    before = meter.standing(lease)
    meter.now += timedelta(seconds=20)
    assert (await meter.look(lease)).evidence.verdict is Verdict.IDLE
    assert meter.source.asked[-1] == (lease.id,)
    assert meter.standing(lease) == before
    assert (await meter.tick(START + WINDOW * MINUTE)).stored


async def test_work_that_began_since_the_tick_is_seen(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    meter.source.all([lease], BUSY)
    meter.now += timedelta(seconds=20)
    clearance = await meter.clearance(lease)
    assert (clearance.clear, clearance.why) == (False, "another look found it busy")
    assert (await meter.look(lease)).evidence.active_at == meter.now


@pytest.mark.parametrize("error", [silent(), RuntimeError("boom")])
async def test_a_source_that_says_nothing_lets_nobody_stop(meter: Meter, error: Exception) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    meter.source.fail = error
    meter.now += timedelta(seconds=20)
    clearance = await meter.clearance(lease)
    assert not clearance.clear
    assert clearance.why == "what it does is unknown: prometheus gave no answer"
    assert clearance.metered is not None
    assert clearance.metered.evidence.verdict is Verdict.UNKNOWN


async def test_a_store_that_lost_its_data_lets_nobody_stop(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    meter.source.gpus.clear()
    meter.source.hosts.clear()
    meter.now += timedelta(seconds=20)
    assert (await meter.clearance(lease)).why.startswith("what it does is unknown: ")


async def test_a_meter_that_was_dead_knows_nothing(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    meter.now += timedelta(minutes=30)
    clearance = await meter.clearance(lease)
    assert not clearance.clear
    assert clearance.why.startswith("what it does is unknown: ")


async def test_a_look_reads_what_a_late_tick_would_have(meter: Meter) -> None:
    meter.plan = replace(meter.plan, organisation={"window": 3 * MINUTE})
    lease = (await fleet(meter, 10, 1))[0]
    meter.now += timedelta(seconds=179)
    found = await meter.look(lease)
    assert (found.evidence.verdict, found.evidence.covered) == (Verdict.IDLE, 1.0)
    assert len(meter.source.asked) == WINDOW + 3
    assert meter.standing(lease).at == START + 59 * MINUTE


async def test_a_lease_that_does_not_run_any_more_is_unknown(meter: Meter) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    gone = replace(lease, revision=lease.revision + 1, state=State.ENDING)
    meter.ledger.record(gone, [Event("ended", START, "lessor", {})])
    assert (await meter.clearance(lease)).why == "what it does is unknown: it does not run"


async def test_nobody_stops_while_the_brake_is_on(meter: Meter, sqlite_ledger: SqlLedger) -> None:
    lease = (await fleet(meter, 10, 1))[0]
    sqlite_ledger.set_brake(Brake(True, "U0ADMIN", meter.now, "we move the racks"))
    asked = len(meter.source.asked)
    clearance = await meter.clearance(lease)
    assert clearance.why == "the brake is on since 2026-11-27 10:59 UTC, by U0ADMIN: we move the racks"
    assert len(meter.source.asked) == asked
    assert clearance.metered is not None
    assert clearance.metered.evidence.verdict is Verdict.IDLE


async def test_a_brake_put_on_by_hand_keeps_nobody_from_being_warned(meter: Meter, sqlite_ledger: SqlLedger) -> None:
    sqlite_ledger.set_brake(Brake(True, "U0ADMIN", START - MINUTE, "we move the racks"))
    lease = (await fleet(meter, 10, 1))[0]
    assert meter.verdicts == [(lease.id, "idle")]


async def test_of_many_that_ask_at_once_the_share_may_stop(meter: Meter) -> None:
    leases = await fleet(meter, 40, 8)
    assert meter.ledger.brake() == Brake()
    answers = await asyncio.gather(*(meter.clearance(lease) for lease in leases[:8]))
    assert [answer.clear for answer in answers] == [True] * 8
    again = await asyncio.gather(*(meter.clearance(lease) for lease in leases[:8]))
    assert [answer.clear for answer in again] == [True] * 8


async def test_more_than_the_share_puts_the_brake_on_pages_once_and_still_warns(meter: Meter) -> None:
    leases = await fleet(meter, 10, 6)
    brake = meter.ledger.brake()
    assert (brake.on, brake.by, brake.at, brake.doubt) == (True, "lessor", START + 59 * MINUTE, False)
    assert brake.reason.startswith(PAGED)
    assert len(meter.verdicts) == 6
    assert (await meter.clearance(leases[0])).why.startswith("the brake is on since 2026-11-27 10:59 UTC, by lessor: ")
    (page,) = (await meter.tick(meter.now)).pages
    assert (page.alarm, page.subject) == (Alarm.BRAKE, "idle stops since 2026-11-27 10:59 UTC")
    later = await meter.ticks(3)
    assert later.pages == ()
    assert later.brake.startswith("the brake is on since 2026-11-27 10:59 UTC, by lessor: ")
    assert len(meter.ledger.events(FLEET)) == 1


async def test_a_person_takes_the_brake_off_and_so_many_stop_as_may(meter: Meter) -> None:
    leases = await fleet(meter, 10, 6)
    meter.now += timedelta(seconds=1)
    meter.ledger.set_brake(Brake(False, "U0ADMIN", meter.now, "they are idle indeed"))
    await meter.ticks(2)
    assert not meter.ledger.brake().on
    answers = [(await meter.clearance(lease)).clear for lease in leases[:6]]
    assert answers == [True] * 4 + [False] * 2


async def test_what_is_all_quiet_at_once_is_not_believed_and_told_to_nobody_but_admins(meter: Meter) -> None:
    meter.plan = replace(meter.plan, organisation={"window": MINUTE, "warm_up": timedelta()})
    leases = await fleet(meter, 10, 0)
    meter.source.all(leases[:6], IDLE)
    report = await meter.ticks(2)
    assert report.told == ()
    assert report.doubt
    assert [page.problem[:48] for page in report.pages] == ["6 of 10 leases that worked went quiet in one tic"]
    assert meter.verdicts == []
    assert (await meter.ticks(2)).pages == ()
    meter.now += timedelta(seconds=1)
    meter.ledger.set_brake(Brake(False, "U0ADMIN", meter.now, "a job ended"))
    await meter.tick(START + 70 * MINUTE)
    assert len(meter.verdicts) == 6


async def test_a_worker_that_dies_before_the_brake_is_on_puts_it_on_when_it_comes_again(meter: Meter) -> None:
    leases = [running(number) for number in range(1, 11)]
    meter.record(*leases)
    meter.source.all(leases, BUSY)
    meter.source.all(leases[:6], IDLE)
    await meter.ticks(WINDOW - 1)
    put, meter.ledger.set_brake = meter.ledger.set_brake, _dies  # type: ignore[method-assign]
    with pytest.raises(SystemError):
        await meter.tick()
    meter.ledger.set_brake = put  # type: ignore[method-assign]
    meter.restart()
    again = await meter.tick(meter.now)
    assert (again.stored, [page.alarm for page in again.pages]) == (False, [Alarm.BRAKE])
    assert meter.ledger.brake().on


async def test_a_silent_source_holds_back_its_own_without_a_brake(meter: Meter) -> None:
    await fleet(meter, 10, 1)
    meter.source.fail = silent()
    report = await meter.ticks(3)
    assert report.verdicts == {"unknown": 10}
    assert not meter.ledger.brake().on


async def test_while_any_source_is_silent_nothing_at_all_is_stopped(sqlite_ledger: SqlLedger) -> None:
    """Law 5, to the letter: also what another source sees idle, until the silent one answers again."""
    other = FakeTelemetry("elsewhere")
    meter = Meter(sqlite_ledger, others=(other,))
    lease = (await fleet(meter, 10, 1))[0]
    assert (await meter.clearance(lease)).clear
    other.fail = silent("elsewhere")
    await meter.tick()
    clearance = await meter.clearance(lease)
    assert (clearance.clear, clearance.why) == (
        False,
        "nothing is stopped while a source of telemetry is silent: elsewhere",
    )
    other.fail = None
    await meter.tick()
    assert (await meter.clearance(lease)).clear


async def test_leases_without_money_are_told_once_and_those_that_missed_it_again(meter: Meter) -> None:
    one, two = running(1), running(2)
    over = OverBudget("team:ml", "the team has spent 1,000.00 USD of 1,000.00", START)
    meter.over = [(one.id, over), (two.id, over)]
    check = meter.activities.check_budgets
    assert await ActivityEnvironment().run(check, START) == 2
    assert await ActivityEnvironment().run(check, START + MINUTE) == 0
    assert meter.runs.over == [(one.id, over), (two.id, over)]


async def test_hours_are_added_up_and_old_rows_dropped(meter: Meter) -> None:
    lease = (await fleet(meter, 2, 1))[0]
    await meter.tick()
    assert await ActivityEnvironment().run(meter.activities.tidy, meter.now) == ()
    assert [hour.ticks for hour in meter.ledger.usage(lease.id, START - timedelta(hours=1), meter.now)] == [1, 60]
    await ActivityEnvironment().run(meter.activities.tidy, meter.now + timedelta(days=14))
    assert [one.at for one in meter.ledger.observations(START, meter.now + MINUTE, lease.id)] == [meter.now]


async def test_what_works_a_week_without_its_gpus_is_shown_to_administrators(meter: Meter) -> None:
    """Case E17: a server in the background kept a machine from ever being idle."""
    meter.settings = replace(meter.settings, every=timedelta(hours=1))
    lease = running(1)
    meter.record(lease)
    meter.source.all([lease], IDLE)
    meter.source.hosts[machine_of(lease)] = HostUse(cpu=60.0, network=1.0, disk=1.0, sessions=0)
    pages = []
    for hour in range(24 * 8 + 1):
        at = START.replace(hour=0) + timedelta(hours=hour)
        meter.now = at
        await ActivityEnvironment().run(meter.activities.tick, MeterTick(at, timedelta(hours=1)))
        pages += await ActivityEnvironment().run(meter.activities.tidy, at)
    assert [(page.alarm, page.subject, page.problem) for page in pages] == [
        (Alarm.NEVER_IDLE, lease.id, "none of its GPUs worked for 7 days, and it was never idle: cpu keeps it going")
    ] * 2


async def test_what_is_at_its_maximum_for_days_is_shown_once(meter: Meter) -> None:
    """Case E28: a miner looks like perfect use; nothing is stopped."""
    meter.plan = replace(meter.plan, organisation={"review_after": timedelta(hours=1)}, workloads={})
    lease = running(1)
    lease = replace(lease, request=replace(lease.request, workload=Workload.NOTEBOOK))
    meter.record(lease)
    meter.source.all([lease], replace(BUSY, engine=1.0, util=100.0))
    pages = [page for report in [await meter.tick() for _ in range(90)] for page in report.pages]
    assert [(page.alarm, page.subject) for page in pages] == [(Alarm.REVIEW, lease.id)]
    assert pages[0].problem == (
        "GPU 0 of i-00000001 was at its maximum for 1 h; it is to 'train the ranking model', as U0REQUESTER said. "
        "Nothing is stopped for that"
    )
    assert meter.verdicts == []


def _dies(brake: Brake) -> None:
    raise SystemError("killed")
