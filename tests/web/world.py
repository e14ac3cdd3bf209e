"""The dashboard over a real gateway and a real ledger, with a fleet that is metered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

import httpx
from fastapi import FastAPI

from lessor.charts import Figures
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Event, Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import QuotaPlan
from lessor.domain.request import Limits
from lessor.engine import Engine
from lessor.fleet import Surveying
from lessor.gateway import Gateway, Offering
from lessor.ledger import SqlLedger
from lessor.rendering import page_renderer
from lessor.web import Desk, Scene, make_application
from lessor.web.desk import Draw
from tests.builders import PEOPLE, a_person, a_request, a_story
from tests.fakes import FakeDirectory
from tests.metering import BUSY, IDLE, MINUTE, START, Meter

TOKEN = "a-token-that-is-long-enough"
SCENE = Scene(
    "Example Labs", "Europe/Berlin", (("ml", "Machine learning"), ("vision", "Vision")), (("research", "AWS"),)
)
NAMED = tuple(
    replace(one, name=name) for one, name in zip(PEOPLE, ("Requester", "Manager", "Finance", "Admin", ""), strict=True)
)


class NoEngine:
    """Temporal that cannot be reached: nothing here needs it."""


@dataclass
class World:
    """Everything that a test touches; `now` is the clock."""

    ledger: SqlLedger
    now: datetime = START
    every: timedelta | None = MINUTE
    token: str = ""
    drawn: list[tuple[Figures, str]] = field(default_factory=list)
    picture: bytes | Exception = b"<svg/>"
    fleet: Surveying | None = None
    rate: Money | None = None

    def __post_init__(self) -> None:
        self.meter = Meter(self.ledger)
        self.draw: Draw = self._draw
        self.directory = FakeDirectory((*NAMED, a_person("U0HOSTILE", name="<script>alert(1)</script>")))

    @property
    def app(self) -> FastAPI:
        offering = Offering((), tuple, lambda person: cast(Limits, None), QuotaPlan, None, lambda: self.every, IdlePlan)
        engine = cast(Engine, NoEngine())
        gateway = Gateway(engine, self.ledger, self.directory, {}, offering, lambda: self.now, self.fleet)
        desk = Desk(
            gateway,
            page_renderer(),
            lambda: SCENE,
            lambda: self.now,
            self.draw,
            "http://127.0.0.1:8080/namespaces/x",
            self.token,
        )
        return make_application(desk)

    def client(self, **headers: str) -> httpx.AsyncClient:
        """Somebody at a browser or a program, on this machine."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7417", headers=headers)

    def story(self, number: int, state: State = State.ACTIVE, **changes: object) -> Lease:
        """A lease on record with all events that led there."""
        lease, events = a_story(state, id=f"gpu-{number:08d}", request=a_request(interaction=f"c:{number}", **changes))
        self.record(lease, *events)
        return lease

    def record(self, lease: Lease, *events: Event) -> None:
        self.ledger.record(lease, events)

    async def idle_fleet(self, leases: Sequence[Lease], minutes: int) -> None:
        """They work for some minutes, then do nothing for so many."""
        self.meter.source.all(leases, BUSY)
        await self.meter.ticks(10)
        self.meter.source.all(leases, IDLE)
        await self.meter.ticks(minutes)
        self.now = self.meter.now + timedelta(seconds=20)

    def draws_with(self, draw: Draw) -> None:
        """Charts are drawn by this from now on."""
        self.draw = draw

    async def _draw(self, shown: Figures, kind: str) -> bytes:
        self.drawn.append((shown, kind))
        if isinstance(self.picture, Exception):
            raise self.picture
        return self.picture
