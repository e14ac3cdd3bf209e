"""From the request to the approval that still holds when something is about to be created."""

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import calls
from workflows.book import Book
from workflows.rhythm import Rhythm

with workflow.unsafe.imports_passed_through():
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from lessor.contracts import Act, Answer, Assessment, Verb
    from lessor.domain import asking, changes, suspension, transitions
    from lessor.domain.approval import Step
    from lessor.domain.deadlines import Due
    from lessor.domain.lease import Change, State
    from lessor.domain.pending import Counter
    from lessor.domain.questions import waits_for_requester

QUOTE_HOLDS = timedelta(minutes=15)
"""A quote older than this is read again before anything is created."""

ASK_AGAIN = timedelta(minutes=10)
"""The pause before people are looked up once more when that has failed."""


class Approving(Rhythm):
    """The phases in which people decide. Silence approves nothing: it reminds, escalates, and lapses."""

    def __init__(self, book: Book, act: Callable[[Act], Awaitable[Answer]]) -> None:
        super().__init__(book)
        self._act = act

    async def _assess(self) -> None:
        accepted, before = self.lease.counter, self.lease.quote
        try:
            if self.lease.capacity is not None:
                await calls.give_back(self.lease)
            found = await calls.assess(self.lease)
        except FailureError as error:
            if self.lease.state is State.REQUESTED:
                why = f"the request could not be judged, nothing was created: {calls.reason(error)}"
                self._book.apply(transitions.deny_by_policy(self.lease, why, self._book.now))
            return
        if self.lease.state is not State.REQUESTED:
            return
        lease = suspension.given(self.lease, found.schedule, found.awake)
        change = transitions.assess(lease, found.quote, found.decision, found.steps, found.owner, self._book.now)
        self._book.apply(change)
        if change.lease.state is State.APPROVED:
            await self._reserve_or_deny()
        elif change.lease.state is State.AWAITING_APPROVAL and accepted and changes.stands(before, found.quote):
            await self._count(accepted)

    async def _count(self, accepted: Counter) -> None:
        """Whose changes were accepted has approved the result, unless it became dearer or has to be typed out."""
        await self._book.flush()
        note = f"approved with changes: {changes.describe(accepted.changes)}"
        await self._act(Act(f"accepted-{accepted.at.isoformat()}", Verb.APPROVE, accepted.by, note))

    async def _reserve_or_deny(self) -> None:
        try:
            await calls.reserve(self.lease)
        except FailureError as error:
            if self.lease.state is State.APPROVED:
                self._book.apply(transitions.deny_by_policy(self.lease, calls.reason(error), self._book.now))

    async def _await_decision(self) -> None:
        due = await self._sleep()
        if self.lease.state is not State.AWAITING_APPROVAL:
            return
        if due and due.due is Due.LAPSE:
            self._book.apply(transitions.lapse(self.lease, self._book.now))
        elif due or self.restaff:
            await self._ask()

    async def _ask(self) -> None:
        """Look up anew who decides, and ask, remind, or ask the next level as well. Nobody at all left: denied."""
        self.restaff = False
        steps = self.lease.steps
        try:
            found = await self._staffed(steps)
        except FailureError as error:
            if self.lease.state is State.AWAITING_APPROVAL and self.lease.steps == steps:
                self._book.apply(transitions.deny_by_policy(self.lease, calls.reason(error), self._book.now))
            return
        if found is not None and self.lease.state is State.AWAITING_APPROVAL:
            self._book.apply(transitions.asking_about(self.lease, found, self._book.now))

    async def _staffed(self, steps: tuple[Step, ...]) -> tuple[Step, ...] | None:
        """The steps with who decides them now. Raises `FailureError` when nobody is left who could.

        While the directory cannot be read those who were known go on being asked; an escalation waits for it: `None`.
        """
        paused = waits_for_requester(self.lease)
        overdue = frozenset[int]() if paused else asking.overdue(steps, self._book.now)
        try:
            return await calls.staff(self.lease, steps, overdue)
        except FailureError as error:
            if calls.was_refused(error):
                raise
            workflow.logger.warning("who decides %s could not be looked up: %s", self.lease.id, calls.reason(error))
            if not overdue:
                return steps
            await self._pause(ASK_AGAIN, "looks up again who else can decide")
            return None

    async def _outdated(self) -> bool:
        """Whether an approval that has waited no longer stands, since price, facts or policy moved (case F42)."""
        quote, state = self.lease.quote, self.lease.state
        if state not in transitions.TO_BE_CREATED or quote is None or self._book.now - quote.at < QUOTE_HOLDS:
            return False
        try:
            found = await calls.assess(self.lease)
        except FailureError as error:
            return self._book.lease.state is not state or await self._given_up(error)
        if self._book.lease.state is not state:
            return True
        if self._requoted(found).lease.state is state:
            self._book.apply(self._requoted(found))
            return False
        # Before anybody can approve it again: what a new approval takes must not be given back here.
        await calls.give_back(self.lease)
        if self._book.lease.state is state:
            self._book.apply(self._requoted(found))
        return True

    def _requoted(self, found: Assessment) -> Change:
        return transitions.requote(self.lease, found.quote, found.decision, found.steps, self._book.now)

    async def _given_up(self, error: FailureError) -> bool:
        """Whether it cannot be created any more; a price that cannot be read now is no reason, as people approved it.

        What others hold too is created for them, whether or not whoever asked is still there.
        """
        if not calls.was_refused(error) or self.lease.co_owners:
            workflow.logger.warning("the price of %s could not be read again: %s", self.lease.id, calls.reason(error))
            return False
        self._book.apply(transitions.impossible(self.lease, calls.reason(error), self._book.now))
        await calls.give_back(self.lease)
        return True
