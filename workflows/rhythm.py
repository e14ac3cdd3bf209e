"""When a lease's workflow sleeps, what wakes it, and when it continues as new."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from workflows import calls, people_calls
from workflows.book import Book

with workflow.unsafe.imports_passed_through():
    from datetime import datetime, timedelta

    from lessor.contracts import Observed
    from lessor.domain import deadlines, life, offboarding, ownership
    from lessor.domain.deadlines import Deadline, Due
    from lessor.domain.lease import IN_USE, Lease, State

HISTORY_LIMIT = 8_000
ACTS_LIMIT = 1_500
"""Acts in one run after which the workflow continues as new; the server refuses the 2,001st update of a run."""

ACTS_MOST = 1_700
"""From here on a run takes none: when they come without a pause, it would not come to rest before that limit."""


class Rhythm:
    """The pulse under a lease's life: deadlines, disturbances, and chores that run beside it."""

    def __init__(self, book: Book) -> None:
        self.cancelled = False
        self.restaff = False
        self.observed: list[Observed] = []
        self.acts = 0
        self.watching = False
        self._book = book
        self._chores: set[asyncio.Task[None]] = set()
        self._end_on_resources = book.lease.runs_until
        self._owner_on_resources = ownership.holder(book.lease)

    @property
    def lease(self) -> Lease:
        return self._book.lease

    async def _sleep(self) -> Deadline | None:
        """Sleep until the next deadline; returns it when it is due, `None` when something else happened first."""
        self._keep_owner_on_resources()
        watching = self.watching
        deadline = deadlines.next_deadline(self.lease, self._book.now, idle=not watching)
        wait = deadline.at - self._book.now if deadline else None
        if wait is not None and wait <= timedelta():
            return self._or_offer_ended(deadline)
        changes = self._book.changes
        try:
            await workflow.wait_condition(
                lambda: self._book.changes != changes or self.watching != watching or self._disturbed(),
                timeout=wait,
                timeout_summary=deadline.summary[:200] if deadline else None,
            )
        except TimeoutError:
            if deadline:
                self._book.reach(deadline.at)
            # Something may have happened together with the timer.
            return None if self._book.changes != changes else self._or_offer_ended(deadline)
        return None

    def _or_offer_ended(self, due: Deadline | None) -> Deadline | None:
        """An offer that ends concerns no phase: it is dealt with here, and the phase looks again."""
        if due is None or due.due is not Due.OFFER:
            return due
        self._book.apply(offboarding.offer_ended(self.lease, self._book.now))
        return None

    async def _pause(self, length: timedelta, why: str) -> None:
        changes = self._book.changes
        try:
            await workflow.wait_condition(
                lambda: self._book.changes != changes or self.cancelled, timeout=length, timeout_summary=why
            )
        except TimeoutError:
            return

    def _disturbed(self) -> bool:
        return self.cancelled or self._reported() or self._renewal_due() or self._people_changed()

    def _people_changed(self) -> bool:
        return self.restaff and (self.lease.state is State.AWAITING_APPROVAL or self.lease.wish is not None)

    def _reported(self) -> bool:
        """Whether something was seen of a lease in use or in grace; what is seen of any other we did ourselves."""
        return self.lease.state in (*IN_USE, State.STOPPED) and bool(self.observed)

    def _renewal_due(self) -> bool:
        """Time to continue as new, and nothing is under way that the next run could misread."""
        quiet = self.lease.state in (
            State.AWAITING_APPROVAL,
            State.APPROVED,
            State.WAITING_FOR_CAPACITY,
            *IN_USE,
            State.STOPPED,
            State.BLOCKED,
        )
        info = workflow.info()
        large = info.is_continue_as_new_suggested() or info.get_current_history_length() > HISTORY_LIMIT
        return quiet and not self._open_matters() and (large or self.acts >= ACTS_LIMIT)

    @property
    def crowded(self) -> bool:
        """Whether acts have come without a pause for so long that this run could not be renewed."""
        return self.acts >= ACTS_MOST

    def _open_matters(self) -> bool:
        """Whether something is known, or under way, that the next run would not know."""
        heard = self._reported() or self._people_changed()
        return bool(self._chores) or self._book.unrecorded or heard or self._unwritten()

    def _unwritten(self) -> bool:
        """Whether the resources of a lease still say another end, or another owner, than holds now."""
        end = self.lease.state in IN_USE and self.lease.runs_until != self._end_on_resources
        kept = self.lease.state in (*IN_USE, State.STOPPED) and bool(self.lease.resources)
        return end or (kept and ownership.holder(self.lease) != self._owner_on_resources)

    def _drop_chores(self) -> None:
        for chore in list(self._chores):
            chore.cancel()

    def _keep_end_on_resources(self) -> None:
        """Write a moved end on the resources beside everything else: it is retried until it holds (law 10)."""
        ends_at = self.lease.runs_until
        if ends_at is not None and ends_at != self._end_on_resources:
            self._end_on_resources = ends_at
            self._beside(self._set_end(ends_at))

    def _keep_owner_on_resources(self) -> None:
        """Write a new owner or payer on the resources, beside everything else as well."""
        holder = ownership.holder(self.lease)
        if holder != self._owner_on_resources:
            there = bool(self.lease.resources)
            # What is being made carries those whose it was when that began: they are written once it is there.
            if there or self.lease.state is not State.PROVISIONING:
                self._owner_on_resources = holder
            if there:
                self._beside(self._set_owner())

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        chore = asyncio.create_task(work)
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    async def _set_owner(self) -> None:
        try:
            await people_calls.set_owner(self.lease)
        except FailureError as error:
            if not is_cancelled_exception(error):
                self._book.apply(ownership.owner_unwritten(self.lease, calls.reason(error), self._book.now))
                await self._book.flush()

    async def _set_end(self, ends_at: datetime) -> None:
        try:
            await calls.set_end(self.lease, ends_at)
        except FailureError as error:
            if not is_cancelled_exception(error):
                self._book.apply(life.end_unwritten(self.lease, calls.reason(error), self._book.now))
                await self._book.flush()
