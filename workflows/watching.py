"""A lease that does nothing: another look before each step, the warnings, the stop. The domain judges what was seen."""

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls, meter_calls
from workflows.approving import Approving
from workflows.book import Book, Courier

with workflow.unsafe.imports_passed_through():
    from collections.abc import Awaitable, Callable

    from lessor.contracts import Act, Answer, Clearance, Metered, Notice
    from lessor.domain import idling, rungs
    from lessor.domain.deadlines import Deadline, Due
    from lessor.domain.idle import Evidence, IdleTerms, Verdict
    from lessor.domain.ladder import Rung


class Watching(Approving):
    """The ladder of an idle lease. A lease of which the meter tells nothing never comes here."""

    def __init__(self, book: Book, courier: Courier, act: Callable[[Act], Awaitable[Answer]]) -> None:
        super().__init__(book, act)
        self._courier = courier

    def _watch(self, due: Deadline) -> None:
        """What is due on the ladder, beside everything else: a slow source or a slow Slack puts no end date off."""
        self.watching = True
        self._beside(self._take_step(due))

    async def _take_step(self, due: Deadline) -> None:
        try:
            await self._step(due)
            await self._book.flush()
        finally:
            self.watching = False

    async def _step(self, due: Deadline) -> None:
        if due.due is Due.IDLE_LOOK:
            await self._look_for_work()
        elif due.due is Due.IDLE_STOP:
            await self._stop_idle()
        else:
            await self._warn_idle(Rung.FINAL if due.due is Due.IDLE_FINAL else Rung.WARN)

    async def _look_for_work(self) -> None:
        try:
            told = await meter_calls.look_again(self.lease)
        except FailureError as error:
            told = self._unknown(calls.reason(error))
        now = self._book.now
        self._book.apply(idling.found(self.lease, told.evidence, told.terms, now, told.hours, on_record=True))

    async def _warn_idle(self, rung: Rung) -> None:
        """Warn if it is still idle. Whoever spoke while the message was on its way reads that it is over instead."""
        await self._look_for_work()
        if not idling.deliverable(self.lease, rung, self._book.now):
            return
        await self._book.flush()
        before = self.lease
        delivery = await self._courier.say(Notice.IDLE_FINAL if rung is Rung.FINAL else Notice.IDLE_WARNING)
        now = self._book.now
        if not idling.still_on(before, self.lease):
            if delivery.delivered:
                self._courier.redraw(Notice.IDLE_OVER)
        elif delivery.delivered:
            self._book.apply(idling.warned(self.lease, rung, delivery.via, now, owner=delivery.owner))
        else:
            self._book.apply(idling.undelivered(self.lease, delivery.problem, now))

    async def _stop_idle(self) -> None:
        """Stop what the last look and the brake clear, unless something was said or done meanwhile (laws 2 and 5)."""
        before = self.lease
        clearance = await self._clearance()
        told, now = clearance.metered or self._unknown(clearance.why), self._book.now
        self._book.apply(idling.found(self.lease, told.evidence, told.terms, now, told.hours))
        if not (idling.still_on(before, self.lease) and idling.deliverable(self.lease, Rung.STOP, now)):
            return
        if not clearance.clear or told.evidence.missed:
            why = clearance.why or f"the latest look was not whole: {told.evidence.problem}"
            self._book.apply(idling.held_back(self.lease, why, now))
        elif rungs.outdated(self.lease, now):
            self._book.apply(idling.anew(self.lease, now))
        else:
            self._book.apply(idling.stop(self.lease, told.evidence, now))

    async def _clearance(self) -> Clearance:
        try:
            return await meter_calls.clear_to_stop(self.lease)
        except FailureError as error:
            return Clearance(False, calls.reason(error))

    def _unknown(self, problem: str) -> Metered:
        """What could not be read is unknown, and unknown never leads on (law 1)."""
        now, ladder = self._book.now, self.lease.idle
        return Metered(Evidence(Verdict.UNKNOWN, now, now, problem=problem), ladder.terms if ladder else IdleTerms())
