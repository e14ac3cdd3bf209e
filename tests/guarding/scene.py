"""Places, a ledger and channels in memory for the guard, which a test can break one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lessor.domain.guarding import Dated, GuardTerms, Roll, Stray, Strays
from lessor.domain.lease import Event, Lease
from lessor.domain.request import Place
from lessor.domain.resource import Condition
from lessor.guarding.channels import Audience, Heard
from lessor.guarding.guard import Guard
from lessor.guarding.notebook import Notebook
from lessor.guarding.report import Report
from lessor.guarding.telling import Teller
from lessor.guarding.tidings import Tiding
from lessor.ports import Heartbeat, LedgerUnavailableError, PermanentError, ProviderError
from tests.builders import usd

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
RESEARCH = Place("aws", "research")
LAB = Place("kubernetes", "lab")
LEASE = "gpu-7k3qxa2m"
DOWN = "the ledger does not answer"


def a_lease_there(lease: str = LEASE, ends: datetime | None = NOW - 3 * HOUR, **changes: object) -> Dated:
    """One machine that runs, three hours past its end unless said otherwise."""
    one = Dated(
        place=replace(RESEARCH, region="us-east-1"),
        lease=lease,
        refs=("i-1",),
        what="g5.xlarge in us-east-1",
        condition=Condition.RUNNING,
        ends=ends,
        written=ends.isoformat() if ends else "",
        owner="U0REQUESTER",
        team="research",
        since=NOW - 24 * HOUR,
    )
    return replace(one, **changes)  # type: ignore[arg-type]


@dataclass
class FakeGrounds:
    """What shows where; `ledger` is `None` while it is down. A stop works unless it is in `refusals`."""

    shown: dict[str, Dated] = field(default_factory=dict)
    strays: dict[str, tuple[Stray, ...]] = field(default_factory=dict)
    problems: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ledger: dict[str, Lease] | None = None
    refusals: dict[str, ProviderError] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    stubborn: set[str] = field(default_factory=set)
    stopped: list[str] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    before_stop: list[Dated] = field(default_factory=list)
    noted: list[tuple[str, Event]] = field(default_factory=list)
    places: tuple[Place, ...] = (RESEARCH, LAB)
    now: datetime = NOW

    def put(self, *dated: Dated) -> None:
        self.shown |= {one.key: one for one in dated}

    def dated(self, place: Place) -> Roll:
        if place.region and self.before_stop:
            self.put(self.before_stop.pop())
        if place.name in self.problems:
            return Roll(problems=self.problems[place.name])
        return Roll(tuple(one for one in self.shown.values() if one.place.name == place.name))

    def unleased(self, place: Place) -> Strays:
        return Strays(self.strays.get(place.name, ()), self.problems.get(place.name, ()))

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        self.stopped.append(lease_id)
        if lease_id in self.refusals:
            raise self.refusals[lease_id]
        one = next(one for one in self.shown.values() if one.lease == lease_id and one.place == place)
        if lease_id not in self.stubborn:
            self.put(replace(one, condition=Condition.STOPPED))
        return self.now

    def leases(self, ids: Sequence[str]) -> Mapping[str, Lease | None]:
        self.asked.append(tuple(ids))
        if self.ledger is None:
            raise LedgerUnavailableError(DOWN)
        return {one: self.ledger.get(one) for one in ids if one not in self.damaged}

    def note(self, lease_id: str, event: Event) -> None:
        if self.ledger is None:
            raise LedgerUnavailableError(DOWN)
        self.noted.append((lease_id, event))


@dataclass
class FakeChannel:
    """Hears everything while it `works`; one that is `broken` raises, as no channel should."""

    name: str = "slack"
    works: bool = True
    broken: bool = False
    got: list[Tiding] = field(default_factory=list)

    async def tell(self, tiding: Tiding, audience: Audience, now: datetime) -> Heard:
        if self.broken:
            raise RuntimeError(tiding.key)
        if not self.works:
            return Heard(problems=(f"{self.name}: down",))
        if tiding.key not in {one.key for one in self.got}:
            self.got.append(tiding)
        return Heard((f"{self.name}:U0ADMIN",))


@dataclass
class Scene:
    """The guard over all that; `pass_time` moves its clock."""

    folder: Path
    grounds: FakeGrounds = field(default_factory=FakeGrounds)
    channels: tuple[FakeChannel, ...] = field(default_factory=lambda: (FakeChannel(),))
    terms: GuardTerms = field(default_factory=GuardTerms)
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As after a crash: only the file is left."""
        self.notebook = Notebook(self.folder / "guard.json", lambda: self.now)
        self.guard = Guard(
            self.grounds,
            self.notebook,
            lambda: Teller(self.channels, lambda _: Audience(), self.notebook),
            lambda: self.terms,
            lambda: self.now,
        )

    def pass_time(self, length: timedelta) -> None:
        self.now += length
        self.grounds.now = self.now

    async def look(self, *, dry: bool = False, despite_brake: bool = False) -> Report:
        return await self.guard.look(dry=dry, despite_brake=despite_brake)

    def told(self, channel: int = 0) -> list[str]:
        """What a channel heard, as `late gpu-7k3qxa2m`."""
        return [f"{one.kind} {one.subject}" for one in self.channels[channel].got]


def a_stray(ref: str = "i-9", place: Place = RESEARCH) -> Stray:
    return Stray(place, ref, "p4d.24xlarge (8 x A100-40GB) in us-east-1a", NOW - 26 * HOUR, "alex", usd("32.77"))


def refusal(words: str = "EC2 says no") -> PermanentError:
    return PermanentError(words, "denied")
