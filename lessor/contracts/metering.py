"""What the meter and the leases tell each other, and what one tick came to."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lessor.contracts.messages import PageInput
from lessor.domain.idle import Evidence, IdleTerms
from lessor.domain.worktime import Hours


@dataclass(frozen=True)
class Metered:
    """What the meter found of a lease. It is told when the verdict changes, not with every tick.

    `hours` is when its owner works (`Person.hours`), `None` where that is not known.
    """

    evidence: Evidence
    terms: IdleTerms = field(default_factory=IdleTerms)
    hours: Hours | None = None


@dataclass(frozen=True)
class Clearance:
    """Whether an idle lease may be stopped now, after another look at what it does and at the brake.

    `why` says in words what stands against it; `metered` is what was found, `None` when nothing could be read.
    """

    clear: bool
    why: str = ""
    metered: Metered | None = None


@dataclass(frozen=True)
class OverBudget:
    """The money of a team, project or person is used up, and its leases are to end: numbers in `words`."""

    scope: str
    words: str
    at: datetime


@dataclass(frozen=True)
class MeterInput:
    """One tick, as long as the schedule's interval; with `budgets` it is looked whether money is used up as well.

    Without `sources` of telemetry nothing is metered, and only money is looked at.
    """

    every: timedelta = timedelta(minutes=1)
    budgets: bool = False
    sources: bool = True


@dataclass(frozen=True)
class MeterTick:
    """Read every source for the tick that ends at `at` and is `every` long."""

    at: datetime
    every: timedelta


@dataclass(frozen=True)
class SourceReport:
    """What one source gave: how many series, how many samples were dropped or capped, or why it is silent.

    `silent` counts the ticks in a row, up to this one, without an answer; `last_good` is the last one with one.
    `unlabelled` is by node the share of its GPUs in use that no label names an owner of, the largest ones (case E03).
    """

    name: str
    ok: bool
    series: int = 0
    dropped: int = 0
    capped: int = 0
    problem: str = ""
    silent: int = 0
    last_good: datetime | None = None
    unlabelled: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MeterReport:
    """What one tick came to: counts, and the few leases whose verdict changed.

    `stored` is false for a tick that was on record already. `brake` says why nothing is stopped, with `doubt` why
    nobody was told of idle leases either.
    """

    at: datetime
    stored: bool = True
    sources: tuple[SourceReport, ...] = ()
    leases: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    brake: str = ""
    problem: str = ""
    pages: tuple[PageInput, ...] = ()
    unheard: tuple[PageInput, ...] = ()
    doubt: bool = False
