"""The bot as it runs, in front of the Slack sandbox; behind it the real gateway and ledger, and workflows in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
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
from bot.pictures import Draw, Pictures
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.accounting import Accounting
from lessor.contracts import Act, Answer, Delivery, Notice, Verb
from lessor.domain import life
from lessor.domain.case import Judge
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Change, Lease
from lessor.domain.people import Person
from lessor.domain.quota import Ceiling, Kind, QuotaPlan
from lessor.domain.request import Limits, Market, Need, Place
from lessor.fleet import Surveying
from lessor.gateway import Gateway, ModelChoice, Offering, PlaceChoice
from lessor.ledger import SqlLedger, open_ledger
from lessor.ports import Capacity, Team
from lessor.rendering import slack_renderer
from lessor.sandbox.slack import RunningSandbox
from tests.bot.engine import FakeEngine
from tests.builders import RESOURCES, a_person, a_request
from tests.fakes import FakeCloud, FakeDirectory

REQUESTER = a_person("U0REQUESTER", ids=("U0REQUESTER", "W0REQUESTER"), teams=("research",), tz="Europe/Berlin")
MANAGER = a_person("U0MANAGER", teams=("research",), leads=("research",), groups=("managers",))
MANAGER_2 = a_person("U0MANAGER2", teams=("research",), groups=("managers",))
FINANCE = a_person("U0FINANCE", teams=(), groups=("finance",))
ADMIN = a_person("U0ADMIN", teams=(), admin=True)
PEOPLE = (REQUESTER, MANAGER, MANAGER_2, FINANCE, ADMIN)
TEAM = Team("research", "Research", lead="U0MANAGER", channel="team-research")
PLACE = PlaceChoice("us", "AWS in the US", "aws", ("us-east-1",), (), (Market.ON_DEMAND, Market.SPOT))
MODELS = (ModelChoice("A100-80GB", "A100 80 GB", 80, (1, 2, 4, 8)), ModelChoice("L4", "L4 24 GB", 24, (1, 4, 8)))
PLAN = QuotaPlan(
    (
        Ceiling("team:research", Decimal(8), model="A100-80GB"),
        Ceiling("team:research", Decimal(100_000), Kind.MONEY),
    )
)
CLOUDS = ("aws", "kubernetes")
SETTINGS = SlackSettings("Sandbox", "gpu-approvals", "gpu-requests", "gpu-admins")


class Clock:
    """Stands still at a full minute and is moved by as much as a test says: told times are exact on slow machines."""

    def __init__(self) -> None:
        self._began = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        self.moved = timedelta()

    def __call__(self) -> datetime:
        return self._began + self.moved

    def set(self, at: datetime) -> None:
        self.moved = at - self._began


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

    async def running(
        self, lease: Lease, access: str = "aws ssm start-session --target i-0aaa", by: str = MANAGER.id
    ) -> Lease:
        """The lease approved, provisioned and usable from now on."""
        await self.act(lease, Verb.APPROVE, by)
        return await self.provisioned(lease, access)

    async def provisioned(self, lease: Lease, access: str = "aws ssm start-session --target i-0aaa") -> Lease:
        """What was approved, usable from now on."""
        now = self.clock()
        await self.move(lease, life.start_provisioning, now)
        hourly = lease.quote.offer.hourly if lease.quote else None
        return await self.move(lease, life.ready, RESOURCES, access, now, hourly, now)

    async def warn(self, lease: Lease, before: timedelta) -> Delivery:
        """One warning, delivered when it is due."""
        ends_at = self.engine.leases[lease.id].runs_until
        if ends_at is not None:
            self.clock.moved += ends_at - before - self.clock()
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


async def _connected(slack: RunningSandbox, socket: AsyncSocketModeHandler) -> None:
    before = slack.core.sockets.count
    await socket.connect_async()
    await slack.wait_for_connections(before + 1)


def _limits(person: Person, places: tuple[PlaceChoice, ...], data: tuple[str, ...]) -> Limits:
    kinds = {one.name: one.kinds for one in places}
    return Limits(person.teams, tuple(one.name for one in places), schedules=("office",), data=data, kinds=kinds)


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
    draw: Draw | None = None,
    idle: IdlePlan | None = None,
    capacity: Capacity | None = None,
) -> AsyncIterator[World]:
    """The bot connected to `slack`. With `engine` it is another replica before the same workflows.

    `capacity` counts the GPUs of places of kind kubernetes.
    """
    async with aiohttp.ClientSession() as session:
        api, clock = client(slack.bot_token, base_url=slack.api_url, session=session), Clock()
        people, cloud = FakeDirectory(PEOPLE, [TEAM]), FakeCloud(clock)
        ledger = engine.ledger if engine else open_ledger(database_url)
        directory = SlackDirectory(people, api)
        fleet = _fleet(ledger, cloud, places, capacity)
        rooms, pictures = Accounting(ledger, lambda: plan).around, Pictures(api, ledger, ledger, draw) if draw else None
        tell = partial(SlackNotifier, rooms=rooms, pictures=pictures, vacancies=fleet.vacancy)
        engine_ = engine or FakeEngine(ledger, directory, tell(api, directory, ledger, settings), cloud, clock)
        offering = _offering(places, models, data, plan, judge, idle)
        gateway = Gateway(engine_, ledger, directory, dict.fromkeys(CLOUDS, cloud), offering, clock, fleet)
        try:
            async with _answering(slack, api, gateway, settings, clock, connect=connect) as (desk, app):
                yield World(slack, engine_, gateway, desk, people, directory, ledger, cloud, clock, api, app)
        finally:
            if engine is None:
                await engine_.close()
                ledger.close()


def _fleet(
    ledger: SqlLedger, cloud: FakeCloud, places: tuple[PlaceChoice, ...], capacity: Capacity | None
) -> Surveying:
    counting = {"kubernetes": capacity} if capacity else {}
    where = [Place(one.provider, one.name) for one in places]
    return Surveying(ledger, counting, dict.fromkeys(CLOUDS, cloud), lambda: where, cloud.clock)


def _offering(
    places: tuple[PlaceChoice, ...],
    models: Callable[[], tuple[ModelChoice, ...]],
    data: tuple[str, ...],
    plan: QuotaPlan,
    judge: Judge | None,
    idle: IdlePlan | None,
) -> Offering:
    offering = Offering(places, models, lambda person: _limits(person, places, data), lambda: plan, judge)
    if idle is None:
        return offering
    return replace(offering, metering=lambda: timedelta(minutes=1), idle=lambda: idle)


@asynccontextmanager
async def _answering(
    slack: RunningSandbox, api: SlackClient, gateway: Gateway, settings: SlackSettings, clock: Clock, *, connect: bool
) -> AsyncIterator[tuple[Desk, AsyncApp]]:
    """The bot itself, which hears what people do in Slack if it is to `connect`."""
    installation = await introduce(api)
    desk = Desk(gateway, api, slack_renderer(), settings, clock, home=installation.home)
    app = build_app(desk, installation)
    socket = AsyncSocketModeHandler(app, slack.app_token)
    if connect:
        await _connected(slack, socket)
    try:
        yield desk, app
    finally:
        await socket.close_async()
        await desk.background.drain(1)
