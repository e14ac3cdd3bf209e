"""The schedules of the regular looks. Whoever starts a worker makes them, so that no deployment step is forgotten."""

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
from temporalio.service import RPCError, RPCStatusCode

from lessor import contracts
from lessor.contracts import MeterInput, SweepInput
from lessor.domain.request import Place


def sweep_schedule(places: Iterable[Place], every: timedelta) -> Schedule:
    """Counted in elapsed time, so that no clock change skips or doubles a run (case B20).

    What was missed during an outage is caught up for one interval only: one run, not one for each (case B21).
    """
    action = ScheduleActionStartWorkflow(
        contracts.SWEEP_WORKFLOW,
        SweepInput(tuple(places)),
        id=contracts.SWEEP_SCHEDULE,
        task_queue=contracts.TASK_QUEUE,
        static_summary="read every place and compare it with the ledger",
    )
    return _every(every, action)


def people_schedule(every: timedelta) -> Schedule:
    """Looks for owners and approvers who have left; in elapsed time and caught up once, as the sweep."""
    action = ScheduleActionStartWorkflow(
        contracts.PEOPLE_WORKFLOW,
        id=contracts.PEOPLE_SCHEDULE,
        task_queue=contracts.TASK_QUEUE,
        static_summary="look whose accounts do not work any more",
    )
    return _every(every, action)


def meter_schedule(every: timedelta, *, budgets: bool = False, sources: bool = True) -> Schedule:
    """Reads what every GPU does; a tick that was missed is caught up while it is the latest one, and no other.

    With `budgets` it looks whose money is used up; without `sources` only at that.
    """
    action = ScheduleActionStartWorkflow(
        contracts.METER_WORKFLOW,
        MeterInput(every, budgets, sources),
        id=contracts.METER_SCHEDULE,
        task_queue=contracts.TASK_QUEUE,
        static_summary="read what every GPU does" if sources else "look whose money is used up",
    )
    return _every(every, action)


async def keep_schedule(client: Client, wanted: Schedule) -> None:
    """Make it, or bring the one that is there up to date; a pause that somebody ordered stays.

    It has the same id as what it starts.
    """
    assert isinstance(wanted.action, ScheduleActionStartWorkflow)
    name = wanted.action.id
    try:
        await client.create_schedule(name, wanted)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(name).update(lambda found: _updated(found, wanted))


async def drop_schedule(client: Client, name: str) -> None:
    """Take it away, if it is there: nothing is left to look at."""
    try:
        await client.get_schedule_handle(name).delete()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


def _every(every: timedelta, action: ScheduleActionStartWorkflow) -> Schedule:
    return Schedule(
        action=action,
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=every),
    )


def _updated(found: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate:
    return ScheduleUpdate(replace(wanted, state=found.description.schedule.state))
