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

    A GPU works in a tick when its engine was above `engine` (0 to 1), or its utilisation above `util` (percent) where
    the engine is not reported, or it drew more than `power` watts where that is set. A machine works above `cpu`
    (percent), `network` or `disk` (bytes a second), or `requests` (a second); `None` leaves a signal out. `fraction` is
    the share of its GPUs that must work for the lease to be busy; one is enough at 0. A GPU holds memory above
    `memory` (0 to 1).

    `window` is what has to be idle throughout. `warn`, `final` and `stop` count from when it fell idle; `held_stop` is
    the stop of a lease that holds memory without computing, with two warnings before it. During `warm_up` after a
    start nothing is idle. `spare` is how long interactive work is left alone in working hours; `working_hours_only`
    counts only these hours. `notice` is the least time between a delivered warning and the stop, `fallback_notice` the
    same when the owner could not be reached and somebody else was told. `stops` is false where people are only warned.
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
    origins: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Track:
    """One GPU over time. `since` is when its unbroken run of ticks began, `ticks` how many it has, `last` the latest.

    `active_at` is the latest tick in which it worked; the peaks are over the time after it.
    """

    device: str
    machine: str
    since: datetime
    last: datetime
    ticks: int
    active_at: datetime | None = None
    peak_engine: float | None = None
    peak_util: float | None = None
    peak_power: float | None = None
    memory: float | None = None
    stuck_since: datetime | None = None
    full_since: datetime | None = None


@dataclass(frozen=True)
class Standing:
    """Where a lease stands after a tick: the state that the next tick goes on from, and what was judged.

    `since` is when what the verdict says began. `active_at` and `active_kind` are the last activity and its kind:
    `gpu`, `cpu`, `network`, `disk`, `session`, `kernel` or `requests`. `faulty` names GPUs that look broken, `missed`
    counts ticks in a row without a whole observation.
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


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, small enough to be kept with the lease and shown to its owner.

    Peaks are the most over the time since `since`; `covered` is the share of that time with samples.
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
