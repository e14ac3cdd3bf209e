"""Whose the series are: what sources saw is joined to what was allocated, so that no lease is left out (case E20).

The inventory comes from the record. A lease without any series gets an observation too, and that says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import TypeVar

from lessor.domain.lease import Lease
from lessor.domain.machines import gpus_of
from lessor.domain.resource import Condition, Kind
from lessor.domain.usage import GpuUse, HostUse, Observation, Origin, Reading, Seen, Subject

AHEAD = timedelta(seconds=60)
"""Samples that are further in the future are not believed (case E27)."""

UNLABELLED_MOST = 0.10
"""With a larger share of a node's GPUs in use without a label, nothing is judged idle there (case E03)."""

MACHINES = frozenset({Kind.INSTANCE, Kind.MACHINE})
STEADY = ("cpu", "network", "disk", "sessions")
"""Signals that a machine has as long as it runs; notebooks and services come and go with what runs on it."""

_Use = TypeVar("_Use", GpuUse, HostUse)
_GPU = tuple(f.name for f in fields(GpuUse) if f.name not in ("device", "machine", "slice"))
_HOST = tuple(f.name for f in fields(HostUse) if f.name != "machine")


def subject(lease: Lease) -> Subject:
    """A running lease as the meter wants it: its machines by the provider's ids, its namespace, and since when."""
    held = [one for one in lease.resources if one.condition is not Condition.GONE]
    place = lease.request.place
    return Subject(
        lease.id,
        lease.gpus,
        tuple(one.id for one in held if one.kind in MACHINES),
        next((one.id.partition("@")[0] for one in held if one.kind is Kind.NAMESPACE), ""),
        place.provider,
        place.name,
        started(lease),
        tuple((one.id, number) for one in held for number in gpus_of(one)),
    )


def started(lease: Lease, at: datetime | None = None) -> datetime | None:
    """Since when it ran at that instant, or runs, without having been stopped; a new price is no new start."""
    spans = [one for one in lease.spans if at is None or one.start < at]
    since = spans[-1].start if spans else None
    for span in reversed(spans[:-1]):
        if span.end != since:
            return since
        since = span.start
    return lease.ready_at


def attribute(
    subjects: Sequence[Subject], readings: Iterable[Reading], at: datetime, silent: Sequence[str] = ()
) -> tuple[Observation, ...]:
    """One observation for each subject, in their order, of the tick that ended at `at`.

    A series belongs to the lease that its label names, else to the one whose namespace it is in, else to the one whose
    machine it is on. `silent` are the sources that gave no answer.
    """
    index = _Index.of(subjects)
    found = {one.lease_id: _Found() for one in subjects}
    answered = list(readings)
    for reading in answered:
        bad = crowded(reading)
        for seen in reading.seen:
            lease_id, by_namespace = index.owner(seen.origin)
            if lease_id:
                machine = "" if by_namespace else index.only.get(lease_id, "")
                problem = bad.get(seen.origin.node, "") if by_namespace else ""
                found[lease_id].add(reading.source, seen, at, machine, problem)
                continue
            for shares in index.sharing(seen):
                found[shares].add(reading.source, seen, at, index.only.get(shares, ""), "")
    unanswered = tuple(sorted(silent))
    asked = tuple(sorted({*(one.source for one in answered), *unanswered}))
    return tuple(found[one.lease_id].observation(one.lease_id, at, asked, unanswered) for one in subjects)


def crowded(reading: Reading) -> dict[str, str]:
    """By node, why nothing on it can be judged: too many of its GPUs in use have no label that says whose they are."""
    return {
        node: f"{count} of {total} GPUs in use on {node} have no label that says whose they are"
        for node, (count, total) in unlabelled(reading).items()
        if count > UNLABELLED_MOST * total
    }


def unlabelled(reading: Reading) -> dict[str, tuple[int, int]]:
    """By node, how many of its GPUs in use have no label that says whose they are, and of how many; none without."""
    if not any(reading.unlabelled.values()):
        return {}
    labelled: dict[str, set[tuple[str, str]]] = {}
    for seen in reading.seen:
        origin = seen.origin
        if seen.gpu and (origin.lease or origin.namespace or origin.machine):
            labelled.setdefault(origin.node, set()).add((seen.gpu.machine or origin.machine, seen.gpu.device))
    return {node: (count, count + len(labelled.get(node, ()))) for node, count in reading.unlabelled.items() if count}


