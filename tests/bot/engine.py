"""Workflows in memory: the engine applies the domain's own transitions and sends the workflow's notices, in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.notifier import SlackNotifier
from lessor import approvers
from lessor.contracts import Act, Answer, Delivery, Notice, Verb
from lessor.domain import extension, ownership, transitions
from lessor.domain.approval import waiting
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Lease, State
from lessor.domain.pending import Payer
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.terms import Terms
from lessor.engine import UnreachableError
from lessor.ledger import SqlLedger
from lessor.looking import Report
from lessor.ports import Directory, Submission
from tests.fakes import FakeCloud
from workflows import acts
from workflows.notices import notices

STEPS = (StepSpec("manager", ("group:managers",)),)


@dataclass
class FakeEngine:
    """Leases led by the domain; `down` and `hang` say what happens to calls meanwhile."""

    ledger: SqlLedger
    directory: Directory
    notifier: SlackNotifier
    cloud: FakeCloud
    clock: Callable[[], datetime]
    decision: Decision = field(
        default_factory=lambda: Decision(Outcome.REQUIRE, (Reason("large", "people decide"),), STEPS, "p1")
    )
    terms: Terms = field(default_factory=Terms)
    leases: dict[str, Lease] = field(default_factory=dict)
    told: list[tuple[str, Notice, Delivery]] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    down: bool = False
    hang: asyncio.Event | None = None
    quiet: bool = False
    starts: int = 0
    interactions: dict[str, str] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    extension: Decision = field(default_factory=lambda: Decision(Outcome.APPROVE, ()))
    _couriers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def start(self, submission: Submission) -> bool:
        await self._reachable()
        self.starts += 1
        if submission.lease_id in self.leases:
            return False
        now = self.clock()
        self.leases[submission.lease_id] = Lease(
            submission.lease_id, submission.request, submission.request.requester, now
        )
        await self.apply(transitions.submit(submission.lease_id, submission.request, now, self.terms))
        await self._assess(submission.lease_id)
        return True

    async def act(self, lease_id: str, act: Act) -> Answer | None:
        await self._reachable()
        async with self._locks[lease_id]:
            lease = self.leases.get(lease_id)
            if lease is None or lease.final:
                return None
            if act.id in self.answers:
                return self.answers[act.id]
            self.acts.append(act)
            person = await self.directory.person(act.by)
            assert person is not None
            now = self.clock()
            try:
                await self.apply(await self._effect(lease, act, person, now))
                answer = acts.accepted(self.leases[lease_id], act, now, self._words(act))
                await self._go_on(lease_id)
            except Refused as refusal:
                await self.apply(transitions.refused_attempt(lease, act.by, act.verb.value, refusal, now))
                answer = acts.refused(lease, act, refusal, now)
            self.answers[act.id] = answer
            return answer

    async def apply(self, change: Change, before: timedelta = timedelta()) -> None:
        """What the workflow does with a change: keep it, record it, tell people."""
        lease = change.lease
        self.leases[lease.id] = lease
        if change.events:
            await asyncio.to_thread(self.ledger.record, lease, change.events)
        for notice in notices(lease, change.events):
            self.tell(lease.id, notice, before)

    def tell(self, lease_id: str, notice: Notice, before: timedelta = timedelta()) -> None:
        """Queue one notice behind those that wait already."""
        if not self.quiet:
            earlier = self._couriers.get(lease_id)
            self._couriers[lease_id] = asyncio.ensure_future(self._deliver(earlier, lease_id, notice, before))

    async def settled(self) -> None:
        """Return when every notice has been delivered; raises what a delivery raised."""
        while waiting := [task for task in self._couriers.values() if not task.done()]:
            await asyncio.gather(*waiting)
        if self.problems:
            raise self.problems[0]

    async def close(self) -> None:
        for task in self._couriers.values():
            task.cancel()
        await asyncio.gather(*self._couriers.values(), return_exceptions=True)

    async def _deliver(
        self, earlier: asyncio.Task[None] | None, lease_id: str, notice: Notice, before: timedelta
    ) -> None:
        if earlier:
            await asyncio.wait({earlier})
        try:
            delivery = await self.notifier.notify(self.leases[lease_id], notice, before, self.clock())
            self.told.append((lease_id, notice, delivery))
        except Exception as error:
            self.problems.append(error)

    async def _effect(self, lease: Lease, act: Act, person: Person, now: datetime) -> Change:
        """What the workflow makes of an act; what it looks up first is looked up here in the directory."""
        to = await self.directory.person(act.to) if act.to else None
        if act.verb is Verb.TRANSFER:
            return ownership.offer(lease, to or Person(act.to, active=False), act.team, person.id, now)
        if act.verb is Verb.TAKE:
            team = self.directory.team(lease.transfer.team) if lease.transfer else None
            moves = team is not None and team.key != lease.request.team
            payer = Payer(team.key, team.cost_center, team.lead) if team and moves else None
            return ownership.take(lease, person, payer, now)
        if act.verb is Verb.DECLINE and lease.transfer:
            return ownership.decline(lease, person, now)
        if act.verb in (Verb.SHARE, Verb.UNSHARE):
            change = ownership.share if act.verb is Verb.SHARE else ownership.unshare
            return change(lease, to, person.id, now)
        if act.verb is Verb.EXTEND and act.until and self.extension.outcome is Outcome.REQUIRE:
            acts.transition(lease, act, person, now)
            steps = await approvers.staff(self.directory, self.extension.steps, lease.request.team, person, now)
            return extension.ask(lease, act.until, person, act.reason, steps, self.extension.reasons, now)
        return acts.transition(lease, act, person, now)

    def _words(self, act: Act) -> str:
        """The workflow has words of its own for these; what is shown is made from the lease."""
        moving = (Verb.TRANSFER, Verb.TAKE, Verb.DECLINE, Verb.SHARE, Verb.UNSHARE)
        return act.verb.value if act.verb in moving else ""

    async def _go_on(self, lease_id: str) -> None:
        """What the workflow does next by itself: judge a changed request again, ask the next step."""
        lease = self.leases[lease_id]
        if lease.state is State.REQUESTED:
            await self._assess(lease_id)
        elif lease.state is State.AWAITING_APPROVAL and any(one.asked_at is None for one in waiting(lease.steps)):
            requester = Person(lease.owner, tuple(lease.requester_ids))
            now = self.clock()
            found = await approvers.restaff(self.directory, lease.steps, lease.request.team, requester, now)
            await self.apply(transitions.asking_about(lease, found, now))

    async def _assess(self, lease_id: str) -> None:
        lease = self.leases[lease_id]
        request, now = lease.request, self.clock()
        owner = await self.directory.person(request.requester)
        assert owner is not None
        steps = await approvers.staff(self.directory, self.decision.steps, request.team, owner, now)
        quote = self.cloud.quote(request.need, request.place, request.market, now)
        await self.apply(transitions.assess(lease, quote, self.decision, steps, owner, now))

    async def look(self, schedule: str, report: type[Report]) -> Report:
        raise UnreachableError("no regular look runs here")

    async def _reachable(self) -> None:
        if self.hang:
            await self.hang.wait()
        if self.down:
            raise UnreachableError("Temporal cannot be reached now")
