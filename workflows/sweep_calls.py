"""How the sweep calls its activities: reading a place, marking what was attached, looking for lost leases."""

from temporalio import workflow

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from activities.sweep import SweepActivities
    from lessor import retries
    from lessor.contracts import PlaceReport, RunsReport, SweepPlace, SweepRuns
    from lessor.domain.request import Place


async def read_place(wanted: SweepPlace) -> PlaceReport:
    """A place that cannot be read is an answer; only a dead worker or ledger is a reason to try again."""
    return await workflow.execute_activity_method(
        SweepActivities.read_place,
        wanted,
        task_queue=calls.queue_of(wanted.place.provider),
        start_to_close_timeout=calls.SWEEP_LIMIT,
        schedule_to_close_timeout=2 * calls.SWEEP_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary=f"read {wanted.place}"[:150],
    )


async def attribute(place: Place) -> int:
    return await workflow.execute_activity_method(
        SweepActivities.attribute,
        place,
        task_queue=calls.queue_of(place.provider),
        start_to_close_timeout=calls.SWEEP_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_NEXT_TIME,
        summary=f"mark what was attached in {place}"[:150],
    )


async def resume_lost(wanted: SweepRuns) -> RunsReport:
    return await workflow.execute_activity_method(
        SweepActivities.resume_lost,
        wanted,
        start_to_close_timeout=calls.SWEEP_LIMIT,
        schedule_to_close_timeout=2 * calls.SWEEP_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="look for leases without a workflow",
    )
