"""What other thresholds would have done with what was seen: the same judge and the same ladder, run over the record.

It is taken that every warning reached the owner at once and that nobody answered. A lease that would have been stopped
is taken to have been stopped until it was seen to work again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lessor.domain import billing, idling, rungs
from lessor.domain.attribution import MACHINES, started
from lessor.domain.idle import IdleTerms, Standing, Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.judging import advance, certain, changed, evidence
from lessor.domain.ladder import Rung
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.usage import Observation, Subject

FIRST = timedelta(minutes=5)
"""How long the first tick is taken to be, before there is a second one."""


@dataclass(frozen=True)
class Rest:
    """A stop that there would have been, and until when; `resumed` says that work began again then."""

    since: datetime
    until: datetime
    resumed: bool = False


@dataclass(frozen=True)
class Outcome:
    """What would have become of one lease: how often it would have been warned, and its stops."""

    lease: Lease
    ticks: int
    warned: int
    rests: tuple[Rest, ...]

    @property
    def saved(self) -> timedelta:
        """Machine time that would not have been paid for."""
        return sum((one.until - one.since for one in self.rests), timedelta())

    @property
    def money(self) -> Money | None:
        """What that time cost, without the disks, which cost the same when stopped; `None` if a price is unknown."""
        spans = tuple(_within(span, rest) for rest in self.rests for span in self.lease.spans if _touch(span, rest))
        ended = max((one.until for one in self.rests), default=self.lease.requested_at)
        return billing.cost(spans, ended, self.lease.currency)


def replay(
    lease_of: Callable[[str], Lease | None], observations: Iterable[Observation], plan: IdlePlan
) -> tuple[Outcome, ...]:
    """What would have become of each lease of which something was seen, by its id; observations are in order of time.

    `lease_of` gives the lease as it is on record; what was seen of one that is not is left out.
    """
    runs: dict[str, _Run | None] = {}
    pace = _Pace()
    for seen in observations:
        every = pace.at(seen.at)
        if seen.lease_id not in runs:
            lease = lease_of(seen.lease_id)
            runs[seen.lease_id] = _begun(lease, plan) if lease else None
        run = runs[seen.lease_id]
        if run:
            run.tick(seen, every)
    return tuple(run.outcome() for _, run in sorted(runs.items()) if run)


class _Pace:
    """How long ticks were when they were recorded, whatever the configuration says by now.

    A gap is taken for ticks that are missing; only if it comes again and again ticks have become so long.
    """

    def __init__(self) -> None:
        self._every = FIRST
        self._last: datetime | None = None
        self._gaps: list[timedelta] = []

    def at(self, tick: datetime) -> timedelta:
        """The length of this tick; ticks come in order, each as often as leases were seen in it."""
        if self._last is not None and tick > self._last:
            gap = tick - self._last
            self._gaps = [*self._gaps[-2:], gap]
            if gap < self._every or self._gaps == [gap] * 3 or len(self._gaps) == 1:
                self._every = gap
        self._last = tick
        return self._every


@dataclass
class _Run:
    """One lease on its way through the record; `now` is the lease as it would be, its record being `lease`."""

    lease: Lease
    terms: IdleTerms
    now: Lease
    standing: Standing | None = None
    ticks: int = 0
    warned: int = 0
    stopped_at: datetime | None = None
    rests: list[Rest] = field(default_factory=list)

    def tick(self, seen: Observation, every: timedelta) -> None:
        before = self.standing
        self.standing = advance(before, seen, self.terms, _subject(self.lease, seen.at), every)
        self.ticks += 1
        if self.stopped_at is not None:
            self._rest(self.stopped_at, self.standing)
        elif changed(before, self.standing):
            told = evidence(self.standing, self.terms, every)
            self.now = idling.metered(self.now, told, self.terms, seen.at).lease
        if self.stopped_at is None:
            self._climb(self.standing)

    def outcome(self) -> Outcome:
        rests = list(self.rests)
        if self.stopped_at is not None and self.standing is not None:
            rests.append(Rest(self.stopped_at, self.standing.at))
        return Outcome(self.lease, self.ticks, self.warned, tuple(rests))

    def _rest(self, since: datetime, standing: Standing) -> None:
        if standing.verdict is Verdict.BUSY:
            self.rests.append(Rest(since, standing.at, resumed=True))
            self.stopped_at, self.now = None, _as_it_ran(self.lease)

    def _climb(self, standing: Standing) -> None:
        """Take the steps that are due; what is not certain waits for a whole look."""
        at = standing.at
        while self.now.idle and certain(standing):
            step = rungs.next_step(self.now, at)
            if step is None or step.at > at:
                return
            if step.rung is Rung.STOP:
                self.stopped_at = at
                return
            self.now = idling.warned(self.now, step.rung, "replay", at, owner=True).lease
            self.warned += 1


def _begun(lease: Lease, plan: IdlePlan) -> _Run:
    """An administrator's word is no threshold: it holds here as it held then."""
    return _Run(lease, plan.terms(replace(lease, spared=None)), _as_it_ran(lease))


def _as_it_ran(lease: Lease) -> Lease:
    """The lease while it ran, before anything was said of its being idle."""
    return replace(lease, state=State.ACTIVE, idle=None, snooze=None, disputed=None, pause=None, wish=None)


def _subject(lease: Lease, at: datetime) -> Subject:
    """As it was then: machines that are gone by now were there."""
    machines = tuple(one.id for one in lease.resources if one.kind in MACHINES)
    return Subject(lease.id, lease.gpus, machines, ready_at=started(lease, at))


def _touch(span: billing.Span, rest: Rest) -> bool:
    return span.start < rest.until and (span.end is None or span.end > rest.since)


def _within(span: billing.Span, rest: Rest) -> billing.Span:
    return replace(span, start=max(span.start, rest.since), end=min(span.end or rest.until, rest.until))
