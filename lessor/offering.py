"""What the organisation offers, what a person can ask for, and what came of asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from lessor.accounting import Plan
from lessor.domain.case import Judge
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.people import Person
from lessor.domain.quota import QuotaPlan
from lessor.domain.request import LeaseKind, Limits, Market
from lessor.ports import Team


@dataclass(frozen=True)
class PlaceChoice:
    """A place that can be asked for, as a form shows it; the first of its `kinds` is meant where nobody says."""

    name: str
    label: str
    provider: str
    regions: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    markets: tuple[Market, ...] = (Market.ON_DEMAND,)
    kinds: tuple[LeaseKind, ...] = (LeaseKind.MACHINE,)


@dataclass(frozen=True)
class ModelChoice:
    """A GPU model that can be asked for; `counts` are the numbers of GPUs that machines come with."""

    model: str
    label: str
    memory_gib: int
    counts: tuple[int, ...] = (1,)


def also_seen(models: tuple[ModelChoice, ...], seen: Mapping[str, str]) -> tuple[ModelChoice, ...]:
    """With what places hand out beyond the catalogue, such as slices; `seen` says what each is counted in."""
    known = {one.model for one in models}
    more = (
        ModelChoice(model, f"{model} ({unit})", 0, ()) for model, unit in sorted(seen.items()) if model not in known
    )
    return (*models, *more)


@dataclass(frozen=True)
class Choices:
    """What one person can ask for."""

    person: Person
    teams: tuple[Team, ...]
    places: tuple[PlaceChoice, ...]
    models: tuple[ModelChoice, ...]
    limits: Limits
    projects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submitted:
    """What came of a submission.

    `existing`: the same interaction made this lease before. `similar`: nothing was made, because these pending leases
    look the same; send again with `anyway=True`. `recorded_only`: kept in the ledger, and started as soon as Temporal
    can be reached again.
    """

    lease_id: str
    existing: bool = False
    similar: tuple[str, ...] = ()
    recorded_only: bool = False


@dataclass(frozen=True)
class Offering:
    """What the organisation offers, from its configuration; `limits` are a person's, `plan` everybody's ceilings.

    Without `judge` nobody is told beforehand what the policy would say. `metering` is how often the meter ticks, `None`
    where nothing is metered; `idle` are the thresholds by which a lease is idle then.
    """

    places: tuple[PlaceChoice, ...]
    models: Callable[[], tuple[ModelChoice, ...]]
    limits: Callable[[Person], Limits]
    plan: Plan = QuotaPlan
    judge: Judge | None = None
    metering: Callable[[], timedelta | None] = lambda: None
    idle: Callable[[], IdlePlan] = IdlePlan
