"""How the meter's workflow calls its activities: the tick, the check of budgets, and what is done once an hour."""

from datetime import datetime, timedelta

from temporalio import workflow

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from activities.meter import MeterActivities
    from lessor import retries
    from lessor.contracts import MeterReport, MeterTick, PageInput

TICK_LIMIT = timedelta(minutes=5)
TIDY_LIMIT = timedelta(minutes=10)


async def tick(wanted: MeterTick) -> MeterReport:
    """A silent source is an answer; only a dead worker or ledger is a reason to try again, as long as it is the time.

    What comes too late for this tick is the next one's.
    """
    return await workflow.execute_activity_method(
        MeterActivities.tick,
        wanted,
        start_to_close_timeout=TICK_LIMIT,
        schedule_to_close_timeout=max(wanted.every, TICK_LIMIT),
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_FAST,
        summary=f"meter everything at {wanted.at:%Y-%m-%d %H:%M:%S} UTC",
    )


async def check_budgets(at: datetime) -> int:
    return await workflow.execute_activity_method(
        MeterActivities.check_budgets,
        at,
        start_to_close_timeout=TICK_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_NEXT_TIME,
        summary="look whether money is used up",
    )


async def tidy(at: datetime) -> tuple[PageInput, ...]:
    return await workflow.execute_activity_method(
        MeterActivities.tidy,
        at,
        start_to_close_timeout=TIDY_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_NEXT_TIME,
        summary="add up the hours that are over",
    )
