"""The life of a lease, phase by phase. Each phase does one thing and looks at the state again."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.workflow import ActivityHandle

from workflows import calls
from workflows.book import Book, Courier
from workflows.rhythm import Rhythm

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from lessor.domain import life, transitions
    from lessor.domain.deadlines import Deadline, Due
    from lessor.domain.lease import State
    from lessor.domain.provisioning import Provisioned
    from lessor.domain.resource import Sighting
    from lessor.retries import ErrorType

WARNING_RETRY = timedelta(minutes=1)
QUOTE_HOLDS = timedelta(minutes=15)
"""A quote older than this is read again before anything is created."""


class Life(Rhythm):
    """Leads a lease from request to closed. `run` returns when the lease is final or the run should be renewed."""

    def __init__(self, book: Book, courier: Courier) -> None:
        super().__init__(book)
        self._courier = courier

    async def run(self) -> None:
        while not self.lease.final:
            if self.cancelled:
                await self._cancel()
            elif self._renewal_due():
                return
            else:
                await self._phase()
        self._drop_chores()

    async def _phase(self) -> None:
        phases = {
            State.REQUESTED: self._assess,
            State.AWAITING_APPROVAL: self._await_decision,
            State.APPROVED: self._provision,
            State.WAITING_FOR_CAPACITY: self._await_capacity,
            State.PROVISIONING: self._restart,
            State.ACTIVE: self._active,
            State.ENDING: self._end,
            State.STOPPED: self._grace,
            State.DELETING: self._take_down,
            State.BLOCKED: self._take_down,
        }
        await phases[self.lease.state]()
        await self._book.flush()

    async def _assess(self) -> None:
        try:
            found = await calls.assess(self.lease)
        except FailureError as error:
            if self.lease.state is State.REQUESTED:
                why = f"the request could not be judged, nothing was created: {calls.reason(error)}"
                self._book.apply(transitions.deny_by_policy(self.lease, why, workflow.now()))
            return
        if self.lease.state is not State.REQUESTED:
            return
        change = transitions.assess(self.lease, found.quote, found.decision, found.steps, found.owner, workflow.now())
        self._book.apply(change)
        if change.lease.state is State.APPROVED:
            await self._reserve_or_deny()

    async def _reserve_or_deny(self) -> None:
        try:
            await calls.reserve(self.lease)
        except FailureError as error:
            if self.lease.state is State.APPROVED:
                self._book.apply(transitions.deny_by_policy(self.lease, calls.reason(error), workflow.now()))

    async def _await_decision(self) -> None:
        due = await self._sleep()
        if due and self.lease.state is State.AWAITING_APPROVAL:
            self._book.apply(transitions.lapse(self.lease, workflow.now()))

    async def _await_capacity(self) -> None:
        if await self._sleep() and self.lease.state is State.WAITING_FOR_CAPACITY:
            await self._provision()

    async def _provision(self) -> None:
        if await self._price_rose():
            return
        self._book.apply(life.start_provisioning(self.lease, workflow.now()))
        await self._book.flush()
        attempt = calls.provision(self.lease)
        await workflow.wait_condition(lambda: attempt.done() or self._taken_back())
        if self._taken_back():
            await self._abandon(attempt)
            return
        try:
            made = await attempt
        except FailureError as error:
            self._provisioning_failed(error)
            return
        self._ready(made)

    async def _price_rose(self) -> bool:
        """Whether an approval that has waited no longer stands, since the price has risen too far (case F42)."""
        quote = self.lease.quote
        if self.lease.state is not State.APPROVED or quote is None or workflow.now() - quote.at < QUOTE_HOLDS:
            return False
        try:
            found = await calls.assess(self.lease)
        except FailureError as error:
            workflow.logger.warning("the price of %s could not be read again: %s", self.lease.id, calls.reason(error))
            return False
        if self._book.lease.state is not State.APPROVED:
            return True
        if not found.steps:
            return False
        change = transitions.requote(self.lease, found.quote, found.steps, workflow.now())
        self._book.apply(change)
        rose = change.lease.state is State.AWAITING_APPROVAL
        if rose:
            await calls.give_back(self.lease)
        return rose

    def _taken_back(self) -> bool:
        return self.cancelled or self.lease.state is not State.PROVISIONING

    async def _abandon(self, attempt: ActivityHandle[Provisioned]) -> None:
        """Wait until the attempt has really ended: only then is it known what has to be undone."""
        attempt.cancel()
        try:
            made = await attempt
        except FailureError as error:
            workflow.logger.info("provisioning of %s was given up: %s", self.lease.id, error.cause or error)
            return
        if self.cancelled:
            await self._cancel()
        now = workflow.now()
        self._book.apply(life.launched_late(self.lease, made.resources, made.launched_at, made.hourly, now))

    def _provisioning_failed(self, error: FailureError) -> None:
        now, cause = workflow.now(), error.cause or error
        if isinstance(cause, ApplicationError) and cause.type == ErrorType.NO_CAPACITY:
            tried = tuple(str(word) for word in cause.details[0]) if cause.details else ()
            self._book.apply(life.wait_for_capacity(self.lease, tried, now))
        else:
            self._book.apply(life.fail(self.lease, calls.reason(error), now))

    def _ready(self, made: Provisioned) -> None:
        self._book.apply(
            life.ready(
                self.lease,
                made.resources,
                made.access,
                made.launched_at,
                made.hourly,
                workflow.now(),
                stoppable=made.stoppable,
            )
        )
        self._end_on_resources = self.lease.request.until

    async def _restart(self) -> None:
        """The owner asked for a stopped lease back: take quota again, start, or return to grace as it was."""
        try:
            await calls.reserve(self.lease)
            started_at = await calls.start(self.lease)
        except FailureError as error:
            if self.lease.state is State.PROVISIONING:
                self._book.apply(life.restore_failed(self.lease, calls.reason(error), workflow.now()))
            return
        if self.lease.state is State.PROVISIONING:
            self._book.apply(life.restored(self.lease, started_at, workflow.now()))

    async def _active(self) -> None:
        if self._reported():
            await self._check_observed()
            return
        self._keep_end_on_resources()
        due = await self._sleep()
        if self.lease.state is not State.ACTIVE:
            return
        if due and due.due is Due.WARN:
            await self._warn(due)
        elif due and due.due is Due.END:
            self._book.apply(life.end(self.lease, workflow.now()))

    async def _warn(self, due: Deadline) -> None:
        ends_at = self.lease.ends_at
        delivery = await self._courier.warn(due.before)
        if self.lease.state is not State.ACTIVE or self.lease.ends_at != ends_at:
            return
        now = workflow.now()
        if delivery.delivered:
            self._book.apply(life.warned(self.lease, due.before, delivery.via, now))
        else:
            retry_at = now + min(WARNING_RETRY, self.lease.terms.notice)
            self._book.apply(life.warning_undelivered(self.lease, delivery.problem, retry_at, now))

    async def _check_observed(self) -> None:
        """Something was reported gone or stopped: look again before believing it (law 2)."""
        report = self.observed.pop(0)
        sighting = await self._look_or_unknown()
        now = workflow.now()
        self._book.apply(life.observed(self.lease, sighting, report.reason or report.condition, report.at, now))

    async def _end(self) -> None:
        if not self.lease.stoppable:
            self._book.apply(life.start_deleting(self.lease, workflow.now()))
            return
        try:
            stopped_at = await calls.stop(self.lease)
        except FailureError as error:
            await self._stop_failed(calls.reason(error))
            return
        if self.lease.state is State.ENDING:
            self._book.apply(life.stopped(self.lease, stopped_at, workflow.now()))

    async def _stop_failed(self, problem: str) -> None:
        """Never delete because a stop failed: people are told, and it is tried again. Gone already means clean up."""
        sighting = await self._look_or_unknown()
        if self.lease.state is not State.ENDING:
            return
        if sighting.clean:
            self._book.apply(life.start_deleting(self.lease, workflow.now(), "it was gone before it could be stopped"))
            return
        self._book.apply(life.stop_failed(self.lease, problem, workflow.now()))
        await self._book.flush()
        await self._pause(self.lease.terms.blocked_retry, "tries to stop it again")

    async def _look_or_unknown(self) -> Sighting:
        try:
            return await calls.look(self.lease)
        except FailureError as error:
            return Sighting((), workflow.now(), complete=False, problem=calls.reason(error))

    async def _grace(self) -> None:
        due = await self._sleep()
        if due and self.lease.state is State.STOPPED:
            self._book.apply(life.start_deleting(self.lease, workflow.now()))

    async def _take_down(self) -> None:
        if self.lease.next_try and self.lease.next_try > workflow.now():
            await self._sleep()
            return
        try:
            sighting = await calls.take_down(self.lease)
        except FailureError as error:
            sighting = Sighting((), workflow.now(), complete=False, problem=calls.reason(error))
        self._book.apply(life.looked(self.lease, sighting, workflow.now()))

    async def _cancel(self) -> None:
        """An operator's cancel is an order to end, not a way to stop cleaning up; a second one changes nothing."""
        self.cancelled = False
        self._book.apply(life.cancel(self.lease, "operator", workflow.now()))
        await self._book.flush()
