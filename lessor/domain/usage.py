"""What GPUs and their machines were seen doing, tick by tick. `None` is unknown everywhere, and never means nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Origin:
    """Whose a series is, as far as its labels say: empty where they do not.

    `machine` is the provider's id of the machine (`i-0abc`), `node` a host name; `namespace` and `pod` are Kubernetes'.
    """

    lease: str = ""
    machine: str = ""
    node: str = ""
    namespace: str = ""
    pod: str = ""


@dataclass(frozen=True)
class GpuUse:
    """The most that one GPU, or one slice of a GPU, did in one tick.

    `device` is the GPU's index, for a slice followed by the slice's (`0/7`). `engine` and `sm` are shares of 0 to 1,
    `util` is a percentage, memory is in MiB, `power` in watts, `processes` how many hold the GPU.
    """

    device: str
    machine: str = ""
    slice: bool = False
    engine: float | None = None
    util: float | None = None
    sm: float | None = None
    memory_used: float | None = None
    memory_total: float | None = None
    power: float | None = None
    processes: int | None = None


@dataclass(frozen=True)
class HostUse:
    """The most that one machine did in one tick besides its GPUs.

    `cpu` is a percentage, `network` and `disk` are bytes a second, `requests` a second. `sessions` are people who typed
    something lately, `kernels` notebook kernels that are computing; an open tab or a keep-alive is neither. `machine`
    is the machine as in `Origin`, empty where the series does not say.
    """

    cpu: float | None = None
    network: float | None = None
    disk: float | None = None
    sessions: int | None = None
    kernels: int | None = None
    requests: float | None = None
    machine: str = ""


@dataclass(frozen=True)
class Seen:
    """What one source saw of one GPU or of one machine; `newest` is the time of its latest sample."""

    origin: Origin
    newest: datetime
    gpu: GpuUse | None = None
    host: HostUse | None = None
    restarted: bool = False


@dataclass(frozen=True)
class Reading:
    """All that one source said of one tick, in one answer.

    `dropped` counts samples from the future, `capped` values that were out of range, `unlabelled` by node the GPUs in
    use without a label that says whose they are.
    """

    source: str
    at: datetime
    seen: tuple[Seen, ...] = ()
    dropped: int = 0
    capped: int = 0
    unlabelled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A lease that is metered: what was allocated to it, from the record and never from the metrics (case E20).

    `devices` are machines with the GPUs of them, by number, that are its own where others may have the rest.
    """

    lease_id: str
    gpus: int
    machines: tuple[str, ...] = ()
    namespace: str = ""
    provider: str = ""
    place: str = ""
    ready_at: datetime | None = None
    devices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Held:
    """What pods had of the GPUs that one lease is promised in a tick, by the word of the place itself.

    `held` is how many they had at some time of it, `awaited` how many more are wanted by pods or workloads that wait.
    `problem` says why that is not known; nothing else counts then.
    """

    held: int = 0
    awaited: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Observation:
    """What all sources together saw of one lease in the tick that ended at `at`.

    `newest` is the time of the latest sample, for several GPUs of the one whose samples are oldest; `None` when there
    was none. `problems` say in words why something is missing: a source that did not answer, an exporter that
    restarted, a label that is not there. `sources` are the signals of machines that were there, such as
    `prometheus i-0abc cpu`; `asked` are the sources that are configured, `silent` those of them without an answer.
    `held` and `awaited` are as in `Held`; `held` is `None` where nobody counted, and `uncounted` says why not.
    """

    lease_id: str
    at: datetime
    newest: datetime | None = None
    gpus: tuple[GpuUse, ...] = ()
    hosts: tuple[HostUse, ...] = ()
    restarted: bool = False
    problems: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    held: int | None = None
    awaited: int = 0
    uncounted: str = ""


@dataclass(frozen=True)
class HourUse:
    """What one lease did in one hour that began at `hour`: ticks by verdict, and the most and the sum of its figures.

    `ticks` counts those on record, `busy` and `idle` those so judged, `unknown` those without a whole observation.
    `gpu_busy` is the sum over ticks of the share of its GPUs that worked; `peak_memory` is a share of 0 to 1.
    """

    lease_id: str
    hour: datetime
    ticks: int = 0
    busy: int = 0
    idle: int = 0
    unknown: int = 0
    gpu_busy: float = 0.0
    peak_engine: float | None = None
    peak_util: float | None = None
    peak_memory: float | None = None
    peak_power: float | None = None
    peak_cpu: float | None = None
