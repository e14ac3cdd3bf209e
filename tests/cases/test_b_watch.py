"""Cases B20, B21 and B23, and C08, C17, C22 and C29 as far as the sweep answers them."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import Client, ScheduleHandle, ScheduleOverlapPolicy, WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from lessor import contracts
from lessor.config.model import LeaseConfig
from lessor.contracts import RunsReport, SweepOutcome
from lessor.domain.lease import State
from lessor.domain.quota import headroom
from lessor.domain.request import Place
from lessor.domain.resource import Condition
from lessor.ports import RetryableError
from tests.fakes import throttled
from tests.temporal import dev_server
from tests.world import PLACE, World, busy_world
from workflows.schedule import keep_schedule, people_schedule, sweep_schedule

EVERY = timedelta(minutes=5)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
PLACES = (Place(PLACE.provider, PLACE.name),)
CODE = Path(__file__).parents[2]


async def made(env: WorkflowEnvironment) -> ScheduleHandle:
    await keep_schedule(env.client, sweep_schedule(PLACES, EVERY))
    return env.client.get_schedule_handle(contracts.SWEEP_SCHEDULE)


async def times(
    client: Client, begin: datetime, end: datetime, schedule: str = contracts.SWEEP_SCHEDULE
) -> list[datetime]:
    """When the server would start what the schedule starts."""
    first, last = Timestamp(), Timestamp()
    first.FromDatetime(begin)
    last.FromDatetime(end)
    wanted = ListScheduleMatchingTimesRequest(
        namespace=client.namespace, schedule_id=schedule, start_time=first, end_time=last
    )
    answer = await client.workflow_service.list_schedule_matching_times(wanted)
    return [stamp.ToDatetime(UTC) for stamp in answer.start_time]


async def done(handle: ScheduleHandle, runs: int) -> None:
    """Wait until the schedule has had so many runs and none is under way."""
    for _ in range(600):
        found = (await handle.describe()).info
        if found.num_actions >= runs and not found.running_actions:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{found.num_actions} runs, {len(found.running_actions)} under way")


async def test_B20_daily_run_around_the_clock_change() -> None:
    """Both sweeps count elapsed time: on the days of 23 and 25 hours they run neither twice nor too late."""
    days = [("2026-03-08", "America/New_York", 23), ("2026-11-01", "America/New_York", 25)]
    days += [("2026-03-29", "Europe/Madrid", 23), ("2026-10-25", "Europe/Madrid", 25)]
    async with dev_server() as env:
        await made(env)
        await keep_schedule(env.client, people_schedule(LeaseConfig().people_sweep_every))
        for day, zone, hours in days:
            midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
            begin = midnight.astimezone(UTC)
            end = (midnight + timedelta(days=1)).astimezone(UTC)
            runs = await times(env.client, begin - timedelta(seconds=1), end - timedelta(seconds=1))
            assert len(runs) == len(set(runs)) == hours * 12
            assert {after - before for before, after in pairwise(runs)} == {EVERY}
            nightly = await times(
                env.client, begin - timedelta(seconds=1), end - timedelta(seconds=1), contracts.PEOPLE_SCHEDULE
            )
            assert len(nightly) == 1


async def test_B21_overlap_and_missed_runs_of_a_schedule() -> None:
    """Nobody works for hours: the runs that were due meanwhile are one when somebody does, never two at a time."""
    async with dev_server() as env, busy_world(env) as leases:
        handle = await made(env)
        policy = (await handle.describe()).schedule.policy
        # After an outage of the server itself only what was due in the last interval is caught up: one run.
        assert (policy.overlap, policy.catchup_window) == (ScheduleOverlapPolicy.SKIP, EVERY)
        reached, go = threading.Event(), threading.Event()

        def slow() -> None:
            reached.set()
            assert go.wait(60)

        leases.cloud.before["conditions"] = slow
        await handle.trigger()
        assert await asyncio.to_thread(reached.wait, 60)
        for _ in range(5):
            await handle.trigger()
        found = (await handle.describe()).info
        assert len(found.running_actions) == 1
        go.set()
        await done(handle, 1)
        assert leases.cloud.times("conditions") == 1
        assert (await handle.describe()).info.num_actions == 1


async def test_B21_an_outage_of_the_server_is_made_up_for_by_one_run() -> None:
    """The server stands still over four intervals; of the four runs that were due then, one is started afterwards."""
    every = timedelta(seconds=3)
    async with dev_server() as env, busy_world(env) as leases:
        await keep_schedule(env.client, sweep_schedule(PLACES, every))
        handle = env.client.get_schedule_handle(contracts.SWEEP_SCHEDULE)
        await between_runs(handle, every)
        stopped, resumed = await outage(4 * every)
        missed = int(resumed.timestamp()) // 3 - int(stopped.timestamp()) // 3
        assert missed >= 4
        await done(handle, (await handle.describe()).info.num_actions + 1)
        await handle.pause()
        await done(handle, 1)
        info = (await handle.describe()).info
        late = [one for one in info.recent_actions if stopped < one.scheduled_at < resumed]
        assert len(late) == 1
        assert info.num_actions_missed_catchup_window + info.num_actions_skipped_overlap >= missed - 1
        assert leases.cloud.times("conditions") == info.num_actions


async def between_runs(handle: ScheduleHandle, every: timedelta) -> None:
    """Return when a run is over and the next one is not due for a while."""
    for number in range(1, 20):
        await done(handle, number)
        last = (await handle.describe()).info.recent_actions[-1]
        if datetime.now(UTC) < last.scheduled_at + every / 2:
            return
    raise AssertionError("runs last longer than half of their interval")


async def outage(length: timedelta) -> tuple[datetime, datetime]:
    """The server stands still for so long; from when until when."""
    server = temporal_server()
    server.suspend()
    stopped = datetime.now(UTC)
    try:
        # This is no wait for anything: it is how long the outage lasts.
        await asyncio.sleep(length.total_seconds())
    finally:
        resumed = datetime.now(UTC)
        server.resume()
    return stopped, resumed


def temporal_server() -> psutil.Process:
    """The process of the dev server that this test started."""
    [found] = [child for child in psutil.Process().children() if Path(child.exe()).stem == "temporal"]
    return found


async def test_B21_the_schedule_is_brought_up_to_date_and_a_pause_stays() -> None:
    async with dev_server() as env:
        handle = await made(env)
        await handle.pause(note="the account moves")
        await keep_schedule(env.client, sweep_schedule(PLACES, 2 * EVERY))
        found = (await handle.describe()).schedule
        assert [one.every for one in found.spec.intervals] == [2 * EVERY]
        assert (found.state.paused, found.state.note) == (True, "the account moves")
        assert found.policy.catchup_window == 2 * EVERY
        assert [one.id async for one in await env.client.list_schedules()] in ([], [contracts.SWEEP_SCHEDULE])


async def test_B23_list_shows_a_state_that_is_no_longer_true(leases: World) -> None:
    """Nothing is decided by a list of workflows: use is read from the ledger, life by asking the one workflow."""
    old = await leases.ask()
    await leases.until(old, State.AWAITING_APPROVAL)
    await leases.sleep(10 * MINUTE)
    new = await leases.ask()
    await leases.until(new, State.AWAITING_APPROVAL)
    for handle in (old, new):
        await handle.terminate()
    assert (await leases.sweep()).runs == RunsReport(1, (old.id,))
    assert (await leases.recorded(old, State.CLOSED)).ending_reason.startswith("terminated: ")
    assert (await leases.recorded(new, State.AWAITING_APPROVAL)).ending_reason == ""
    [room] = headroom(leases.plan.ceilings, leases.ledger.held("research"))
    assert room.used == 0
    code = [path for package in ("lessor", "workflows", "activities", "bot") for path in (CODE / package).rglob("*.py")]
    asks_lists = [p.name for p in code if re.search(r"\.(list|count)_workflows\(", p.read_text(encoding="utf-8"))]
    assert asks_lists == []


async def test_C08_missing_is_gone_after_three_complete_readings_only() -> None:
    """The schedule hands the counts from sweep to sweep; a reading that failed neither counts nor starts again."""
    async with dev_server() as env, busy_world(env) as leases:
        handle, lease = await made(env), await leases.active()
        [machine] = leases.cloud.alive(lease.id)
        leases.late = 11 * MINUTE
        hidden = leases.cloud.owners.pop(machine.id)
        del leases.cloud.machines[machine.id]
        missing: list[tuple[tuple[str, int], ...]] = []
        for number, trouble in enumerate([None, RetryableError("page 2 is missing"), None], start=1):
            leases.cloud.fail["conditions"] = [trouble] if trouble else []
            await handle.trigger()
            await done(handle, number)
            outcome = await last_outcome(env.client, handle)
            missing.append(outcome.places[0].missing)
            assert outcome.places[0].told == ()
        assert missing == [((machine.ref, 1),), ((machine.ref, 1),), ((machine.ref, 2),)]
        await handle.trigger()
        await done(handle, 4)
        assert (await last_outcome(env.client, handle)).places[0].told == (lease.id,)
        assert hidden == lease.id
        assert leases.ledger.lease(lease.id) is not None


async def test_C17_spot_interruption_is_told_by_the_next_sweep(leases: World) -> None:
    """Seen in the next reading, five minutes later at most; the bill ends when the provider says it ended."""
    lost, stopped, kept = [await leases.active() for _ in range(3)]
    await leases.sleep(11 * MINUTE)
    leases.turn(lost, Condition.GONE, "Server.SpotInstanceTermination")
    leases.turn(stopped, Condition.STOPPED, "User initiated")
    before = (await kept.describe()).history_length
    report = (await leases.sweep()).places[0]
    assert (set(report.told), report.complete, report.resources, report.leases) == ({lost.id, stopped.id}, True, 3, 3)
    assert (await leases.until(stopped, State.STOPPED)).ending_reason == "interrupted: User initiated"
    ended = await leases.until(lost, State.DELETING, State.CLOSED)
    assert ended.ending_reason == "interrupted: Server.SpotInstanceTermination"
    await leases.told(lost, "interrupted")
    assert (await kept.describe()).history_length == before
    assert leases.cloud.times("conditions") == 1
    assert (await leases.sweep()).places[0].told == ()


async def test_C22_a_throttled_sweep_changes_nothing(leases: World) -> None:
    lease = await leases.active()
    await leases.sleep(11 * MINUTE)
    leases.turn(lease, Condition.GONE, "gone")
    leases.cloud.fail["conditions"] = [throttled() for _ in range(100)]
    for _ in range(3):
        report = (await leases.sweep()).places[0]
        assert (report.complete, report.told, report.left_over) == (False, (), ())
        assert report.problem == "the place answered: too many requests"
    assert (await leases.lease(lease)).state is State.ACTIVE
    assert leases.cloud.times("conditions") == 3
    assert leases.cloud.times("delete") == 0


async def last_outcome(client: Client, handle: ScheduleHandle) -> SweepOutcome:
    recent = (await handle.describe()).info.recent_actions[-1].action
    run = client.get_workflow_handle(recent.workflow_id, run_id=recent.first_execution_run_id, result_type=SweepOutcome)
    found = await run.describe()
    assert found.status is WorkflowExecutionStatus.COMPLETED
    return await run.result()
