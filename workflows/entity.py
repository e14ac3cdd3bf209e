"""What a lease's workflow answers and hears."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError

from workflows import calls, extending, owning
from workflows.book import KEEPS_LATE, Book, Courier
from workflows.life import Life
from workflows.updates import ActUpdates

with workflow.unsafe.imports_passed_through():
    from lessor import contracts, retries
    from lessor.contracts import (
        Act,
        Answer,
        LeaseInput,
        LeaseOutcome,
        Metered,
        Observed,
        OverBudget,
        OwnerLeft,
        Verb,
    )
    from lessor.domain import extension, idling, life, offboarding, transitions
    from lessor.domain.errors import Refused
    from lessor.domain.lease import Change, Lease, State
    from lessor.domain.people import Person
    from workflows.acts import accepted, attempted, malformed, refused, transition

ANSWERS_KEPT = 500
FROM_CARDS = "slack"
"""Where acts come from that somebody does to a message, which may be older than what it speaks of."""


class Entity(ActUpdates):
    """One lease among people: its updates, signals and query. The workflow that mixes this in leads its life."""

    def __init__(self, start: LeaseInput) -> None:
        self._answers: dict[str, Answer] = dict(start.answers)
        self._acting = asyncio.Lock()
        self._over = False
        if start.lease is None and start.request is None:
            # The run method refuses: an error here would leave the SDK with a coroutine that nobody awaits.
            return
        self._book = _book(start)
        if start.pages and workflow.patched(KEEPS_LATE):
            self._book.pages.extend(start.pages)
        self._courier = Courier(self._book, start.notices)
        self._book.on_events(self._courier.tell)
        if start.lease is not None and start.resumed:
            self._book.apply(life.resumed(start.lease, start.resumed, workflow.now()))
        self._life = Life(self._book, self._courier, self._act)

    @workflow.query(name=contracts.QUERY_LEASE)
    def lease(self) -> Lease:
        """The lease as the workflow knows it now."""
        return self._book.lease

    @workflow.signal(name=contracts.SIGNAL_ACT)
    async def act_recorded(self, act: Act) -> None:
        """The durable fallback: an act that no worker could answer in time, or that was sent twice."""
        if malformed(act):
            return
        answer = await self._act(act)
        if not answer.ok:
            self._courier.refuse()

    @workflow.signal(name=contracts.SIGNAL_OBSERVED)
    def observed(self, seen: Observed) -> None:
        """The watch saw a resource of this lease stopped or gone."""
        self._life.observed.append(seen)

    @workflow.signal(name=contracts.SIGNAL_RESTAFF)
    def restaff(self) -> None:
        """People have changed: those who are asked on this lease are looked up anew."""
        self._life.restaff = True

    @workflow.signal(name=contracts.SIGNAL_OWNER_LEFT)
    def owner_left(self, told: OwnerLeft) -> None:
        """The owner's account does not work any more."""
        left = offboarding.owner_left(self._book.lease, told.owner, told.circles, self._book.now, held=told.held)
        if left.events:
            self._book.apply(left)

    @workflow.signal(name=contracts.SIGNAL_METERED)
    def metered(self, told: Metered) -> None:
        """The meter tells what the lease is judged to be doing."""
        now = self._book.now
        self._book.apply(idling.metered(self._book.lease, told.evidence, told.terms, now, told.hours))

    @workflow.signal(name=contracts.SIGNAL_OVER_BUDGET)
    def over_budget(self, told: OverBudget) -> None:
        """The money that pays for it is used up, and its leases are to end."""
        self._book.apply(extension.cut_short(self._book.lease, told.scope, told.words, self._book.now))

    def _renewing(self) -> bool:
        return self._life.crowded

    async def _act(self, act: Act) -> Answer:
        unseen = act.via == FROM_CARDS and self._courier.behind(act.verb)
        while True:
            await workflow.wait_condition(lambda: act.verb is Verb.WITHDRAW or self._assessed())
            async with self._acting:
                if act.verb is Verb.WITHDRAW or self._assessed():
                    return await self._answered(act, unseen=unseen)

    async def _answered(self, act: Act, *, unseen: bool) -> Answer:
        if act.id in self._answers:
            return self._answers[act.id]
        person = await calls.identify(act.by)
        answer = await self._apply(act, person, unseen=unseen)
        await self._book.flush()
        self._answers[act.id] = answer
        self._life.acts += 1
        return answer

    async def _apply(self, act: Act, person: Person, *, unseen: bool) -> Answer:
        """The act's effect, or the refusal, both on record."""
        now = self._book.now
        try:
            if unseen:
                transition(self._book.lease, act, person, now)
                raise Refused("changed", "the request has just changed; look at its card again, nothing was decided")
            if owning.concerns(self._book.lease, act):
                return await self._moved(act, person)
            before = self._book.lease.state
            change = transition(self._book.lease, act, person, now)
            if before is State.AWAITING_APPROVAL and change.lease.state is State.APPROVED:
                change = await self._reserved(act, person)
            elif act.verb in extending.VERBS:
                change = await extending.change(self._book, act, person)
            elif act.verb in (Verb.EXEMPT, Verb.START):
                await self._committed(change.lease)
                change = transition(self._book.lease, act, person, self._book.now)
        except Refused as refusal:
            self._book.apply(attempted(self._book.lease, act, refusal, now))
            return refused(self._book.lease, act, refusal, now)
        self._book.apply(change)
        return accepted(self._book.lease, act, now)

    async def _moved(self, act: Act, person: Person) -> Answer:
        """An act that changes whose the lease is."""
        self._book.apply(await owning.change(self._book, act, person))
        return accepted(self._book.lease, act, self._book.now, owning.words(self._book.lease, act))

    async def _reserved(self, act: Act, person: Person) -> Change:
        """The approval once the team's quota is taken; judged again after the wait, since time has passed."""
        try:
            await calls.reserve(self._book.lease)
        except FailureError as error:
            raise Refused("quota", calls.reason(error)) from error
        try:
            return transition(self._book.lease, act, person, self._book.now)
        except Refused:
            await calls.give_back(self._book.lease)
            raise

    async def _committed(self, lease: Lease) -> None:
        """Take what a lease that is to run more needs of budgets, until it is recorded."""
        try:
            await calls.commit(lease)
        except FailureError as error:
            raise Refused("budget", calls.reason(error)) from error

    def _assessed(self) -> bool:
        """An approval that arrives before the price and policy are known waits for them, and counts (B09)."""
        return self._book.lease.state is not State.REQUESTED

    def _next_run(self) -> LeaseInput:
        kept = tuple(self._answers.items())[-ANSWERS_KEPT:]
        notices, pages = self._courier.waiting
        return LeaseInput(self._book.lease.id, lease=self._book.lease, answers=kept, notices=notices, pages=pages)


def without_request(lease_id: str) -> ApplicationError:
    """Why a workflow that was started by hand does nothing."""
    return ApplicationError(
        f"{lease_id} was started without a request; start leases with /gpu request or `lessor request`",
        type=retries.ErrorType.REFUSED,
        non_retryable=True,
    )


def outcome(lease: Lease) -> LeaseOutcome:
    """What the workflow of a lease that is over says of it."""
    now = workflow.now()
    hours = lease.hours(now).total_seconds() / 3600
    cost = lease.cost(now)
    return LeaseOutcome(lease.id, lease.state.value, str(cost) if cost else "unknown", round(hours, 4), lease.proof)


def _book(start: LeaseInput) -> Book:
    if start.lease is not None:
        return Book(start.lease)
    if start.request is None:
        raise without_request(start.lease_id)
    asked = transitions.submit(start.lease_id, start.request, workflow.now(), start.terms)
    book = Book(asked.lease)
    book.apply(asked)
    return book
