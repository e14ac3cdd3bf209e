"""A lease in use, running or at rest: warnings, wishes for a later end, stops and starts."""

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, spending
from workflows.watching import Watching

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from lessor.contracts import Delivery, Notice
    from lessor.domain import asking, deadlines, disks, extension, faults, life, pausing, suspension
    from lessor.domain.deadlines import Deadline, Due
    from lessor.domain.lease import IN_USE, State
    from lessor.domain.resource import LEASED, Sighting

WARNING_RETRY = timedelta(minutes=1)


IDLE = frozenset({Due.IDLE_WARN, Due.IDLE_FINAL, Due.IDLE_STOP, Due.IDLE_LOOK})


class Using(Watching):
    """The phase between being usable and the end. What was awaited is judged by the lease as it is afterwards."""

    async def _in_use(self) -> None:
        if self._reported():
            await self._check_observed()
            return
        self._keep_end_on_resources()
        due = await self._sleep()
        if self.lease.state not in IN_USE:
            return
        if due is not None:
            await self._do(due)
        elif self._people_changed():
            await self._ask_for_longer()

    async def _do(self, due: Deadline) -> None:
        if due.due is Due.WARN:
            await self._warn(due)
        elif due.due is Due.END:
            self._book.apply(life.end(self.lease, self._book.now))
        elif due.due is Due.WISH:
            await self._ask_for_longer()
        elif due.due is Due.SUSPEND_WARN:
            await self._announce_stop()
        elif due.due is Due.SUSPEND:
            await self._stop_outside_hours()
        elif due.due is Due.RESUME:
            await self._start_again()
        elif due.due is Due.CAP:
            await spending.mind_cap(self._book, self._courier)
        elif due.due in IDLE:
            self._watch(due)

    async def _warn(self, due: Deadline) -> None:
        told = self.lease
        delivery = await self._courier.warn(due.before)
        moved = (self.lease.runs_until, self.lease.end_set_at) != (told.runs_until, told.end_set_at)
        if self.lease.state not in IN_USE or moved:
            return
        if delivery.delivered:
            self._book.apply(life.warned(self.lease, due.before, delivery.via, self._book.now))
        else:
            self._undelivered(delivery)

    def _undelivered(self, delivery: Delivery) -> None:
        now = self._book.now
        retry_at = now + min(WARNING_RETRY, self.lease.terms.notice)
        self._book.apply(life.warning_undelivered(self.lease, delivery.problem, retry_at, now))

    async def _announce_stop(self) -> None:
        exemption = self.lease.exemption
        delivery = await self._courier.say(Notice.SUSPENDING)
        if self.lease.state is not State.ACTIVE or self.lease.exemption != exemption:
            return
        if delivery.delivered:
            self._book.apply(suspension.announced(self.lease, delivery.via, self._book.now))
        else:
            self._undelivered(delivery)

    async def _stop_outside_hours(self) -> None:
        """On record first, so that whoever looks meanwhile knows that it is stopped by intention."""
        if self.lease.state is State.ACTIVE:
            if suspension.may_suspend(self.lease, self._book.now):
                self._book.apply(suspension.suspend(self.lease, self._book.now))
            return
        try:
            stopped_at = await calls.stop(self.lease)
        except FailureError as error:
            if suspension.stopping(self.lease):
                for_good = self.lease.pause is not None and calls.will_not_stop(error)
                failed = pausing.runs_on if for_good else suspension.suspend_failed
                self._book.apply(failed(self.lease, calls.reason(error), self._book.now))
            return
        if suspension.stopping(self.lease):
            self._book.apply(suspension.suspended(self.lease, stopped_at, self._book.now))

    async def _start_again(self) -> None:
        """What cannot be started is looked at: what is gone is over, everything else is tried again."""
        if not suspension.wanted(self.lease, self._book.now):
            return
        try:
            started_at = await calls.start(self.lease)
        except FailureError as error:
            sighting, problem = await self._look_or_unknown(), calls.reason(error)
            now = self._book.now
            if self.lease.state is State.SUSPENDED:
                gone = life.observed(self.lease, sighting, f"it could not be started again: {problem}", now, now)
                if gone.events or self.lease.pause is None:
                    self._book.apply(gone if gone.events else suspension.resume_failed(self.lease, problem, now))
            return
        if self.lease.state is State.SUSPENDED:
            self._book.apply(suspension.started_again(self.lease, started_at, self._book.now))

    async def _ask_for_longer(self) -> None:
        """Remind those who decide on a later end, or ask the next level; with the time to decide the wish is over."""
        self.restaff = False
        wish, lapses_at = self.lease.wish, deadlines.wish_lapses(self.lease)
        if wish is None or lapses_at is None:
            return
        if lapses_at <= self._book.now:
            self._book.apply(extension.lapse(self.lease, self._book.now))
            return
        ids = tuple(sorted(extension.not_deciding(self.lease)))
        try:
            found = await calls.staff(self.lease, wish.steps, asking.overdue(wish.steps, self._book.now), ids)
        except FailureError as error:
            if calls.was_refused(error):
                if self.lease.wish == wish:
                    self._book.apply(extension.undecidable(self.lease, calls.reason(error), self._book.now))
                return
            workflow.logger.warning("who decides on %s could not be looked up: %s", self.lease.id, calls.reason(error))
            found = wish.steps
        if self.lease.wish is not None and self.lease.wish.at == wish.at:
            self._book.apply(extension.staffed(self.lease, found, self._book.now))

    async def _check_observed(self) -> None:
        """Something was reported gone, stopped, or running again: look again before believing it (law 2)."""
        report = self.observed.pop(0)
        sighting = await self._look_or_unknown()
        now = self._book.now
        self._book.apply(life.observed(self.lease, sighting, report.reason or report.condition, report.at, now))
        kept = disks.judged(self.lease, sighting, now)
        if kept.events:
            self._book.apply(kept)
        unfit = faults.judged(self.lease, sighting.resources if sighting.knows(*LEASED) else (), now)
        if unfit.events:
            self._book.apply(unfit)

    async def _look_or_unknown(self) -> Sighting:
        try:
            return await calls.look(self.lease)
        except FailureError as error:
            return Sighting((), self._book.now, complete=False, problem=calls.reason(error))
