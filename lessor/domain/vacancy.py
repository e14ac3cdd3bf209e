"""What a form can say of the GPUs that somebody is about to ask for: are there any, and all in one machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from lessor.domain.pools import Census
from lessor.domain.request import Place

NAMELESS = "not all GPUs there say what model they are"


@dataclass(frozen=True)
class Vacancy:
    """One model in one place, in `unit`s; a number that is `None` is unknown, and `problem` says why.

    `largest` is the most that is free on one node or machine, `queued` how many wait in the place's own queue. A place
    that makes machines `on_demand` has no such numbers: what it has is known when it is tried.
    """

    place: Place
    model: str
    unit: str = "GPU"
    share: Fraction = Fraction(1)
    total: int | None = None
    free: int | None = None
    largest: int | None = None
    queued: int | None = None
    at: datetime | None = None
    on_demand: bool = False
    problem: str = ""

    def fits(self, count: int) -> bool | None:
        """Whether so many are free now; `None` where nobody knows."""
        return None if self.free is None else self.free >= count

    def together(self, count: int) -> bool | None:
        """Whether so many are free on one node or machine; `None` where nobody knows."""
        return None if self.largest is None else self.largest >= count


def vacancy(census: Census, model: str) -> Vacancy:
    """What the reading says of a model. One that a place read whole does not have is none at all there.

    Not where GPUs do not say what model they are: they may be it.
    """
    pool = next((one for one in census.pools if one.model == model), None)
    if pool is None:
        nameless = any(one.total and not one.model for one in census.pools)
        none = 0 if census.complete and not nameless else None
        problem = census.problem or (NAMELESS if nameless else "")
        return Vacancy(census.place, model, total=none, free=none, largest=none, at=census.at, problem=problem)
    return Vacancy(
        census.place,
        model,
        pool.unit,
        pool.share,
        pool.total,
        pool.free,
        pool.largest,
        pool.queued,
        census.at,
        problem=census.problem,
    )
