"""Stand-ins behind the ports, scriptable and strict: they remember what was done."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lessor.contracts import Alarm, Delivery, Notice, PageInput
from lessor.domain.absence import Absence
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.people import Person, Presence
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import Condition, Kind, Resource, Sighting, Tagged
from lessor.ports import Candidate, Heartbeat, Order, Provisioned, RetryableError, Team

LAUNCH = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass
class FakeCloud:
    """A place in memory. `fail[method]` holds errors to raise, one per call, before the method has any effect;
    `lose[method]` raises them after it."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    name: str = "aws"
    hourly: Money | None = field(default_factory=lambda: Money(Decimal("2.50")))
    zones: tuple[str, ...] = ("us-east-1a", "us-east-1b")
    stoppable: bool = True
    volatile: bool = False
    disk_gib: int = 0
    disk_monthly: Money | None = None
    fail: dict[str, list[Exception]] = field(default_factory=lambda: defaultdict(list))
    lose: dict[str, list[Exception]] = field(default_factory=lambda: defaultdict(list))
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    machines: dict[str, Resource] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    ends: dict[str, datetime] = field(default_factory=dict)
    owned: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    let_in: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kept: tuple[Resource, ...] = ()
    kept_until: datetime | None = None
    calls: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def offers(self, need: Need, place: Place, market: Market) -> tuple[Offer, ...]:
        count = need.count
        name = "nvidia.com/gpu" if place.provider == "kubernetes" else "g5.xlarge"
        return (Offer(name, need.model or "A10G", count, 24, 4 * count, market, self.hourly, self.hourly),)

    def quote(self, need: Need, place: Place, market: Market, now: datetime) -> Quote:
        self._enter("quote")
        return Quote(need, self.offers(need, place, market)[0], now, "catalogue 2026-06-01")

    def candidates(self, order: Order) -> Sequence[Candidate]:
        market = order.request.market
        return [
            Candidate("g5.xlarge", zone, market, f"{order.lease_id}-{zone}", self.hourly, self.stoppable)
            for zone in self.zones
        ]

    def launch(self, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        self._enter("launch")
        with self.lock:
            for machine in self.machines.values():
                if machine.token == candidate.token and machine.condition is not Condition.GONE:
                    return (machine,)
            machine = Resource(
                Kind.INSTANCE,
                f"i-{len(self.machines):04x}",
                Condition.RUNNING,
                zone=candidate.zone,
                type=candidate.instance_type,
                created_at=self.clock(),
                token=candidate.token,
            )
            self.machines[machine.id] = machine
            self.owners[machine.id] = order.lease_id
        self._leave("launch")
        return (machine,)

    def await_usable(self, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat) -> Provisioned:
        self._enter("await_usable")
        heartbeat("waiting")
        found = tuple(self.machines[r.id] for r in resources)
        disks = (self.volatile, self.disk_gib, self.disk_monthly)
        return Provisioned(found, f"connect {found[0].id}", self.clock(), self.hourly, self.stoppable, *disks)

    def look(self, lease_id: str, place: Place, known: Sequence[Resource] = ()) -> Sighting:
        self._enter("look")
        with self.lock:
            mine = tuple(m for i, m in self.machines.items() if self.owners[i] == lease_id)
        now, until = self.clock(), self.kept_until
        return Sighting((*mine, *self.kept), now, kept_until=until) if until and now < until else Sighting(mine, now)

    def stop(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        self._enter("stop")
        self._turn(lease_id, Condition.STOPPED)
        self._leave("stop")
        return self.clock()

    def start(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> datetime:
        self._enter("start")
        self._turn(lease_id, Condition.RUNNING)
        self._leave("start")
        return self.clock()

    def snapshot(self, lease_id: str, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        self._enter("snapshot")
        return (Resource(Kind.SNAPSHOT, f"snap-{lease_id}", Condition.RUNNING),)

    def delete(self, lease_id: str, place: Place, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        self._enter("delete")
        self._turn(lease_id, Condition.GONE)
        self._leave("delete")

    def set_end(self, lease_id: str, place: Place, ends: datetime) -> None:
        self._enter("set_end")
        self.ends[lease_id] = ends

    def set_owner(
        self, lease_id: str, place: Place, owner: str, team: str, cost_center: str, co_owners: Sequence[str] = ()
    ) -> None:
        self._enter("set_owner")
        self.owned[lease_id] = (owner, team, cost_center)
        self.let_in[lease_id] = (owner, *co_owners)

    def conditions(self, place: Place) -> tuple[Tagged, ...]:
        self._enter("conditions")
        with self.lock:
            return tuple(Tagged(**vars(m), lease=self.owners[i]) for i, m in self.machines.items())

    def attribute(self, place: Place, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        self._enter("attribute")
        return ()

    def alive(self, lease_id: str) -> list[Resource]:
        return [m for i, m in self.machines.items() if self.owners[i] == lease_id and m.condition is not Condition.GONE]

    def times(self, method: str) -> int:
        return self.calls.count(method)

    def _turn(self, lease_id: str, condition: Condition) -> None:
        with self.lock:
            for machine in self.alive(lease_id):
                self.machines[machine.id] = replace(machine, condition=condition)

    def _enter(self, method: str) -> None:
        self.calls.append(method)
        if method in self.before:
            self.before[method]()
        if self.fail[method]:
            raise self.fail[method].pop(0)

    def _leave(self, method: str) -> None:
        if self.lose[method]:
            raise self.lose[method].pop(0)


@dataclass
class FakeNotifier:
    """Remembers what was told. `silent` holds how many of the next messages of a kind reach nobody, `deaf` how many of
    the next pages; `before[kind]` is awaited before a message is sent. `instead` are those told in the owner's place.
    While something is `down`, messages of these kinds and pages about these alarms raise, and count in `in_vain`.
    """

    told: list[tuple[str, Notice, int]] = field(default_factory=list)
    paged: list[PageInput] = field(default_factory=list)
    instead: str = ""
    deaf: int = 0
    silent: dict[Notice, int] = field(default_factory=lambda: defaultdict(int))
    before: dict[Notice, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    fail: dict[Notice, list[Exception]] = field(default_factory=lambda: defaultdict(list))
    down: set[Notice | Alarm] = field(default_factory=set)
    in_vain: Counter[Notice | Alarm] = field(default_factory=Counter)

    async def notify(
        self,
        lease: Lease,
        notice: Notice,
        before: timedelta,
        now: datetime,
        *,
        revision: int = 0,
        patient: bool = True,
    ) -> Delivery:
        if notice in self.before:
            await self.before[notice]()
        if self.fail[notice]:
            raise self.fail[notice].pop(0)
        self._connect(notice)
        if self.silent[notice]:
            self.silent[notice] -= 1
            return Delivery(False, problem="nobody could be reached")
        self.told.append((lease.id, notice, lease.revision))
        return Delivery(True, self.instead or "slack:dm", owner=not self.instead)

    async def page(self, wanted: PageInput, now: datetime, *, patient: bool = True) -> Delivery:
        self._connect(wanted.alarm)
        if self.deaf:
            self.deaf -= 1
            return Delivery(False, problem="nobody could be reached")
        self.paged.append(wanted)
        return Delivery(True, "slack:channel")

    def _connect(self, wanted: Notice | Alarm) -> None:
        if wanted in self.down:
            self.in_vain[wanted] += 1
            raise ConnectionError("Slack does not answer")

    def kinds(self, lease_id: str) -> list[str]:
        return [notice.value for told, notice, _ in self.told if told == lease_id]


@dataclass
class FakeAbsences:
    """The book of absences in memory: the last word of each person."""

    kept: dict[str, Absence] = field(default_factory=dict)

    def go_away(self, absence: Absence) -> None:
        self.kept[absence.person] = absence

    def come_back(self, person: str, at: datetime) -> None:
        self.kept.pop(person, None)

    def absences(self, at: datetime) -> tuple[Absence, ...]:
        return tuple(one for one in self.kept.values() if one.since <= at < one.until)


class FakeDirectory:
    """People and teams in memory. `closed` are ids of those whose accounts were deactivated, whatever is configured."""

    def __init__(self, people: Iterable[Person], teams: Iterable[Team] = ()) -> None:
        self.people = list(people)
        self.teams = {team.key: team for team in teams}
        self.closed: set[str] = set()

    async def person(self, any_id: str) -> Person | None:
        found = next((p for p in self.people if any_id in p.all_ids or any_id.lower() == p.email), None)
        return self._now(found) if found else None

    async def members(self, ref: str) -> tuple[Person, ...]:
        return tuple(self._now(p) for p in self.people if ref in p.refs)

    async def everybody(self) -> tuple[Person, ...]:
        return tuple(self.people)

    async def presences(self, ids: Collection[str]) -> dict[str, Presence]:
        known = {one: await self.person(one) for one in ids}
        states = {True: Presence.HERE, False: Presence.GONE}
        return {one: states[person.active] if person else Presence.UNKNOWN for one, person in known.items()}

    def _now(self, person: Person) -> Person:
        return replace(person, active=False) if person.id in self.closed else person

    def team(self, key: str) -> Team | None:
        return self.teams.get(key)


def throttled() -> RetryableError:
    return RetryableError("the place answered: too many requests", "RequestLimitExceeded")
