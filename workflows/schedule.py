"""The schedule that starts the sweep. Whoever starts a worker makes it, so that no deployment step can be forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)

from lessor import contracts
from lessor.contracts import SweepInput
from lessor.domain.request import Place


def sweep_schedule(places: Iterable[Place], every: timedelta) -> Schedule:
    """Counted in elapsed time, so that no clock change skips or doubles a run (case B20).

    What was missed during an outage is caught up for one interval only: one run, not one for each (case B21).
    """
    return Schedule(
        action=ScheduleActionStartWorkflow(
            contracts.SWEEP_WORKFLOW,
            SweepInput(tuple(places)),
            id=contracts.SWEEP_SCHEDULE,
            task_queue=contracts.TASK_QUEUE,
            static_summary="read every place and compare it with the ledger",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=every),
    )


async def keep_schedule(client: Client, wanted: Schedule) -> None:
    """Make it, or bring the one that is there up to date; a pause that somebody ordered stays."""
    try:
        await client.create_schedule(contracts.SWEEP_SCHEDULE, wanted)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(contracts.SWEEP_SCHEDULE).update(lambda found: _updated(found, wanted))


def _updated(found: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate:
    return ScheduleUpdate(replace(wanted, state=found.description.schedule.state))
