"""A fleet that is metered in tests: leases on record, a source that says what it was told to, and ticks one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from temporalio.testing import ActivityEnvironment

from activities.meter import MeterActivities, MeterSettings
from lessor.contracts import Clearance, LeaseRef, Metered, MeterReport, MeterTick, OverBudget
from lessor.domain.idle import Standing
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Event, Lease
from lessor.domain.request import Place
from lessor.domain.resource import Condition, Kind, Resource
from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen, Subject
from lessor.ledger import SqlLedger
from lessor.ports import LeaseRuns, TelemetryError
from tests.builders import PEOPLE, a_lease, a_need, a_quote, a_request, an_instance, an_offer
from tests.fakes import FakeDirectory

MINUTE = timedelta(minutes=1)
START = datetime(2026, 11, 27, 10, 0, tzinfo=UTC)
"""The first tick; the leases of these tests are usable since 09:15."""

BUSY = GpuUse("0", engine=0.9, util=95.0, memory_used=60_000.0, memory_total=81_920.0, power=380.0, processes=1)
IDLE = GpuUse("0", engine=0.0, util=0.0, memory_used=4.0, memory_total=81_920.0, power=60.0, processes=0)
QUIET_HOST = HostUse(cpu=1.0, network=1_000.0, disk=1_000.0, sessions=0)


def running(number: int, gpus: int = 1) -> Lease:
    """A lease that runs on one machine of its own."""
    machine = an_instance(f"i-{number:08x}")
    request = a_request(need=a_need(count=gpus), interaction=f"click-{number}")
    lease = a_lease(id=f"gpu-{number:08d}", request=request, quote=a_quote(offer=an_offer(gpu_count=gpus)))
    return replace(lease, resources=(machine,))


def promised(number: int, gpus: int) -> Lease:
    """A lease that is promised so many GPUs in a namespace of its own in the cluster `lab`."""
    lease = running(number, gpus)
    space = Resource(Kind.NAMESPACE, f"{lease.id}@0-{number}", Condition.RUNNING, type="Namespace")
    request = replace(lease.request, place=Place("kubernetes", "lab"))
    return replace(lease, request=request, resources=(space,))


@dataclass
class FakeTelemetry:
    """Says of each machine what it was told to, as if sampled at the end of the tick.

    `gpus` are by machine; one without any is not shown. `fail` is raised instead while it is set.
    """

    name: str = "prometheus"
    gpus: dict[str, tuple[GpuUse, ...]] = field(default_factory=dict)
    hosts: dict[str, HostUse] = field(default_factory=dict)
    fail: Exception | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)
    unlabelled: dict[str, int] = field(default_factory=dict)

    def read(self, at: datetime, length: timedelta, only: Sequence[Subject] = ()) -> Reading:
        self.asked.append(tuple(one.lease_id for one in only))
        if self.fail:
            raise self.fail
        wanted = {machine for one in only for machine in one.machines}
        shown = [machine for machine in self.gpus if not only or machine in wanted]
        seen = [Seen(Origin(machine=machine), at, gpu=gpu) for machine in shown for gpu in self.gpus[machine]]
        seen += [
            Seen(Origin(machine=one), at, host=use) for one, use in self.hosts.items() if not only or one in wanted
        ]
        return Reading(self.name, at, tuple(seen), unlabelled=self.unlabelled)

    def all(self, leases: Sequence[Lease], *gpus: GpuUse) -> None:
        """All machines of these leases do the same."""
        for lease in leases:
            self.gpus[machine_of(lease)] = gpus
            self.hosts[machine_of(lease)] = QUIET_HOST


@dataclass
class FakeRuns:
    """The workflows of leases: what they were told of the meter. `lost` are ids that cannot be told now."""

    told: list[tuple[str, Metered]] = field(default_factory=list)
    over: list[tuple[str, OverBudget]] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)

    async def metered(self, lease_id: str, told: Metered) -> bool:
        if lease_id in self.lost:
            raise ConnectionError("Temporal does not answer")
        self.told.append((lease_id, told))
        return True

    async def over_budget(self, lease_id: str, told: OverBudget) -> bool:
        self.over.append((lease_id, told))
        return True


@dataclass
class Meter:
    """The meter over a ledger, with a clock that its ticks move."""

    ledger: SqlLedger
    source: FakeTelemetry = field(default_factory=FakeTelemetry)
    runs: FakeRuns = field(default_factory=FakeRuns)
    now: datetime = START - MINUTE
    plan: IdlePlan = field(default_factory=IdlePlan)
    settings: MeterSettings = field(default_factory=MeterSettings)
    others: tuple[FakeTelemetry, ...] = ()
    over: Sequence[tuple[str, OverBudget]] = ()
    places: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """The worker died and another one took its place: only the record is left."""
        sources = {one.name: one for one in (self.source, *self.others)}
        runs, directory = cast(LeaseRuns, self.runs), FakeDirectory(PEOPLE)
        now, plan, settings = (lambda: self.now), (lambda: self.plan), (lambda: self.settings)
        self.activities = MeterActivities(
            sources, self.ledger, runs, directory, now, plan, settings, lambda _: self.over, self.places
        )

    def record(self, *leases: Lease) -> None:
        for lease in leases:
            self.ledger.record(lease, [_event(lease)])

    async def tick(self, at: datetime | None = None) -> MeterReport:
        """The next tick, or the one at `at`."""
        self.now = at or self.now + MINUTE
        return await ActivityEnvironment().run(self.activities.tick, MeterTick(self.now, MINUTE))

    async def ticks(self, count: int, each: Callable[[int], None] = lambda _: None) -> MeterReport:
        """So many ticks; the last one's report. `each` is called before every one."""
        for number in range(count):
            each(number)
            report = await self.tick()
        return report

    async def look(self, lease: Lease) -> Metered:
        return await ActivityEnvironment().run(self.activities.look_again, LeaseRef(lease.id, 0))

    async def clearance(self, lease: Lease) -> Clearance:
        return await ActivityEnvironment().run(self.activities.clear_to_stop, LeaseRef(lease.id, 0))

    def standing(self, lease: Lease) -> Standing:
        found = self.ledger.standing(lease.id)
        assert found is not None, f"{lease.id} was never metered"
        return found

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        """What leases were told, in order."""
        return [(lease_id, told.evidence.verdict.value) for lease_id, told in self.runs.told]


def fleet(meter: Meter, count: int) -> list[Lease]:
    """So many leases on record, each busy on one GPU."""
    leases = [running(number) for number in range(1, count + 1)]
    meter.record(*leases)
    meter.source.all(leases, BUSY)
    return leases


def silent(name: str = "prometheus") -> TelemetryError:
    return TelemetryError(f"telemetry source '{name}' does not answer; start it")


def machine_of(lease: Lease) -> str:
    return lease.resources[0].id


def _event(lease: Lease) -> Event:
    return Event("ready", lease.ready_at or START, "lessor", {})
