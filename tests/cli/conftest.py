"""The command line over a gateway in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lessor.absences import AbsenceAware
from lessor.accounting import Usage
from lessor.attendance import Attendance
from lessor.cli.app import app
from lessor.cli.session import Session
from lessor.config import Config, loads
from lessor.contracts import Act, Answer, PeopleReport, SweepOutcome
from lessor.directory import ConfigDirectory
from lessor.domain.absence import Absence
from lessor.domain.errors import Refused
from lessor.domain.fleet import Fleet, narrowed
from lessor.domain.lease import Event, Lease
from lessor.domain.people import Person
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need, Place, Request
from lessor.domain.vacancy import Vacancy
from lessor.gateway import Choices, PlaceChoice, Submitted
from lessor.gauging import Gauging
from lessor.ledger import open_ledger
from lessor.ports import LeaseQuery, StoredEvent
from tests.builders import a_quote
from tests.config.sample import VALID
from tests.fakes import FakeAbsences

NOW = datetime.fromisoformat("2026-06-03T13:11:00+00:00")


@dataclass
class FakeFleet:
    """What places have, as a test puts it in; what it does not say is made on demand."""

    fleet: Fleet = field(default_factory=lambda: Fleet(NOW, ()))
    vacancies: dict[str, Vacancy] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def view(self, wanted: str = "") -> Fleet:
        self.asked.append(wanted)
        return narrowed(self.fleet, wanted)

    async def vacancy(self, place: Place, model: str) -> Vacancy:
        return self.vacancies.get(place.name, Vacancy(place, model, on_demand=True))


@dataclass
class FakeGateway:
    """Answers from what a test puts in; remembers what it was asked."""

    config: Config = field(default_factory=lambda: loads(VALID))
    leases_: dict[str, Lease] = field(default_factory=dict)
    answer: Answer = field(default_factory=lambda: Answer(True, "approved", "gpu-7k3qxa2m is approved", "", "approved"))
    submitted: Submitted = field(default_factory=lambda: Submitted("gpu-7k3qxa2m"))
    quoted: Quote = field(default_factory=a_quote)
    refusal: Exception | None = None
    acts: list[tuple[str, Act]] = field(default_factory=list)
    requests: list[tuple[Request, bool]] = field(default_factory=list)
    queries: list[LeaseQuery] = field(default_factory=list)
    absences: FakeAbsences = field(default_factory=FakeAbsences)
    people: PeopleReport = field(default_factory=PeopleReport)
    places: SweepOutcome = field(default_factory=SweepOutcome)
    usages: dict[str, Usage] = field(default_factory=dict)
    meter: Gauging | None = None
    fleet: FakeFleet = field(default_factory=FakeFleet)
    entering: Any = None

    async def person(self, any_id: str) -> Person | None:
        self._fail()
        return await ConfigDirectory(self.config).person(any_id)

    async def choices(self, person_id: str) -> Choices:
        person = await self.person(person_id)
        assert person is not None
        places = tuple(
            PlaceChoice(p.name, p.name, p.provider, p.regions, p.zones, kinds=p.kinds) for p in self.config.places
        )
        teams = tuple(self.config.team(key) for key in person.teams)
        return Choices(person, teams, places, (), self.config.limits(person))

    async def quote(self, need: Need, place: Place, market: Market) -> Quote:
        return self.quoted

    async def check(self, request: Request) -> None:
        self._fail()

    async def submit(self, request: Request, *, anyway: bool = False) -> Submitted:
        self.requests.append((request, anyway))
        return self.submitted

    async def act(self, lease_id: str, act: Act) -> Answer:
        self.acts.append((lease_id, act))
        return self.answer

    async def lease(self, lease_id: str) -> Lease:
        if lease_id not in self.leases_:
            raise Refused("not-found", f"there is no lease {lease_id}")
        return self.leases_[lease_id]

    async def leases(self, query: LeaseQuery) -> tuple[Lease, ...]:
        self.queries.append(query)
        return tuple(self.leases_.values())

    async def events(self, lease_id: str) -> tuple[StoredEvent, ...]:
        event = Event("approved", NOW - timedelta(hours=1), "U0MANAGER", {"why": "go \x1b[31m<!channel>"})
        return (StoredEvent(1, lease_id, event, "0", "1"),)

    async def eligible(self, lease: Lease) -> tuple[Person, ...]:
        return tuple([p for p in ConfigDirectory(self.config).people if p.leads])

    async def named(self, text: str) -> Person:
        return await Attendance(ConfigDirectory(self.config), self.absences, lambda: NOW).named(text)

    async def away(self, person_id: str, until: datetime, delegate_id: str = "") -> Absence:
        return await Attendance(self._known(), self.absences, lambda: NOW).away(person_id, until, delegate_id)

    async def back(self, person_id: str) -> Person:
        return await Attendance(self._known(), self.absences, lambda: NOW).back(person_id)

    async def look(self, person_id: str, *, people: bool = False) -> SweepOutcome | PeopleReport:
        self._fail()
        return self.people if people else self.places

    async def team_usage(self, team: str) -> Usage:
        return self.usages[f"team:{team}"]

    async def person_usage(self, person: Person) -> Usage:
        return self.usages[f"person:{person.id}"]

    def _known(self) -> AbsenceAware:
        return AbsenceAware(ConfigDirectory(self.config), self.absences, lambda: NOW)

    def _fail(self) -> None:
        if self.refusal:
            raise self.refusal


@dataclass
class Terminal:
    """Runs commands as the requester, with nobody to ask unless `answers` are given."""

    gateway: FakeGateway
    folder: Path

    def __call__(
        self, *words: str, answers: str | None = None, actor: str = "U0REQUESTER", width: str = "200"
    ) -> Result:
        session = Session(
            open_gateway=self._open,  # type: ignore[arg-type]
            open_ledger=open_ledger,
            now=lambda: NOW,
            interactive=lambda: answers is not None,
        )
        env = {"LESSOR_USER": actor, "LESSOR_CONFIG": str(self.folder / "lessor.yaml")}
        env |= {"LESSOR_DATABASE_URL": f"sqlite:///{self.folder}/ledger.db", "COLUMNS": width}
        return CliRunner().invoke(app, list(words), obj=session, input=answers, env=env)

    @asynccontextmanager
    async def _open(self, settings: Any, config: Config) -> AsyncIterator[FakeGateway]:
        yield self.gateway


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def empty_ledger(tmp_path: Path) -> None:
    """The ledger of the command line, without anything in it."""
    open_ledger(f"sqlite:///{tmp_path}/ledger.db").close()


@pytest.fixture
def lessor(gateway: FakeGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`lessor("list", "--json")` runs the command line."""
    for name in [one for one in os.environ if one.startswith(("SLACK_", "LESSOR_", "TEMPORAL_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "lessor.yaml").write_text(VALID, encoding="utf-8")
    return Terminal(gateway, tmp_path)
