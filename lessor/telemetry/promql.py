"""The one question that a Prometheus is asked for a tick: every signal of every GPU, told apart by a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from lessor.domain.usage import Subject
from lessor.telemetry.trust import SKEW

SIGNAL = "lessor_signal"
"""The label that says what a value of the answer is."""
DEVICE = ("gpu", "UUID", "GPU_I_ID")
TARGET = ("job", "instance")
FIRST = 'gpu="0"'
NEWEST = "newest"
SAMPLES = "samples"
COVERED = "covered"
AHEAD = "ahead"
RESTARTED = "restarted"
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
    asked = [_Asked(metrics, length, now, matcher) for matcher in _matchers(metrics, only)]
    large = [part for one in asked for part in _of_gpus(one)]
    small = [part for one in asked for part in _others(one)]
    return _united([*large, *small, _restarts(_Asked(metrics, length, now, metrics.match))])


@dataclass(frozen=True)
class _Asked:
    metrics: Metrics
    length: timedelta
    now: float
    matcher: str

    def series(self, name: str, more: str = "") -> str:
        matchers = ",".join(filter(None, (self.matcher, more)))
        return f"{name}{{{matchers}}}" if matchers else name

    @property
    def deciding(self) -> list[str]:
        """The metrics that say whether a GPU works, the better one first."""
        return [self.metrics.gpu[signal] for signal in ("engine", "util") if signal in self.metrics.gpu]

    @property
    def gpu(self) -> tuple[str, ...]:
        """By which labels GPUs are told apart."""
        return (*DEVICE, *self.host)

    @property
    def host(self) -> tuple[str, ...]:
        """By which labels machines and services are told apart."""
        return (*TARGET, *self.metrics.labels.namespace, *self.metrics.labels.pod)

    @property
    def ahead(self) -> float:
        """Until when it is looked for samples from the future."""
        return self.now + (SKEW + LOOKED_AHEAD).total_seconds()

    @property
    def window(self) -> str:
        """Open at its beginning: a range of Prometheus has both its ends, and a sample belongs to one tick only."""
        return f"{self.length // timedelta(milliseconds=1) - 1}ms"

    @property
    def step(self) -> str:
        return f"{max(self.length // timedelta(milliseconds=1) // STEPS, 1)}ms"


def _of_gpus(asked: _Asked) -> Iterable[str]:
    """What is told of each GPU: the large vectors."""
    names, key = asked.metrics.labels, asked.gpu
    for signal, name in asked.metrics.gpu.items():
        function = "min_over_time" if signal == "free" else "max_over_time"
        yield _named(signal, key, f"{function}({asked.series(name)}[{asked.window}])")
    yield _named(f"gpu-{NEWEST}", key, _any("timestamp({})", asked, asked.deciding))
    samples = _any(f"count_over_time({{}}[{asked.window}])", asked, asked.deciding)
    yield _named(f"gpu-{SAMPLES}", (*DEVICE, *TARGET, *names.all), samples)


def _others(asked: _Asked) -> Iterable[str]:
    """What is told of each machine and of each exporter: the small ones."""
    names, key = asked.metrics.labels, asked.host
    for signal, name in asked.metrics.host.items():
        yield _named(signal, key, f"max_over_time({asked.series(name)}[{asked.window}])")
    if asked.metrics.request_counters:
        rates = _any(f"rate({{}}[{asked.window}])", asked, asked.metrics.request_counters)
        yield _named("requests", key, f"sum by ({', '.join(key)}) ({rates})")
    of_host = [*asked.metrics.host.values(), *asked.metrics.request_counters]
    ahead = f"count_over_time({{}}[{LOOKED_AHEAD // timedelta(seconds=1)}s] @ {asked.ahead:.3f})"
    yield _named(f"gpu-{AHEAD}", asked.gpu, _any(ahead, asked, asked.deciding))
    if of_host:
        yield _named(f"host-{AHEAD}", key, _any(ahead, asked, of_host))
        yield _named(f"host-{NEWEST}", key, _any("timestamp({})", asked, of_host))
        samples = _any(f"count_over_time({{}}[{asked.window}])", asked, of_host)
        yield _named(f"host-{SAMPLES}", (*TARGET, *names.all), samples)
    yield _named(COVERED, TARGET, _covered(asked, of_host))


def _restarts(asked: _Asked) -> str:
    """Which exporters began anew: of all of them, for the label that names a lease is not on this series.

    A range knows only what changed between two of its own samples, so the first one is held against the one before.
    """
    began = asked.series("process_start_time_seconds")
    since = f"{began} != {began} offset {asked.length // timedelta(milliseconds=1)}ms"
    return _named(RESTARTED, TARGET, f"changes({began}[{asked.window}]) > 0 or {since}")


def _covered(asked: _Asked, of_host: Sequence[str]) -> str:
    """At how many steps each exporter had a fresh sample: of its first GPU, since all of them would cost too much.

    Those of a single lease are few, and the first one may be somebody else's.
    """
    by = f"max by ({', '.join(TARGET)}) "
    one = FIRST if asked.matcher == asked.metrics.match else ""
    first = [f"{by}(timestamp({asked.series(name, one)}))" for name in asked.deciding]
    hosts = [f"{by}(timestamp({asked.series(name)}))" for name in of_host]
    return f"count_over_time((({' or '.join((*first, *hosts))}) > time() - {FRESH:.0f})[{asked.window}:{asked.step}])"


def _any(form: str, asked: _Asked, names: Sequence[str]) -> str:
    """Of each thing, the first of these metrics that it has."""
    return " or ".join(form.format(asked.series(name)) for name in names)


def _united(parts: Sequence[str]) -> str:
    """All parts together, as a tree of pairs: in a chain, Prometheus would compare all that came before with each."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_united(parts[:half])}\nor\n{_united(parts[half:])})"


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
        ("instance", machines, r"(\\..*)?"),
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
