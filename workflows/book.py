"""A lease inside its workflow: the state, what still has to be recorded, and the messages still to be sent."""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import calls, late
from workflows.late import Late, Message

with workflow.unsafe.imports_passed_through():
    from lessor import search_attributes
    from lessor.contracts import Delivery, Notice, NotifyInput, PageInput, Verb
    from lessor.domain.lease import Change, Event, Lease
    from lessor.domain.untold import untold
    from workflows.details import details
    from workflows.notices import notices


_ANEW = dict.fromkeys(("changes-accepted", "revised", "price-rose", "facts-changed"), Notice.REQUEST)
ASKED_ANEW = _ANEW | {"extension-asked": Notice.EXTENSION_ASKED}
"""After these events a click on a card of this kind from before would decide what its reader has not seen."""

CARDS = {Verb.APPROVE: Notice.REQUEST, Verb.GRANT: Notice.EXTENSION_ASKED}
"""The cards on which people approve something."""

KEEPS_LATE = "late-messages"
"""Since when a run keeps messages that do not get through, and records those that it gives up."""

Listener = Callable[[Lease, tuple[Event, ...]], None]


class Book:
    """Holds the lease. Every change goes through `apply`, and is in the ledger once `flush` has returned."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self._reached = lease.requested_at
        self._unrecorded: list[Event] = []
        self._dirty = False
        self._recording = asyncio.Lock()
        self._shown = search_attributes.shown(workflow.info().typed_search_attributes)
        self._listener: Listener | None = None
        self.changes = 0
        self.recorded = lease.revision
        self.pages: deque[PageInput] = deque()
        """What the ledger wants people to be told that is not the matter of this lease alone."""

    @property
    def now(self) -> datetime:
        """The time by which the lease is judged: never before a deadline that was slept through.

        Two things would let it be: the clocks of two server machines differ; and a workflow that is replayed after a
        local activity outlasted its task reads a later time there than it read then, so its deadlines are later, too.
        """
        return max(workflow.now(), self._reached)

    def reach(self, at: datetime) -> None:
        """The timer for `at` has fired."""
        self._reached = max(self._reached, at)

    @property
    def unrecorded(self) -> bool:
        """Whether something was applied that no `flush` has begun to record."""
        return self._dirty

    def on_events(self, listener: Listener) -> None:
        """Call `listener` with the lease and its new events at every change."""
        self._listener = listener

    def apply(self, change: Change) -> None:
        """Take the change over; recorded by the next `flush`."""
        self.note(change)
        self.changes += 1
        if self._listener and change.events:
            self._listener(change.lease, change.events)

    def note(self, change: Change) -> None:
        """Take over what is for the record only: it wakes nobody and calls for no message."""
        self.lease = change.lease
        self._unrecorded.extend(change.events)
        self._dirty = self._dirty or bool(change.events)

    async def flush(self) -> None:
        """Return when everything applied so far is in the ledger; shows the new state in the Temporal UI."""
        async with self._recording:
            while self._dirty:
                lease, events = self.lease, tuple(self._unrecorded)
                self._unrecorded.clear()
                self._dirty = False
                self.pages.extend(await calls.record(lease, events))
                self.recorded = lease.revision
        self.show()

    def show(self) -> None:
        """Write what changed into the search attributes, where the lease comes to rest, and the current details."""
        workflow.set_current_details(details(self.lease, self.now))
        if search_attributes.in_passing(self.lease):
            return
        wanted = search_attributes.of(self.lease)
        update = search_attributes.updates(self._shown, wanted)
        if update:
            workflow.upsert_search_attributes(update)
        self._shown = wanted


class Courier:
    """Sends messages one after the other beside the lease's life, so that a slow Slack delays nothing."""

    def __init__(self, book: Book, waiting: tuple[NotifyInput, ...] = ()) -> None:
        self._book = book
        self._queue = deque(waiting)
        self._late = Late(self._settled)
        self._busy = False
        self._asked_anew = {w.notice: w.revision for w in waiting if w.notice in CARDS.values()}
        self._shown: dict[Notice, int] = {}

    @property
    def idle(self) -> bool:
        """Whether the run may end: late messages go on in the next one, and hold up one that has no next."""
        busy = self._busy or self._late.settling or (self._book.lease.final and bool(self._late.waiting))
        return not busy and not self._queue and not self._book.pages

    @property
    def waiting(self) -> tuple[tuple[NotifyInput, ...], tuple[PageInput, ...]]:
        """Notices and pages that the next run has to send."""
        left = (*self._queue, *self._book.pages, *self._late.waiting)
        return (
            tuple(one for one in left if isinstance(one, NotifyInput)),
            tuple(one for one in left if isinstance(one, PageInput)),
        )

    def tell(self, lease: Lease, events: tuple[Event, ...]) -> None:
        """Queue what these events call for; a message that still waits is overtaken by a newer one of its kind."""
        self._asked_anew |= {ASKED_ANEW[e.type]: lease.revision for e in events if e.type in ASKED_ANEW}
        for notice in notices(lease, events):
            self._late.overtake(notice)
            self._queue = deque(w for w in self._queue if w.notice is not notice)
            self._queue.append(NotifyInput(lease.id, notice, lease.revision))

    def refuse(self) -> None:
        """Queue the answer to somebody whose act was recorded and had no effect: nobody waits for it any more."""
        self.redraw(Notice.REFUSED)

    def redraw(self, notice: Notice) -> None:
        """Queue this once more: what was just sent says what no longer holds."""
        self._queue.append(NotifyInput(self._book.lease.id, notice, self._book.lease.revision))

    async def run(self, finished: Callable[[], bool]) -> None:
        """Deliver until `finished` and nothing is waiting. What cannot be delivered is on record and given up."""
        while True:
            await workflow.wait_condition(lambda: self._sendable() or (finished() and self._empty()))
            if not self._sendable():
                return
            self._busy = True
            await self._send(self._book.pages.popleft() if self._book.pages else self._queue.popleft())
            self._busy = False

    def behind(self, verb: Verb) -> bool:
        """Whether the cards on which people do this show something else, or another price, than what is asked now."""
        card = CARDS.get(verb)
        return card is not None and self._shown.get(card, 0) < self._asked_anew.get(card, 0)

    def _empty(self) -> bool:
        return not self._queue and not self._late.settling

    def _sendable(self) -> bool:
        """Whether the ledger has what the next message speaks of; sent earlier, it would only be tried again."""
        return bool(self._book.pages) or (bool(self._queue) and self._book.recorded >= self._queue[0].revision)

    async def _send(self, wanted: Message) -> None:
        """One message; what does not get through by now is tried on beside those behind it."""
        lasting = late.KEPT_AT_THE_END if self._book.lease.final else late.KEPT_FOR
        if wanted.until is not None and workflow.patched(KEEPS_LATE):
            self._late.take(wanted, lasting)
            return
        try:
            problem = late.without(await late.send(wanted))
        except ActivityError as error:
            problem = calls.reason(error)
            if late.may_pass(error) and workflow.patched(KEEPS_LATE):
                workflow.logger.warning("%s of %s is late: %s", late.kind(wanted), self._book.lease.id, problem)
                self._late.take(wanted, lasting)
                for behind in self._queue:
                    self._late.overtake(behind.notice)
                return
        await self._settled(wanted, problem)

    async def _settled(self, wanted: Message, problem: str) -> None:
        """The message was delivered or, with a problem, is given up."""
        if isinstance(wanted, NotifyInput):
            self._shown[wanted.notice] = max(wanted.revision, self._shown.get(wanted.notice, 0))
        if not problem:
            return
        lease, what = self._book.lease, late.kind(wanted)
        workflow.logger.warning("nobody could be told %s of %s: %s", what, lease.id, problem)
        if workflow.patched(KEEPS_LATE):
            self._book.note(untold(lease, what, problem, self._book.now))
            await self._book.flush()

    async def warn(self, before: timedelta) -> Delivery:
        return await self.say(Notice.WARNING, before)

    async def say(self, notice: Notice, before: timedelta = timedelta()) -> Delivery:
        """One message now, past those that wait. Never raises: not being able to reach anybody is an answer."""
        lease = self._book.lease
        try:
            return await calls.notify(NotifyInput(lease.id, notice, lease.revision, before))
        except ActivityError as error:
            problem = str(error.cause or error)
            workflow.logger.warning("nobody could be told %s of %s: %s", notice, lease.id, problem)
            return Delivery(False, problem=problem)
