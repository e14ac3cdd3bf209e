"""The bot as it runs, in front of the Slack sandbox; behind it the real gateway and ledger, and workflows in memory.

The engine here applies the domain's own transitions and sends the notices that the workflow would send, in order.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp

from bot.app import build_app
from bot.desk import Desk
from bot.directory import SlackDirectory
from bot.installation import introduce
from bot.notifier import SlackNotifier
from bot.people import People
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor import approvers
from lessor.accounting import Accounting
from lessor.contracts import Act, Answer, Delivery, Notice, Verb
from lessor.domain import extension, life, ownership, transitions
from lessor.domain.approval import waiting
from lessor.domain.case import Judge
from lessor.domain.errors import Refused
from lessor.domain.lease import Change, Lease, State
from lessor.domain.pending import Payer
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.quota import Ceiling, Kind, QuotaPlan
from lessor.domain.request import Limits, Market, Need, Place
from lessor.domain.terms import Terms
from lessor.engine import UnreachableError
from lessor.gateway import Gateway, ModelChoice, Offering, PlaceChoice
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import Directory, Submission, Team
from lessor.rendering import slack_renderer
from lessor.sandbox.slack import RunningSandbox
from tests.builders import RESOURCES, a_person, a_request
from tests.fakes import FakeCloud, FakeDirectory
from workflows import acts
from workflows.notices import notices

REQUESTER = a_person("U0REQUESTER", ids=("U0REQUESTER", "W0REQUESTER"), teams=("research",), tz="Europe/Berlin")
MANAGER = a_person("U0MANAGER", teams=("research",), leads=("research",), groups=("managers",))
MANAGER_2 = a_person("U0MANAGER2", teams=("research",), groups=("managers",))
FINANCE = a_person("U0FINANCE", teams=(), groups=("finance",))
ADMIN = a_person("U0ADMIN", teams=(), admin=True)
PEOPLE = (REQUESTER, MANAGER, MANAGER_2, FINANCE, ADMIN)
TEAM = Team("research", "Research", lead="U0MANAGER", channel="team-research")
PLACE = PlaceChoice("us", "AWS in the US", "aws", ("us-east-1",), (), (Market.ON_DEMAND, Market.SPOT))
MODELS = (ModelChoice("A100-80GB", "A100 80 GB", 80, (1, 2, 4, 8)), ModelChoice("L4", "L4 24 GB", 24, (1, 4, 8)))
STEPS = (StepSpec("manager", ("group:managers",)),)
PLAN = QuotaPlan(
    (
        Ceiling("team:research", Decimal(8), model="A100-80GB"),
        Ceiling("team:research", Decimal(100_000), Kind.MONEY),
    )
)
SETTINGS = SlackSettings("Sandbox", "gpu-approvals", "gpu-requests", "gpu-admins")


class Clock:
    """Real time, moved by as much as a test says."""

    def __init__(self) -> None:
        self.moved = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.moved


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

    async def _reachable(self) -> None:
        if self.hang:
            await self.hang.wait()
        if self.down:
            raise UnreachableError("Temporal cannot be reached now")


@dataclass
class World:
    """Everything that a test touches."""

    slack: RunningSandbox
    engine: FakeEngine
    gateway: Gateway
    desk: Desk
    directory: FakeDirectory
    profiles: SlackDirectory
    ledger: SqlLedger
    cloud: FakeCloud
    clock: Clock
    client: SlackClient
    app: AsyncApp

    async def settled(self) -> None:
        """Return when the work behind all acknowledgements and all notices is done."""
        await asyncio.sleep(0)
        while self.desk.background.busy:
            await self.desk.background.idle()
            await self.engine.settled()
        await self.engine.settled()

    async def deliveries(self, kind: str, count: int) -> list[dict[str, Any]]:
        """The attempts to reach the bot of one kind, once there are so many."""

        async def enough() -> list[dict[str, Any]] | None:
            found = await self.slack.deliveries(kind)
            return found if len(found) >= count else None

        return await self.slack.wait_until(enough, what=f"{count} deliveries of {kind}")

    def forget_profiles(self) -> None:
        """As if the profiles that the bot remembers had grown old."""
        self.profiles.forget()

    async def ask(self, **changes: Any) -> Lease:
        """A request that waits for a decision, with its cards posted."""
        number = len(self.engine.leases) + 1
        fields = {
            "requester": REQUESTER.id,
            "team": "research",
            "place": Place("aws", "us", "us-east-1"),
            "need": Need("A100-80GB", 2),
            "interaction": f"test:{number}",
        }
        done = await self.gateway.submit(a_request(**(fields | changes)), anyway=True)
        await self.settled()
        return self.engine.leases[done.lease_id]

    async def act(self, lease: Lease, verb: Verb, by: str, **fields: Any) -> Answer:
        """An act of somebody, and everything that it brings about."""
        number = len(self.engine.answers)
        answer = await self.gateway.act(lease.id, Act(f"test:{lease.id}:{number}", verb, by, **fields))
        await self.settled()
        return answer

    async def move(self, lease: Lease, transition: Callable[..., Change], *values: Any, **named: Any) -> Lease:
        """What time or the provider bring: a transition of the domain, and its notices."""
        change = transition(self.engine.leases[lease.id], *values, **named)
        await self.engine.apply(change)
        await self.settled()
        return change.lease

    async def running(self, lease: Lease, access: str = "aws ssm start-session --target i-0aaa") -> Lease:
        """The lease approved, provisioned and usable from now on."""
        await self.act(lease, Verb.APPROVE, MANAGER.id)
        now = self.clock()
        await self.move(lease, life.start_provisioning, now)
        hourly = lease.quote.offer.hourly if lease.quote else None
        return await self.move(lease, life.ready, RESOURCES, access, now, hourly, now)

    async def warn(self, lease: Lease, before: timedelta) -> Delivery:
        """One warning, delivered."""
        self.engine.tell(lease.id, Notice.WARNING, before)
        await self.settled()
        return self.engine.told[-1][2]

    @property
    def people(self) -> People:
        """Whom a typed name means, asked anew."""
        return self._people

    def __post_init__(self) -> None:
        self._people = People(self.client)

    def only_lease(self) -> Lease:
        (lease,) = self.engine.leases.values()
        return lease


def _limits(person: Person, places: tuple[PlaceChoice, ...], data: tuple[str, ...]) -> Limits:
    return Limits(person.teams, tuple(one.name for one in places), schedules=("office",), data=data)


@asynccontextmanager
async def a_world(
    slack: RunningSandbox,
    database_url: str,
    *,
    connect: bool = True,
    settings: SlackSettings = SETTINGS,
    models: Callable[[], tuple[ModelChoice, ...]] = lambda: MODELS,
    places: tuple[PlaceChoice, ...] = (PLACE,),
    engine: FakeEngine | None = None,
    client: Callable[..., SlackClient] = SlackClient,
    plan: QuotaPlan = PLAN,
    judge: Judge | None = None,
    data: tuple[str, ...] = (),
) -> AsyncIterator[World]:
    """The bot connected to `slack`. With `engine` it is another replica before the same workflows."""
    async with aiohttp.ClientSession() as session:
        api = client(slack.bot_token, base_url=slack.api_url, session=session)
        clock = Clock()
        people = FakeDirectory(PEOPLE, [TEAM])
        ledger = engine.ledger if engine else open_ledger(database_url)
        directory = SlackDirectory(people, api)
        cloud = FakeCloud(clock)
        rooms = Accounting(ledger, lambda: plan).around
        notifier = SlackNotifier(api, directory, ledger, settings, rooms=rooms)
        engine_ = engine or FakeEngine(ledger, directory, notifier, cloud, clock)
        offering = Offering(places, models, lambda p: _limits(p, places, data), lambda: plan, judge)
        gateway = Gateway(engine_, ledger, directory, {"aws": cloud}, offering, clock)
        installation = await introduce(api)
        desk = Desk(gateway, api, slack_renderer(), settings, clock, home=installation.home)
        app = build_app(desk, installation)
        socket = AsyncSocketModeHandler(app, slack.app_token)
        connected = slack.core.sockets.count
        if connect:
            await socket.connect_async()
            await slack.wait_for_connections(connected + 1)
        try:
            yield World(slack, engine_, gateway, desk, people, directory, ledger, cloud, clock, api, app)
        finally:
            await socket.close_async()
            await desk.background.drain(1)
            if engine is None:
                await engine_.close()
                ledger.close()
