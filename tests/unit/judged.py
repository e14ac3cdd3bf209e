"""One lease that is judged minute by minute in tests: each tick says what was seen, and the rest is as usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from lessor.domain.idle import Evidence, IdleTerms, Standing, Verdict
from lessor.domain.judging import advance, evidence
from lessor.domain.usage import GpuUse, HostUse, Observation, Subject

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
START = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)
"""When the lease became usable; the first tick ends a minute later."""

MACHINE = "i-0aaa"
QUIET = HostUse(cpu=2.0, network=2_000.0, disk=1_000.0, sessions=0, machine=MACHINE)
SIGNALS = tuple(f"prometheus {MACHINE} {name}" for name in ("cpu", "disk", "network", "sessions"))
TOTAL = 81_920.0


def at(minutes: float) -> datetime:
    """So many minutes after the lease became usable."""
    return START + minutes * MINUTE


def gpu(engine: float | None = 0.0, device: str = "0", **changes: object) -> GpuUse:
    """One GPU of the machine; its utilisation and power follow its engine."""
    shown = engine or 0.0
    use = GpuUse(device, MACHINE, False, engine, shown * 100, None, 500.0, TOTAL, 60.0 + shown * 300, None)
    return replace(use, **changes)  # type: ignore[arg-type]


def gpus(*engines: float) -> tuple[GpuUse, ...]:
    """GPUs 0, 1, 2, ... with these shares of activity."""
    return tuple(gpu(engine, str(index)) for index, engine in enumerate(engines))


def mig(engine: float | None = 0.0, slice: int = 1, card: int = 0, **changes: object) -> GpuUse:
    """A slice of a card, whose classic utilisation is always 0."""
    return gpu(engine, f"{card}/{slice}", **({"slice": True, "util": 0.0} | changes))


@dataclass
class Judged:
    """A lease with the standing after each tick; `seen` are its observations, to be replayed."""

    terms: IdleTerms = field(default_factory=IdleTerms)
    subject: Subject = field(default_factory=lambda: Subject("gpu-7k3qxa2m", 1, (MACHINE,), ready_at=START))
    every: timedelta = MINUTE
    standing: Standing | None = None
    now: datetime = START
    seen: list[Observation] = field(default_factory=list)

    def tick(
        self, *uses: GpuUse, host: HostUse | None = QUIET, newest: datetime | None = None, **changes: object
    ) -> Standing:
        """The next tick, with samples from its end unless `newest` says otherwise."""
        self.now += self.every
        hosts = (host,) if host else ()
        there = [name for name in ("cpu", "disk", "network", "sessions") if host and getattr(host, name) is not None]
        sources = tuple(f"prometheus {MACHINE} {name}" for name in there)
        observation = Observation(self.subject.lease_id, self.now, newest or self.now, uses, hosts, sources=sources)
        return self.judge(replace(observation, **changes))  # type: ignore[arg-type]

    def ticks(self, count: int, *uses: GpuUse, host: HostUse | None = QUIET, **changes: object) -> Standing:
        """So many ticks alike; the last standing."""
        for _ in range(count):
            standing = self.tick(*uses, host=host, **changes)  # type: ignore[arg-type]
        return standing

    def silence(self, count: int = 1) -> Standing:
        """So many ticks without any answer."""
        for _ in range(count):
            self.now += self.every
            standing = self.judge(Observation(self.subject.lease_id, self.now, problems=("prometheus gave no answer",)))
        return standing

    def judge(self, observation: Observation) -> Standing:
        self.seen.append(observation)
        self.standing = advance(self.standing, observation, self.terms, self.subject, self.every)
        return self.standing

    @property
    def evidence(self) -> Evidence:
        assert self.standing
        return evidence(self.standing, self.terms, self.every)


def of(count: int, **terms: object) -> Judged:
    """A lease of so many GPUs."""
    return Judged(IdleTerms(**terms), Subject("gpu-7k3qxa2m", count, (MACHINE,), ready_at=START))  # type: ignore[arg-type]


def verdict(standing: Standing) -> tuple[Verdict, datetime]:
    """What it says, and since when that is so."""
    return standing.verdict, standing.since


def replayed(judged: Judged, observations: Sequence[Observation]) -> list[Standing]:
    """Where the lease stood after each of these observations, from nothing."""
    found: list[Standing] = []
    for one in observations:
        found.append(advance(found[-1] if found else None, one, judged.terms, judged.subject, judged.every))
    return found