@dataclass(frozen=True)
class _Index:
    """`only` is the machine of leases that have one: two sources may spell it differently.

    `shared` are machines of which leases have GPUs by number: the leases, with theirs.
    """

    leases: frozenset[str]
    namespaces: Mapping[str, str]
    machines: Mapping[str, str]
    only: Mapping[str, str]
    shared: Mapping[str, Mapping[str, frozenset[str]]]

    @staticmethod
    def of(subjects: Sequence[Subject]) -> _Index:
        leases = frozenset(one.lease_id for one in subjects)
        namespaces = {one.namespace: one.lease_id for one in subjects if one.namespace}
        shared = _shared(subjects)
        machines = {m: one.lease_id for one in subjects for m in one.machines if m and m not in shared}
        only = {one.lease_id: one.machines[0] for one in subjects if len(one.machines) == 1}
        return _Index(leases, namespaces, machines, only, shared)

    def sharing(self, seen: Seen) -> Sequence[str]:
        """The leases on a shared machine: whose the GPU is, or all of them for what the machine does besides."""
        if not self.shared:
            return ()
        here = self.shared.get(seen.origin.machine) or self.shared.get(seen.origin.node) or {}
        if seen.gpu is None:
            return tuple(here)
        device = seen.gpu.device.partition("/")[0]
        return tuple(lease_id for lease_id, numbers in here.items() if device in numbers)

    def owner(self, origin: Origin) -> tuple[str, bool]:
        """The lease, empty if none, and whether the namespace alone says so."""
        if origin.lease in self.leases:
            return origin.lease, False
        if origin.namespace in self.leases:
            return origin.namespace, True
        if origin.namespace in self.namespaces:
            return self.namespaces[origin.namespace], True
        return self.machines.get(origin.machine) or self.machines.get(origin.node) or "", False


def _shared(subjects: Iterable[Subject]) -> dict[str, dict[str, frozenset[str]]]:
    found: dict[str, dict[str, frozenset[str]]] = {}
    for one in subjects:
        for machine, number in one.devices:
            leases = found.setdefault(machine, {})
            leases[one.lease_id] = leases.get(one.lease_id, frozenset()) | {number}
    return found


@dataclass
class _Found:
    """What was seen of one lease so far; mutable, for one tick only."""

    gpus: dict[tuple[str, str], GpuUse] = field(default_factory=dict)
    hosts: dict[str, HostUse] = field(default_factory=dict)
    newest: dict[tuple[str, str], datetime] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    problems: dict[str, None] = field(default_factory=dict)
    restarted: bool = False

    def add(self, source: str, seen: Seen, at: datetime, only: str, problem: str) -> None:
        origin = seen.origin
        if problem:
            self.problems[problem] = None
        if seen.newest - at > AHEAD:
            self.problems[f"the clock of {_where(origin)} is ahead: its samples are dropped"] = None
            return
        if seen.restarted:
            self.restarted = True
            self.problems[f"the exporter on {_where(origin)} restarted or left a gap"] = None
        machine = only or origin.machine or origin.node or origin.pod
        if seen.gpu:
            self._gpu(seen.gpu, machine or seen.gpu.machine, seen.newest)
        if seen.host:
            self._host(source, seen.host, machine or seen.host.machine, seen.newest)

    def _gpu(self, use: GpuUse, machine: str, newest: datetime) -> None:
        key = (machine, use.device)
        known = self.gpus.get(key)
        if known:
            self.gpus[key] = _most(known, use, _GPU)
        else:
            self.gpus[key] = use if use.machine == machine else _moved(use, machine)
        self.newest[key] = max(self.newest.get(key, newest), newest)

    def _host(self, source: str, use: HostUse, machine: str, newest: datetime) -> None:
        known = self.hosts.get(machine)
        if known:
            self.hosts[machine] = _most(known, use, _HOST)
        else:
            self.hosts[machine] = use if use.machine == machine else _moved(use, machine)
        self.sources.update(f"{source} {machine} {name}" for name in STEADY if getattr(use, name) is not None)
        self.newest.setdefault(("", ""), newest)
        self.newest["", ""] = max(self.newest["", ""], newest)

    def observation(self, lease_id: str, at: datetime, asked: tuple[str, ...], silent: tuple[str, ...]) -> Observation:
        gpus = [newest for key, newest in self.newest.items() if key in self.gpus]
        return Observation(
            lease_id,
            at,
            min(gpus, default=self.newest.get(("", ""))),
            tuple(self.gpus[key] for key in sorted(self.gpus)),
            tuple(self.hosts[key] for key in sorted(self.hosts)),
            self.restarted,
            (*self.problems, *(f"{name} gave no answer" for name in silent if not self.gpus and not self.hosts)),
            tuple(sorted(self.sources)),
            asked,
            silent,
        )


def _moved(use: _Use, machine: str) -> _Use:
    """The same on a named machine. `replace` is several times slower, and this runs for every GPU in every tick."""
    made = object.__new__(type(use))
    made.__dict__.update(use.__dict__, machine=machine)
    return made


def _most(one: _Use, other: _Use, names: tuple[str, ...]) -> _Use:
    """The most of both, for each of their figures that is known."""
    made = object.__new__(type(one))
    made.__dict__.update(one.__dict__)
    for name in names:
        figure, known = getattr(other, name), getattr(one, name)
        if figure is not None and (known is None or figure > known):
            made.__dict__[name] = figure
    if isinstance(one, GpuUse) and isinstance(other, GpuUse):
        made.__dict__["slice"] = one.slice or other.slice
    return made


def _where(origin: Origin) -> str:
    return origin.machine or origin.node or origin.pod or origin.lease or origin.namespace
