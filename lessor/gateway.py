"""The use cases: what people do through the bot, the command line or a page. The only user of the Temporal client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from lessor import approvers
from lessor.accounting import Accounting, Usage
from lessor.advising import Advice, Advising
from lessor.answering import of_ended
from lessor.attendance import Attendance
from lessor.casework import Casework
from lessor.contracts import Act, Answer, PeopleReport, SweepOutcome, Verb
from lessor.domain.absence import Absence
from lessor.domain.budget import BudgetRoom
from lessor.domain.errors import Invalid, Refused
from lessor.domain.identity import lease_id
from lessor.domain.kinds import meant
from lessor.domain.lease import OPEN, Lease
from lessor.domain.lookalike import lookalikes
from lessor.domain.people import Person
from lessor.domain.quota import Headroom
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need, Place, Request
from lessor.engine import Engine, TakenError, UnreachableError
from lessor.entering import Entering
from lessor.fleet import Surveying
from lessor.gauging import Gauging
from lessor.offering import Choices, ModelChoice, Offering, PlaceChoice, Submitted, also_seen
from lessor.overview import Overlooking
from lessor.ports import (
    Directory,
    DirectoryUnavailableError,
    LeaseIdTakenError,
    LeaseQuery,
    Ledger,
    PermanentError,
    Provider,
    ProviderError,
    StoredEvent,
    Submission,
    Team,
)
from lessor.revising import revised
from lessor.screening import Screening
from lessor.sweeping import sweep

__all__ = ["Choices", "Gateway", "ModelChoice", "Offering", "PlaceChoice", "Submitted"]

log = structlog.get_logger(__name__)

MAX_SALTS = 16


class Gateway:
    """One method per use case. Refusals are `Refused` or an `Answer` with `ok` false; both carry words for people."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        directory: Directory,
        providers: Mapping[str, Provider],
        offering: Offering,
        clock: Callable[[], datetime],
        fleet: Surveying | None = None,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._directory = directory
        self._providers = providers
        self._offering = offering
        self._clock = clock
        self._accounting = Accounting(ledger, offering.plan)
        self._attendance = Attendance(directory, ledger, clock)
        self._screening = Screening(offering, self._accounting, self.quote, clock)
        self.entering = Entering(providers, ledger, self.lease, self._known, clock)
        self.meter = Gauging(engine, ledger, self._known, clock, offering.metering, offering.idle)
        self.fleet = fleet or Surveying(ledger, {}, {}, tuple, clock)
        self.overlooking = Overlooking(ledger, directory, clock)

    async def choices(self, person_id: str) -> Choices:
        """Teams, places, models and limits of a person. Raises `Refused` ("unknown-person")."""
        person = await self._known(person_id)
        teams = tuple(team for key in person.teams if (team := self._directory.team(key)))
        models = also_seen(await asyncio.to_thread(self._offering.models), self.fleet.models())
        limits, projects = self._offering.limits(person), self._offering.plan().projects
        return Choices(person, teams, self._offering.places, models, limits, projects)

    async def quote(self, need: Need, place: Place, market: Market) -> Quote:
        """The price now. Raises `Refused` ("no-offer" with what is offered, or "place-unreachable")."""
        provider = self._providers.get(place.provider)
        if provider is None:
            raise Refused("no-offer", f"nothing is configured for {place.provider}")
        try:
            return await asyncio.to_thread(provider.quote, need, place, market, self._clock())
        except PermanentError as error:
            raise Refused("no-offer", str(error)) from error
        except ProviderError as error:
            raise Refused(
                "place-unreachable", f"{place} does not answer ({error}); the price is unknown now"
            ) from error

    async def check(self, request: Request) -> None:
        """Raise `Invalid` with one message per bad field; what cannot be known now is left to the assessment."""
        person = await self._known(request.requester)
        errors = await self._screening.errors(request, person)
        if errors:
            raise Invalid(errors)

    async def submit(self, request: Request, *, anyway: bool = False) -> Submitted:
        """Keep the request, then start its workflow. The same interaction makes one lease, however often it comes."""
        await self.check(request)
        if not anyway:
            similar = await self._similar(request)
            if similar:
                return Submitted("", similar=similar)
        kept = await self._keep(self._completed(request))
        return await self._start(kept, existing=kept.started)

    async def act(self, lease_id: str, act: Act) -> Answer:
        """One person's act. A refusal is an answer; raises `Refused` ("unreachable", "not-found") if there is none.

        What a request is to become is checked as in `check`, and raises as that.
        """
        if act.verb is Verb.REVISE and (wanted := revised(await self.lease(lease_id), act, self._clock())):
            await self.check(wanted)
        try:
            answer = await self._engine.act(lease_id, act)
        except UnreachableError as error:
            raise Refused("unreachable", f"{error}; nothing was changed, try again in a minute") from error
        if answer is None:
            return of_ended(await self.lease(lease_id), act)
        who = await self.who_decides(await self.lease(lease_id)) if answer.code == "not-approver" else ""
        return replace(answer, message=who) if who else answer

    async def lease(self, lease_id: str) -> Lease:
        """The lease as the ledger has it. Raises `Refused` ("not-found")."""
        lease = await asyncio.to_thread(self._ledger.lease, lease_id)
        if lease is None:
            raise Refused("not-found", f"there is no lease {lease_id[:40]}; see yours with /gpu list or `lessor list`")
        return lease

    async def leases(self, query: LeaseQuery) -> tuple[Lease, ...]:
        return await asyncio.to_thread(self._ledger.leases, query)

    async def events(self, lease_id: str) -> tuple[StoredEvent, ...]:
        """Everything on record about a lease, oldest first. Raises `Refused` ("not-found")."""
        await self.lease(lease_id)
        return await asyncio.to_thread(self._ledger.events, lease_id)

    async def person(self, any_id: str) -> Person | None:
        return await self._directory.person(any_id)

    def team(self, key: str) -> Team | None:
        """The team with this key, as the configuration has it."""
        return self._directory.team(key)

    async def named(self, text: str) -> Person:
        """The one person whom a name, login, mention, address or id means. Raises `Refused` ("unresolved")."""
        return await self._attendance.named(text)

    async def away(self, person_id: str, until: datetime, delegate_id: str = "") -> Absence:
        """The person is away until then, and `delegate_id` stands in. Raises `Refused` with words for the person."""
        return await self._attendance.away(person_id, until, delegate_id)

    async def back(self, person_id: str) -> Person:
        """The person decides again; `away_until` is still set where their status in Slack says so."""
        return await self._attendance.back(person_id)

    async def look(self, person_id: str, *, people: bool = False) -> SweepOutcome | PeopleReport:
        """One look over all places, or over all people, now. Raises `Refused` ("not-admin", "unreachable", ...)."""
        return await sweep(self._engine, await self._known(person_id), people=people)

    async def eligible(self, lease: Lease) -> tuple[Person, ...]:
        """Who can decide now: active, distinct people of the steps that wait, and those who stand in for them.

        Raises `Refused` ("unreachable") while nobody knows who belongs to a group.
        """
        try:
            return await approvers.deciding(self._directory, lease, self._clock())
        except DirectoryUnavailableError as error:
            raise Refused("unreachable", str(error)) from error

    async def who_decides(self, lease: Lease) -> str:
        """Who can decide what waits on a lease, step by step and by name; empty where nobody knows now."""
        return await approvers.told(self._directory, lease, self._clock())

    async def headroom(self, team: str, model: str, project: str = "", person_id: str = "") -> tuple[Headroom, ...]:
        """The ceilings for GPUs at once that a lease of `model` counts against, with what is used now."""
        account = self._offering.plan().account(team, project, person_id)
        return await asyncio.to_thread(self._accounting.headroom, account, model)

    async def budget_rooms(self, request: Request, quote: Quote | None) -> tuple[BudgetRoom, ...]:
        """The monthly ceilings that a request counts against, with what it would add at this price."""
        lease = Lease("", request, request.requester, self._clock(), quote=quote)
        return await asyncio.to_thread(self._accounting.budgets, lease, self._clock())

    async def around(self, lease: Lease, now: datetime) -> tuple[tuple[Headroom, ...], tuple[BudgetRoom, ...]]:
        """The ceilings that a lease counts against, with what all others have of them, for cards."""
        return await self._accounting.around(lease, now)

    async def advice(self, request: Request, quote: Quote | None) -> Advice | None:
        """What policy and ceilings would say of a request that is not sent yet; `None` where the policy is not at hand.

        Raises `Refused` ("unknown-person").
        """
        if self._offering.judge is None:
            return None
        advising = Advising(self._offering.judge, Casework(self._ledger, self._offering.plan), self._clock)
        person = await self._known(request.requester)
        return await asyncio.to_thread(advising.advice, self._completed(request), quote, person)

    async def team_usage(self, team: str) -> Usage:
        """What a team holds now and takes of this month, with its ceilings. Raises `Refused` ("no-team")."""
        if self._directory.team(team) is None:
            raise Refused("no-team", f"there is no team '{team[:40]}'; see yours with `lessor quota`")
        account = self._offering.plan().account(team, "", "")
        return await asyncio.to_thread(self._accounting.usage, account, self._clock())

    async def person_usage(self, person: Person) -> Usage:
        """The same for one person, in whatever team."""
        account = self._offering.plan().account("", "", person.id)
        return await asyncio.to_thread(self._accounting.usage, account, self._clock())

    async def start_unstarted(self) -> int:
        """Start what was kept while Temporal could not be reached; how many were started."""
        kept = await asyncio.to_thread(self._ledger.unstarted)
        started = 0
        for submission in kept:
            done = await self._start(submission, existing=False)
            if done.recorded_only:
                break
            started += 1
        return started

    async def _known(self, person_id: str) -> Person:
        person = await self._directory.person(person_id)
        if person is None or not person.active:
            raise Refused(
                "unknown-person",
                f"{person_id[:40]} is not an active person of this organisation; an administrator can add people "
                "in lessor.yaml under organisation.people",
            )
        return person

    async def _similar(self, request: Request) -> tuple[str, ...]:
        person = await self._known(request.requester)
        query = LeaseQuery(owner_ids=tuple(person.all_ids), states=tuple(s.value for s in OPEN))
        mine = await asyncio.to_thread(self._ledger.leases, query)
        waiting = await asyncio.to_thread(self._ledger.unstarted)
        return lookalikes(request, person, mine, waiting, self._clock())

    def _completed(self, request: Request) -> Request:
        """With what the team's entry and the place say now: later changes of them do not rewrite the lease."""
        kinds = {place.name: place.kinds for place in self._offering.places}
        request = replace(request, kind=meant(request.kind, request.place.name, kinds))
        team = self._directory.team(request.team)
        if team is None:
            return request
        return replace(request, cost_center=request.cost_center or team.cost_center, lead=team.lead)

    async def _keep(self, request: Request) -> Submission:
        for salt in range(MAX_SALTS):
            wanted = Submission(request.interaction, lease_id(request.interaction, salt), request, self._clock())
            try:
                return await asyncio.to_thread(self._ledger.accept, wanted)
            except LeaseIdTakenError:
                log.info("lease-id-taken", lease_id=wanted.lease_id, salt=salt)
        raise Refused("no-id", "no free lease id was found; nothing was kept, please send the request again")

    async def _start(self, kept: Submission, *, existing: bool) -> Submitted:
        """Start the workflow of a kept request, under another id if a foreign workflow has this one."""
        for salt in range(1, MAX_SALTS):
            try:
                started = await self._engine.start(kept)
            except UnreachableError as error:
                log.warning("temporal-unreachable", lease_id=kept.lease_id, why=str(error))
                return Submitted(kept.lease_id, existing, recorded_only=True)
            except TakenError:
                other = lease_id(kept.interaction, salt)
                kept = await asyncio.to_thread(self._ledger.reassign, kept.interaction, other)
                continue
            await asyncio.to_thread(self._ledger.started, kept.lease_id, kept.interaction)
            return Submitted(kept.lease_id, existing or not started)
        raise Refused("no-id", "no free lease id was found; the request was kept, please tell an administrator")
