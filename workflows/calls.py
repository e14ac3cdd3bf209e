"""How a lease's workflow calls its activities: queue, timeouts, retries and the words in the Temporal UI."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutError
from temporalio.workflow import ActivityCancellationType, ActivityHandle

with workflow.unsafe.imports_passed_through():
    from activities.assessment import AssessmentActivities
    from activities.messages import MessageActivities
    from activities.provisioning import ProvisioningActivities
    from activities.record import RecordActivities
    from lessor import contracts, retries
    from lessor.contracts import (
        Alarm,
        Assessment,
        Counted,
        Delivery,
        LeaseRef,
        MoveEnd,
        NotifyInput,
        PageInput,
        RecordInput,
        StaffInput,
        Weigh,
        Weighed,
    )
    from lessor.domain.approval import Step
    from lessor.domain.lease import Event, Lease
    from lessor.domain.people import Person
    from lessor.domain.provisioning import Provisioned
    from lessor.domain.resource import Sighting

LEDGER_TIMEOUT = timedelta(seconds=10)
HEARTBEAT = timedelta(seconds=30)
"""Three beats of `activities.beating`: so long nobody notices that a worker died in the middle of something."""
SWEEP_LIMIT = timedelta(minutes=10)
STAFF_LIMIT = timedelta(minutes=10)
MESSAGE_TIMEOUT = timedelta(minutes=2)
PLACE_TIMEOUT = timedelta(minutes=4)
"""For a look at a place or one change of what stands there: a pool runs two of its executables in this time."""

_PROVIDER_QUEUES = {
    "aws": contracts.QUEUE_AWS,
    "kubernetes": contracts.QUEUE_KUBERNETES,
    "machines": contracts.QUEUE_MACHINES,
}


def queue_of(provider: str) -> str:
    """The task queue whose workers hold this kind of provider; the common one for kinds without their own."""
    return _PROVIDER_QUEUES.get(provider, contracts.TASK_QUEUE)


async def record(lease: Lease, events: tuple[Event, ...]) -> tuple[PageInput, ...]:
    """Local, since the ledger is near and quick; retried until it is stored. Returns whom to tell of budgets."""
    told = await workflow.execute_local_activity_method(
        RecordActivities.record,
        RecordInput(lease, events),
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary=", ".join(e.type for e in events)[:100] or "look",
    )
    return told or ()


async def reserve(lease: Lease) -> None:
    """Take the GPUs and what they cost from quotas and budgets; for another owner or team, move what the lease has.

    Raises `FailureError` with a `Refused` cause when it does not fit.
    """
    await workflow.execute_local_activity_method(
        RecordActivities.reserve,
        Counted(lease, workflow.now()),
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary=f"reserve {lease.gpus} GPUs for {lease.request.team}"[:100],
    )


async def commit(lease: Lease) -> None:
    """Take what `lease`, as it is here, needs of budgets. Raises `FailureError` with a `Refused` cause beyond them."""
    await workflow.execute_local_activity_method(
        RecordActivities.commit,
        Counted(lease, workflow.now()),
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary="take what it needs of budgets",
    )


async def give_back(lease: Lease) -> None:
    await workflow.execute_local_activity_method(
        RecordActivities.give_back,
        LeaseRef(lease.id, 0),
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary="give the quota back",
    )


async def identify(any_id: str) -> Person:
    return await workflow.execute_local_activity_method(
        RecordActivities.identify,
        any_id,
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary="who is this",
    )


async def weigh(lease: Lease, until: datetime, person: Person, *, granted: bool = False) -> Weighed:
    """What the policy says of the lease if it ran until then, and who has to be asked for that."""
    return await workflow.execute_local_activity_method(
        AssessmentActivities.weigh,
        Weigh(lease.id, until, person, granted),
        start_to_close_timeout=LEDGER_TIMEOUT,
        retry_policy=retries.RETRY_FAST,
        summary=f"does the policy allow until {until:%Y-%m-%d %H:%M} UTC",
    )


async def assess(lease: Lease) -> Assessment:
    return await workflow.execute_activity_method(
        AssessmentActivities.assess,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=timedelta(seconds=60),
        schedule_to_close_timeout=lease.terms.lapse_after,
        retry_policy=retries.RETRY_PROVIDER,
        summary="price and policy",
    )


async def staff(
    lease: Lease, steps: tuple[Step, ...], overdue: frozenset[int] = frozenset(), not_deciding: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """Who decides `steps`, looked up anew. Raises `ActivityError` with a `Refused` cause when nobody is left.

    `not_deciding` are all ids of those whose wish it is; the requester's where it is empty.
    """
    ids = not_deciding or tuple(dict.fromkeys((lease.owner, *sorted(lease.requester_ids))))
    return await workflow.execute_activity_method(
        AssessmentActivities.staff,
        StaffInput(lease.request.team, ids, steps, tuple(sorted(overdue))),
        start_to_close_timeout=timedelta(seconds=60),
        schedule_to_close_timeout=STAFF_LIMIT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="who decides",
    )


def provision(lease: Lease) -> ActivityHandle[Provisioned]:
    """Started, not awaited: the lease may be withdrawn meanwhile; its end is waited for even then."""
    return workflow.start_activity_method(
        ProvisioningActivities.provision,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=timedelta(hours=1),
        schedule_to_close_timeout=lease.terms.provision_limit,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=f"create {lease.request.need} in {lease.request.place}"[:150],
    )


async def stop(lease: Lease) -> datetime:
    return await workflow.execute_activity_method(
        ProvisioningActivities.stop,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=timedelta(minutes=30),
        schedule_to_close_timeout=lease.terms.cleanup_limit,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary=f"stop: {lease.ending_reason or (lease.pause.words if lease.pause else 'its working hours')}"[:150],
    )


async def start(lease: Lease) -> datetime:
    return await workflow.execute_activity_method(
        ProvisioningActivities.start,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=timedelta(minutes=30),
        schedule_to_close_timeout=lease.terms.provision_limit,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="start again",
    )


async def take_down(lease: Lease) -> Sighting:
    return await workflow.execute_activity_method(
        ProvisioningActivities.take_down,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=timedelta(minutes=10),
        schedule_to_close_timeout=lease.terms.cleanup_limit,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary="delete what is left, then look" if not lease.clean_passes else "look once more that nothing is left",
    )


async def look(lease: Lease) -> Sighting:
    return await workflow.execute_activity_method(
        ProvisioningActivities.look,
        _ref(lease),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=PLACE_TIMEOUT,
        heartbeat_timeout=HEARTBEAT,
        schedule_to_close_timeout=lease.terms.cleanup_limit,
        retry_policy=retries.RETRY_PROVIDER,
        summary="look at what was reported",
    )


async def set_end(lease: Lease, ends: datetime) -> None:
    await workflow.execute_activity_method(
        ProvisioningActivities.set_end,
        MoveEnd(lease.id, ends),
        task_queue=queue_of(lease.request.place.provider),
        start_to_close_timeout=PLACE_TIMEOUT,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_PROVIDER,
        summary=f"write the end {ends:%Y-%m-%d %H:%M} UTC on the resources",
    )


async def notify(wanted: NotifyInput) -> Delivery:
    return await workflow.execute_activity_method(
        MessageActivities.notify,
        wanted,
        task_queue=contracts.QUEUE_SLACK,
        start_to_close_timeout=MESSAGE_TIMEOUT,
        schedule_to_close_timeout=_left(wanted),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_LATE if wanted.until else retries.RETRY_MESSAGE,
        summary=f"tell people: {wanted.notice.value}",
    )


async def page(wanted: PageInput) -> Delivery:
    return await workflow.execute_activity_method(
        MessageActivities.page,
        wanted,
        task_queue=contracts.QUEUE_SLACK,
        start_to_close_timeout=MESSAGE_TIMEOUT,
        schedule_to_close_timeout=_left(wanted) or (None if wanted.alarm is Alarm.BUDGET else SWEEP_LIMIT),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=retries.RETRY_LATE if wanted.until else retries.RETRY_MESSAGE,
        summary=f"tell people: {wanted.alarm.value}, {wanted.subject}"[:150],
    )


def was_refused(error: FailureError) -> bool:
    """Whether it failed because it is not allowed or makes no sense, not because something could not be reached."""
    cause = error.cause or error
    return isinstance(cause, ApplicationError) and cause.type == retries.ErrorType.REFUSED


def will_not_stop(error: FailureError) -> bool:
    """Whether the provider will not stop it, however often it is asked: it could not be started again (C21, D07)."""
    cause = error.cause or error
    never = ((contracts.GROUP_MEMBER,), (contracts.NOT_STOPPABLE,))
    return isinstance(cause, ApplicationError) and tuple(cause.details[:1]) in never


def reason(error: FailureError) -> str:
    """What a person reads of a failed activity: our own words, not those of the vendor's error behind them.

    A local activity's failure comes bare, a remote one's as the cause of an `ActivityError`. A time-out says what the
    last attempt died of, where that is known.
    """
    told: BaseException = error.cause if isinstance(error, ActivityError) and error.cause else error
    if isinstance(told, TimeoutError):
        last = told.cause
        why = f"; the last problem was: {last.message}" if isinstance(last, FailureError) else ""
        return f"it did not succeed in time{why}"[:1_000]
    return (told.message if isinstance(told, FailureError) else str(told))[:1_000]


def _left(wanted: NotifyInput | PageInput) -> timedelta | None:
    """How long a late message is tried on from now, long enough to be tried once; for others there is no such limit."""
    return max(wanted.until - workflow.now(), MESSAGE_TIMEOUT) if wanted.until else None


def _ref(lease: Lease) -> LeaseRef:
    return LeaseRef(lease.id, lease.revision)
