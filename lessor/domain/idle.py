"""Whether a lease does anything: a verdict over a whole window of samples, with the evidence that it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class Verdict(StrEnum):
    """What a lease is judged to be doing. Only a full window without a gap is ever judged idle (law 1)."""

    BUSY = "busy"
    IDLE = "idle"
    HELD = "memory-held-no-compute"
    WARMING_UP = "warming-up"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class IdleTerms:
    """The thresholds and the ladder that hold for one lease; `origins` names by field the level that set it.

    A GPU works in a tick when its engine was above `engine` (0 to 1), or its utilisation above `util` (percent), or it
    drew more than `power` watts where that is set. Of a slice only the engine counts: the others are those of the whole
    card. A machine works above `cpu` (percent), `network` or `disk` (bytes a second), or `requests` (a second), and
    while people or notebook kernels work on it; `None` leaves a signal out. `fraction` is the share of its GPUs that
    must work for the lease to be busy; one is enough at 0. A GPU holds memory above `memory` (0 to 1).

    `window` is what has to be idle throughout. `warn`, `final` and `stop` count from when it fell idle; `held_stop` is
    the stop of a lease that holds memory without computing, with two warnings before it. During `warm_up` after a
    start nothing is idle. `spare` is how long interactive work is left alone in working hours; `working_hours_only`
    counts only these hours. `notice` is the least time between a delivered warning and the stop, `fallback_notice` the
    same when the owner could not be reached and somebody else was told. `stops` is false where people are only warned.
    A GPU at its maximum throughout `review_after` is shown to administrators; `None` where that is what it is for.
    """

    window: timedelta = timedelta(minutes=60)
    warn: timedelta = timedelta(minutes=60)
    final: timedelta = timedelta(minutes=105)
    stop: timedelta = timedelta(minutes=120)
    held_stop: timedelta = timedelta(hours=24)
    warm_up: timedelta = timedelta(minutes=60)
    engine: float = 0.02
    util: float = 5.0
    power: float | None = None
    cpu: float | None = 20.0
    network: float | None = 1_000_000.0
    disk: float | None = 5_000_000.0
    requests: float | None = 0.0
    memory: float = 0.05
    fraction: float = 0.0
    spare: timedelta = timedelta()
    working_hours_only: bool = False
    notice: timedelta = timedelta(minutes=15)
    fallback_notice: timedelta = timedelta(hours=2)
    snooze_most: timedelta = timedelta(hours=24)
    snoozes: int = 3
    stops: bool = True
    review_after: timedelta | None = timedelta(hours=72)
    origins: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Track:
    """One GPU, or one slice, over time. Its run is the time without a break in what is known of it.

    `since` is when its run began and `last` the time of its latest sample. `marks` has a bit for each tick of the last
    window, the lowest for the latest, set where the GPU was seen whole; without any set bit there is no run.
    `active_at` is the latest tick of the run in which it worked, or in which memory was taken or freed. The peaks are
    over the ticks after it worked, empty while it does. `memory` is the share of 0 to 1 that it held last, `held`
    whether that is more than nothing. `stuck_since` is since when it looks busy or full without any process;
    `pending_at` is the latest tick in which it looked busy so, which counts as work unless the GPU turns out to be
    faulty. `full_since` is since when it was at its maximum whenever it was seen.
    """

    device: str
    machine: str
    since: datetime
    last: datetime
    marks: int = 0
    active_at: datetime | None = None
    peak_engine: float | None = None
    peak_util: float | None = None
    peak_power: float | None = None
    memory: float | None = None
    stuck_since: datetime | None = None
    full_since: datetime | None = None
    held: bool | None = None
    pending_at: datetime | None = None
    peak_memory: float | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the GPUs that a lease is promised in a cluster; the first is the one that pods take first.

    `free_since` is since when it is known that nothing holds it: of one that is held the latest tick, `None` where that
    was not known in it. `used_at` is the latest tick in which a pod held it, or waited for it.
    """

    free_since: datetime | None = None
    used_at: datetime | None = None


@dataclass(frozen=True)
class Standing:
    """Where a lease stands after a tick: the state that the next tick goes on from, and what was judged.

    `since` is when what the verdict says began. `active_at` and `active_kind` are the last activity and its kind:
    `gpu`, `cpu`, `network`, `disk`, `session`, `kernel` or `requests`. `idle_gpus` are those of its `gpus` that did
    nothing for a whole window. `faulty` names GPUs that look broken, `missed` counts ticks in a row without a whole
    observation: with any, nothing is stopped. `problem` says what was missing in the latest one.

    `hosts_since`, `hosts_last` and `hosts_marks` are the run of what is known besides GPUs, as in `Track`;
    `hosts_active_at` is the latest tick in which any of it worked, and the peaks are over the ticks after it.
    `sources` are the signals that the lease has, and has to go on having, as in `Observation`. `before` is the verdict
    before it became unknown, `heard` whether every source has answered once since it is judged. `promised` are the GPUs
    that pods may hold, empty where nobody counts what pods hold; `awaited` those that pods wait for, and `unheld` those
    that no pod held for a whole window.
    """

    lease_id: str
    at: datetime
    verdict: Verdict
    since: datetime
    tracks: tuple[Track, ...] = ()
    active_at: datetime | None = None
    active_kind: str = ""
    idle_gpus: int = 0
    gpus: int = 0
    peak_cpu: float | None = None
    peak_network: float | None = None
    peak_disk: float | None = None
    peak_sessions: int | None = None
    peak_requests: float | None = None
    faulty: tuple[str, ...] = ()
    missed: int = 0
    problem: str = ""
    hosts_since: datetime | None = None
    hosts_last: datetime | None = None
    hosts_marks: int = 0
    hosts_active_at: datetime | None = None
    sources: tuple[str, ...] = ()
    before: Verdict | None = None
    heard: bool = False
    promised: tuple[Slot, ...] = ()
    awaited: int = 0
    unheld: int = 0


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, small enough to be kept with the lease and shown to its owner.

    Peaks are the most that each signal showed since it last counted as work, which is the time since `since` or more,
    and empty for what works. `peak_engine` and `peak_memory` are shares of 0 to 1.
    `covered` is the share of the window before `at` with samples. `unheld` of its GPUs are promised to it and were held
    by no pod since `unheld_since`, for a window or longer; `awaited` are those that pods wait for.
    """

    verdict: Verdict
    since: datetime
    at: datetime
    gpus: int = 0
    idle_gpus: int = 0
    covered: float = 0.0
    peak_engine: float | None = None
    peak_util: float | None = None
    peak_memory: float | None = None
    peak_power: float | None = None
    peak_cpu: float | None = None
    peak_network: float | None = None
    peak_disk: float | None = None
    peak_sessions: int | None = None
    peak_requests: float | None = None
    active_at: datetime | None = None
    active_kind: str = ""
    faulty: tuple[str, ...] = ()
    problem: str = ""
    missed: int = 0
    unheld: int = 0
    unheld_since: datetime | None = None
    awaited: int = 0
