"""How workflows call the activities that concern people: who pays, who has left, whose name stands on resources."""

from datetime import timedelta

from temporalio import workflow

from workflows import calls

with workflow.unsafe.imports_passed_through():
    from activities.people import PeopleActivities
    from activities.provisioning import ProvisioningActivities
    from lessor import retries
    from lessor.contracts import LeaseRef, PayerInput, PeopleReport
    from lessor.domain.lease import Lease
    from lessor.domain.pending import Payer
    from lessor.domain.people import Person

LOOK_LIMIT = timedelta(minutes=30)


async def payer(lease: Lease, team: str, owner: Person) -> Payer:
    """What the lease takes over when it comes to this team and owner."""
    return await workflow.execute_local_activity_method(
        PeopleActivities.payer,
        PayerInput(team, owner.tz, lease.terms.max_total),
        start_to_close_timeout=calls.LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary=f"who pays: team {team}"[:100],
    )


async def set_owner(lease: Lease) -> None:
    await workflow.execute_activity_method(
        ProvisioningActivities.set_owner,
        LeaseRef(lease.id, lease.revision),
        task_queue=calls.queue_of(lease.request.place.provider),
        start_to_close_timeout=calls.PLACE_TIMEOUT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary=f"write the owner {lease.owner} on the resources"[:150],
    )


async def sweep_people() -> PeopleReport:
    return await workflow.execute_activity_method(
        PeopleActivities.sweep_people,
        start_to_close_timeout=LOOK_LIMIT,
        schedule_to_close_timeout=2 * LOOK_LIMIT,
        heartbeat_timeout=calls.HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="look who has left",
    )
