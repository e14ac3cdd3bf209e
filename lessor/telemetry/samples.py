"""Turns the series of one answer into what each GPU and each machine did; what cannot be is unknown, never zero."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from lessor.domain.usage import GpuUse, HostUse, Origin, Reading, Seen
from lessor.telemetry.promql import (
    AHEAD,
    COVERED,
    DEVICE,
    NEWEST,
    RESTARTED,
    SAMPLES,
    SIGNAL,
    STEPS,
    TARGET,
    LabelNames,
)
from lessor.telemetry.ranges import Ranges
from lessor.telemetry.trust import WHOLE, owned, unlabelled

EC2 = re.compile(r"^(i-[0-9a-f]{8,17})(\.|$)")

Key = tuple[str | None, ...]


@dataclass
class _Thing:
    """One GPU, slice or machine as one exporter tells of it."""

    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)


class Samples:
    """Collects the values of one answer, one by one, and says at its end what was seen."""

    def __init__(self, names: LabelNames, host: Iterable[str]) -> None:
        owners = (*names.namespace, *names.pod)
        self._names = names
        self._host = frozenset(host)
        self._gpu_key = (*DEVICE, *TARGET, *owners)
        self._host_key = (*TARGET, *owners)
        self._gpus: dict[Key, _Thing] = {}
        self._hosts: dict[Key, _Thing] = {}
        self._origin_key = ("instance", *names.all)
        self._origins: dict[Key, Origin] = {}
        self._restarted: set[Key] = set()
        self._covered: dict[Key, float] = {}
        self._most: dict[Key, float] = {}
        self._most_of_job: dict[str | None, float] = {}
        self._processes: dict[tuple[str, str], float] = {}
        self._ranges = Ranges()
        self._since = 0.0

    def add(self, labels: dict[str, str], value: float) -> None:
        """One series of the answer; `labels` tells by `SIGNAL` what its value is."""
        signal = labels[SIGNAL]
        kind, told, what = signal.partition("-")
        if signal == RESTARTED:
            self._restarted.add(_target(labels))
            return
        if signal == COVERED:
            self._covered[_target(labels)] = value
            return
        if signal == "processes":
            card = (labels.get("UUID", ""), labels.get("GPU_I_ID", ""))
            self._processes[card] = max(value, self._processes.get(card, value))
            return
        of_host = kind == "host" if told else signal in self._host
        things, names = (self._hosts, self._host_key) if of_host else (self._gpus, self._gpu_key)
        key = tuple(map(labels.get, names))
        thing = things.get(key)
        if thing is None:
            thing = things[key] = _Thing()
        thing.values[what or signal] = value
        if what == SAMPLES:
            thing.labels = labels

    def reading(self, source: str, at: datetime, length: timedelta) -> Reading:
        """What was seen in the tick; what has no sample of it, or one from the future, is left out: that is unknown."""
        self._since = (at - length).timestamp()
        for thing in (*self._gpus.values(), *self._hosts.values()):
            target = _target(thing.labels)
            self._most[target] = max(self._most.get(target, 0.0), thing.values.get(SAMPLES, 0.0))
        for (job, _), most in self._most.items():
            self._most_of_job[job] = max(self._most_of_job.get(job, 0.0), most)
        seen = (*self._hosts_seen(), *self._gpus_seen())
        dropped = sum(int(one.values.get(AHEAD, 0.0)) for one in (*self._gpus.values(), *self._hosts.values()))
        return Reading(source, at, seen, dropped, self._ranges.capped, unlabelled(seen))

    def _gpus_seen(self) -> Iterator[Seen]:
        sliced = {_card(thing.labels) for thing in self._gpus.values() if thing.labels.get("GPU_I_ID")}
        merged: dict[Key, Seen] = {}
        for thing in self._gpus.values():
            labels = thing.labels
            if not self._counts(thing) or (_card(labels) in sliced and not labels.get("GPU_I_ID")):
                continue
            seen = self._gpu(thing)
            gpu = labels.get("UUID") or "/".join((seen.origin.node, labels.get("gpu", "")))
            key = (gpu, labels.get("GPU_I_ID"), seen.origin.namespace, seen.origin.pod)
            merged[key] = _both(merged[key], seen) if key in merged else seen
        return iter(merged.values())

    def _gpu(self, thing: _Thing) -> Seen:
        labels, values, within = thing.labels, thing.values, self._ranges.within
        origin = self._origin(labels)
        part = labels.get("GPU_I_ID", "")
        used, free = within("used", values.get("used")), within("free", values.get("free"))
        processes = self._processes.get((labels.get("UUID", ""), part))
        use = GpuUse(
            device="/".join(filter(None, (labels.get("gpu", ""), part))),
            machine=origin.machine or origin.node,
            slice=bool(part),
            engine=within("engine", values.get("engine")),
            util=None if part else within("util", values.get("util")),
            sm=within("sm", values.get("sm")),
            memory_used=used,
            memory_total=used + free if used is not None and free is not None else None,
            power=within("power", values.get("power")),
            processes=self._ranges.whole("processes", processes),
        )
        return Seen(origin, self._newest(thing), gpu=use, restarted=self._away(thing))

    def _hosts_seen(self) -> Iterator[Seen]:
        for thing in filter(self._counts, self._hosts.values()):
            values, within, whole = thing.values, self._ranges.within, self._ranges.whole
            use = HostUse(
                cpu=within("cpu", values.get("cpu")),
                network=within("network", values.get("network")),
                disk=within("disk", values.get("disk")),
                sessions=whole("sessions", values.get("sessions")),
                kernels=whole("kernels", values.get("kernels")),
                requests=within("requests", values.get("requests")),
            )
            yield Seen(self._origin(thing.labels), self._newest(thing), host=use, restarted=self._away(thing))

    def _origin(self, labels: Mapping[str, str]) -> Origin:
        """Whose it is; all GPUs of a machine have one origin, so it is worked out once for all of them."""
        key = tuple(map(labels.get, self._origin_key))
        known = self._origins.get(key)
        if known is None:
            known = self._origins[key] = self._origin_of(labels)
        return known

    def _origin_of(self, labels: Mapping[str, str]) -> Origin:
        names = self._names
        namespace, pod = _first(labels, names.namespace), _first(labels, names.pod)
        if any(exporter in pod for exporter in names.exporters):
            # With no labels of the workload, the exporter's own stand in their place (case E03).
            namespace = pod = ""
        node = _first(labels, names.node) or labels.get("instance", "")
        found = EC2.match(node)
        machine = _first(labels, names.machine) or (found[1] if found else "")
        return Origin(_first(labels, names.lease), machine, node, namespace, pod)

    def _counts(self, thing: _Thing) -> bool:
        return SAMPLES in thing.values and not thing.values.get(AHEAD)

    def _newest(self, thing: _Thing) -> datetime:
        """When its latest sample was taken; where it has ended, all that is known is that it was in the tick."""
        return datetime.fromtimestamp(max(thing.values.get(NEWEST, 0.0), self._since + 0.001), UTC)

    def _away(self, thing: _Thing) -> bool:
        """Whether its exporter began anew in the tick, or gave nothing of it for a part of the tick."""
        target = _target(thing.labels)
        if target in self._restarted or NEWEST not in thing.values:
            return True
        steps = self._covered.get(target)
        if steps is None:
            # Without its first GPU an exporter is held to the others of its job, which are scraped as often.
            return thing.values[SAMPLES] < WHOLE * self._most_of_job[thing.labels.get("job")]
        return steps < WHOLE * STEPS or thing.values[SAMPLES] < WHOLE * self._most[target]


def _target(labels: Mapping[str, str]) -> Key:
    return tuple(map(labels.get, TARGET))


def _card(labels: Mapping[str, str]) -> Key:
    return (*_target(labels), labels.get("gpu"))


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _both(one: Seen, other: Seen) -> Seen:
    """The same GPU, told by two exporters: the most of both, and whole where one of them was."""
    if one.gpu is None or other.gpu is None:
        return one
    gpu, also = one.gpu, other.gpu
    most = replace(
        gpu,
        engine=_most(gpu.engine, also.engine),
        util=_most(gpu.util, also.util),
        sm=_most(gpu.sm, also.sm),
        memory_used=_most(gpu.memory_used, also.memory_used),
        memory_total=_most(gpu.memory_total, also.memory_total),
        power=_most(gpu.power, also.power),
    )
    origin = one.origin if owned(one.origin) else other.origin
    newest = max(one.newest, other.newest)
    return Seen(origin, newest, most, restarted=one.restarted and other.restarted)


def _most(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)
