"""How a lease's workflow asks the meter for another look, before it warns and before it stops."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.meter import MeterActivities
    from lessor import retries
    from lessor.contracts import Clearance, LeaseRef, Metered
    from lessor.domain.lease import Lease

LOOK_LIMIT = timedelta(minutes=5)
"""How long a look is tried; what has not answered by then is unknown."""


async def look_again(lease: Lease) -> Metered:
    """What the lease does now, by its telemetry alone. Raises `FailureError` when that cannot be read."""
    return await workflow.execute_activity_method(
        MeterActivities.look_again,
        LeaseRef(lease.id, lease.revision),
        start_to_close_timeout=timedelta(seconds=60),
        schedule_to_close_timeout=LOOK_LIMIT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="look whether it is still idle",
    )


async def clear_to_stop(lease: Lease) -> Clearance:
    """Whether an idle lease may be stopped now, with what was found. Raises `FailureError` when nothing answers."""
    return await workflow.execute_activity_method(
        MeterActivities.clear_to_stop,
        LeaseRef(lease.id, lease.revision),
        start_to_close_timeout=timedelta(seconds=60),
        schedule_to_close_timeout=LOOK_LIMIT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="look whether it may be stopped",
    )
