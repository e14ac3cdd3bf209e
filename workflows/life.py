"""The life of a lease, phase by phase. Each phase does one thing and looks at the state again."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.workflow import ActivityHandle

from workflows import calls
from workflows.using import Using

with workflow.unsafe.imports_passed_through():
    from lessor.contracts import QUEUED
    from lessor.domain import disks, life, waiting
    from lessor.domain.lease import State
    from lessor.domain.provisioning import Provisioned
    from lessor.domain.resource import Kind, Resource, Sighting
    from lessor.retries import ErrorType


class Life(Using):
    """Leads a lease from request to closed. `run` returns when the lease is final or the run should be renewed."""

    @property
    def finished(self) -> bool:
        """Whether the lease is final, or the run should be renewed now."""
        return self.lease.final or (not self.cancelled and self._renewal_due())

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
            State.APPROVED: self._begin,
            State.WAITING_FOR_CAPACITY: self._await_capacity,
            State.PROVISIONING: self._restart,
            State.ACTIVE: self._in_use,
            State.SUSPENDED: self._in_use,
            State.ENDING: self._end,
            State.STOPPED: self._grace,
            State.DELETING: self._take_down,
            State.BLOCKED: self._take_down,
        }
        await phases[self.lease.state]()
        await self._book.flush()

    async def _begin(self) -> None:
        """At once, or when the time has come that it was reserved for."""
        if self.lease.request.start and not (await self._sleep() and self.lease.state is State.APPROVED):
            return
        await self._provision()

    async def _await_capacity(self) -> None:
        if await self._sleep() and self.lease.state is State.WAITING_FOR_CAPACITY:
            await self._provision()

    async def _provision(self) -> None:
        if await self._outdated():
            return
        late = life.too_late(self.lease, self._book.now)
        if late:
            self._book.apply(life.fail(self.lease, late, self._book.now))
            return
        self._book.apply(life.start_provisioning(self.lease, self._book.now))
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
        now = self._book.now
        self._book.apply(
            life.launched_late(
                self.lease,
                made.resources,
                made.launched_at,
                made.hourly,
                now,
                disk_gib=made.disk_gib,
                disk_monthly=made.disk_monthly,
            )
        )

    def _provisioning_failed(self, error: FailureError) -> None:
        now, cause = self._book.now, error.cause or error
        if isinstance(cause, ApplicationError) and cause.type == ErrorType.NO_CAPACITY:
            tried = tuple(str(word) for word in cause.details[0]) if cause.details else ()
            queued = QUEUED in cause.details[1:]
            wait = waiting.wait_in_queue if queued else life.wait_for_capacity
            self._book.apply(wait(self.lease, tried, now))
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
                self._book.now,
                stoppable=made.stoppable,
                volatile=made.volatile,
                disk_gib=made.disk_gib,
                disk_monthly=made.disk_monthly,
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
                self._book.apply(life.restore_failed(self.lease, calls.reason(error), self._book.now))
            return
        if self.lease.state is State.PROVISIONING:
            self._book.apply(life.restored(self.lease, started_at, self._book.now))

    async def _end(self) -> None:
        if not self.lease.stoppable:
            self._book.apply(life.start_deleting(self.lease, self._book.now))
            return
        try:
            stopped_at = await calls.stop(self.lease)
        except FailureError as error:
            await self._stop_failed(calls.reason(error))
            return
        seen = await self._disks()
        if self.lease.state is State.ENDING:
            self._book.apply(life.stopped(self.lease, stopped_at, self._book.now, seen))

    async def _disks(self) -> tuple[Resource, ...]:
        """What people made in their namespace and pay for: nobody knows of all of it before it is looked for."""
        if self.lease.request.place.provider != "kubernetes":
            return ()
        sighting = await self._look_or_unknown()
        charged = disks.judged(self.lease, sighting, self._book.now)
        if charged.events:
            self._book.apply(charged)
        left = (one for one in sighting.left if one.ref not in sighting.foreign)
        return tuple(one for one in left if one.kind in (Kind.CLAIM, Kind.VOLUME))

    async def _stop_failed(self, problem: str) -> None:
        """Never delete because a stop failed: people are told, and it is tried again. Gone already means clean up."""
        sighting = await self._look_or_unknown()
        if self.lease.state is not State.ENDING:
            return
        if sighting.clean:
            self._book.apply(life.start_deleting(self.lease, self._book.now, "it was gone before it could be stopped"))
            return
        self._book.apply(life.stop_failed(self.lease, problem, self._book.now))
        await self._book.flush()
        await self._pause(self.lease.terms.blocked_retry, "tries to stop it again")

    async def _grace(self) -> None:
        if self._reported():
            await self._check_observed()
            return
        due = await self._sleep()
        if due and self.lease.state is State.STOPPED:
            self._book.apply(life.start_deleting(self.lease, self._book.now))

    async def _take_down(self) -> None:
        if self.lease.next_try and self.lease.next_try > self._book.now:
            await self._sleep()
            return
        try:
            sighting = await calls.take_down(self.lease)
        except FailureError as error:
            sighting = Sighting((), self._book.now, complete=False, problem=calls.reason(error))
        self._book.apply(life.looked(self.lease, sighting, self._book.now))

    async def _cancel(self) -> None:
        """An operator's cancel is an order to end, not a way to stop cleaning up; a second one changes nothing."""
        self.cancelled = False
        self._book.apply(life.cancel(self.lease, "operator", self._book.now))
        await self._book.flush()
