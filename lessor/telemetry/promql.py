"""The one question that a Prometheus is asked for a tick: every signal of every GPU, told apart by a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from lessor.domain.usage import Subject

SIGNAL = "lessor_signal"
"""The label that says what a value of the answer is."""
DEVICE = ("gpu", "UUID", "GPU_I_ID")
TARGET = ("job", "instance")
NEWEST = "newest"
COVERED = "covered"
AHEAD = "ahead"
RESTARTED = "restarted"
SKEW = timedelta(seconds=60)
LOOKED_AHEAD = timedelta(hours=1)
STEPS = 10
FRESH = 120.0
"""A sample older than this many seconds says nothing any more."""

GPU_SIGNALS: Mapping[str, str] = {
    "engine": "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "util": "DCGM_FI_DEV_GPU_UTIL",
    "sm": "DCGM_FI_PROF_SM_ACTIVE",
    "used": "DCGM_FI_DEV_FB_USED",
    "free": "DCGM_FI_DEV_FB_FREE",
    "power": "DCGM_FI_DEV_POWER_USAGE",
    "processes": "lessor_host_gpu_processes",
}
HOST_SIGNALS: Mapping[str, str] = {
    "cpu": "lessor_host_cpu_percent",
    "network": "lessor_host_network_bytes_per_second",
    "disk": "lessor_host_disk_bytes_per_second",
    "sessions": "lessor_host_sessions",
    "kernels": "lessor_host_kernels",
    "requests": "lessor_host_requests_per_second",
}


@dataclass(frozen=True)
class LabelNames:
    """Which labels of the series say whose they are; the first that is there and not empty counts."""

    lease: tuple[str, ...] = ("lessor_lease",)
    machine: tuple[str, ...] = ("instance_id",)
    node: tuple[str, ...] = ("Hostname", "node")
    namespace: tuple[str, ...] = ("exported_namespace", "namespace")
    pod: tuple[str, ...] = ("exported_pod", "pod")
    exporters: tuple[str, ...] = ("dcgm-exporter",)
    """What the names of the exporters' own pods contain: their namespace and pod are nobody's."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every label that the answer has to keep."""
        return tuple(dict.fromkeys((*self.lease, *self.machine, *self.node, *self.namespace, *self.pod)))


@dataclass(frozen=True)
class Metrics:
    """What the signals are called in this Prometheus, and which series count (`match`, such as `cluster="a"`)."""

    gpu: Mapping[str, str] = field(default_factory=lambda: dict(GPU_SIGNALS))
    host: Mapping[str, str] = field(default_factory=lambda: dict(HOST_SIGNALS))
    request_counters: tuple[str, ...] = ()
    """Counters of served requests, whose rate counts as requests beside the gauge of `host`."""
    labels: LabelNames = field(default_factory=LabelNames)
    match: str = ""


def expression(metrics: Metrics, length: timedelta, now: float, only: Sequence[Subject] = ()) -> str:
    """The expression for one tick of `length`; `now` is our clock in Unix seconds, to find samples from the future."""
    narrowed = _matchers(metrics, only)
    return "\nor\n".join(part for matcher in narrowed for part in _parts(_Asked(metrics, length, now, matcher)))


@dataclass(frozen=True)
class _Asked:
    metrics: Metrics
    length: timedelta
    now: float
    matcher: str

    def series(self, name: str) -> str:
        return f"{name}{{{self.matcher}}}" if self.matcher else name

    @property
    def window(self) -> str:
        """Open at its beginning: a range of Prometheus has both its ends, and a sample belongs to one tick only."""
        return f"{self.length // timedelta(milliseconds=1) - 1}ms"

    @property
    def step(self) -> str:
        return f"{max(self.length // timedelta(milliseconds=1) // STEPS, 1)}ms"


def _parts(asked: _Asked) -> Iterable[str]:
    names = asked.metrics.labels
    owners = (*names.namespace, *names.pod)
    gpu, host = (*DEVICE, *TARGET, *owners), (*TARGET, *owners)
    for signal, name in asked.metrics.gpu.items():
        function = "min_over_time" if signal == "free" else "max_over_time"
        yield _named(signal, gpu, f"{function}({asked.series(name)}[{asked.window}])")
    for signal, name in asked.metrics.host.items():
        yield _named(signal, host, f"max_over_time({asked.series(name)}[{asked.window}])")
    if asked.metrics.request_counters:
        rates = " or ".join(f"rate({asked.series(name)}[{asked.window}])" for name in asked.metrics.request_counters)
        yield _named("requests", host, f"sum by ({', '.join(host)}) ({rates})")
    deciding = [asked.metrics.gpu[signal] for signal in ("engine", "util") if signal in asked.metrics.gpu]
    yield from _ages(asked, (*DEVICE, *TARGET, *names.all), deciding, "gpu")
    of_host = [*asked.metrics.host.values(), *asked.metrics.request_counters]
    yield from _ages(asked, (*TARGET, *names.all), of_host, "host")
    changed = f"changes({asked.series('process_start_time_seconds')}[{asked.window}]) > 0"
    yield _named(RESTARTED, TARGET, changed)


def _ages(asked: _Asked, labels: Sequence[str], names: Sequence[str], kind: str) -> Iterable[str]:
    """When the latest sample was taken, at how many steps there was a fresh one, and how many are from the future."""
    if not names:
        return
    fresh = " or ".join(f"(timestamp({asked.series(name)}) > time() - {FRESH:.0f})" for name in names)
    steps = f"({fresh})[{asked.window}:{asked.step}]"
    yield _named(f"{kind}-{NEWEST}", labels, f"max_over_time({steps})")
    yield _named(f"{kind}-{COVERED}", labels, f"count_over_time({steps})")
    until = asked.now + (SKEW + LOOKED_AHEAD).total_seconds()
    ahead = LOOKED_AHEAD // timedelta(seconds=1)
    counted = " or ".join(f"count_over_time({asked.series(name)}[{ahead}s] @ {until:.3f})" for name in names)
    yield _named(f"{kind}-{AHEAD}", labels, counted)


def _named(signal: str, labels: Sequence[str], vector: str) -> str:
    """The vector, reduced to these labels and marked with what it is; an empty label never stands in the answer."""
    return f'label_replace(max by ({", ".join(labels)}) ({vector}), "{SIGNAL}", "{signal}", "", "")'


def _matchers(metrics: Metrics, only: Sequence[Subject]) -> list[str]:
    """The selectors of these leases' series, by each label that may name them; one for all when there are none."""
    if not only:
        return [metrics.match]
    leases = [one.lease_id for one in only]
    machines = [machine for one in only for machine in one.machines]
    namespaces = [one.namespace for one in only if one.namespace]
    names = metrics.labels
    wanted = [
        *((label, leases, "") for label in names.lease),
        *((label, machines, "") for label in names.machine),
        *((label, machines, r"(\\..*)?") for label in names.node),
        *((label, namespaces, "") for label in names.namespace),
    ]
    return [
        ",".join(filter(None, (metrics.match, f'{label}=~"(?:{"|".join(map(_literal, values))}){tail}"')))
        for label, values, tail in wanted
        if values
    ]


def _literal(value: str) -> str:
    """A value as a regular expression of RE2 that means nothing but itself, inside a quoted string of PromQL."""
    return "".join(char if char.isalnum() or char in "-_" else f"\\\\x{{{ord(char):x}}}" for char in value)
