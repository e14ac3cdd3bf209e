"""What GPUs a place has: how many of each model, and what they are doing, as of a reading of the place.

A number is `None` where it could not be read, which is never zero and never free (law 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from lessor.domain.money import Money
from lessor.domain.request import Place


@dataclass(frozen=True)
class Pool:
    """All GPUs of one model in one place, counted in `unit`s: whole GPUs, or slices of them.

    `share` is what one unit is of a whole GPU: 1, or 2/7 for a slice of two sevenths. `total` are all units on nodes or
    machines that exist; `held` those that a pod, a claim or a lease holds now; `unhealthy` others on nodes that are
    cordoned, not ready or failed their check; `promised` those that leases may still take though nothing holds them;
    `reserved` those that a queue keeps without pods, or a calendar for the next lease; `free` what a new lease can get
    now, and `largest` the most of them on one node or machine. `queued` is how many wait for them in the place's own
    queue. `hourly` is what one unit costs an hour now, `None` where that is not known or differs between them.
    """

    place: Place
    model: str
    unit: str = "GPU"
    share: Fraction = Fraction(1)
    total: int | None = None
    free: int | None = None
    held: int | None = None
    promised: int | None = None
    reserved: int | None = None
    unhealthy: int | None = None
    largest: int | None = None
    queued: int | None = None
    hourly: Money | None = None


@dataclass(frozen=True)
class Holder:
    """Something that holds GPUs in a place, with or without a lease: a pod, a device claim, a machine.

    `who` names its owner where the place says so. `since` is when it began to hold them. `flag` says in words what is
    wrong with it, such as `held, never ran` or `claim without a consumer`; empty when nothing is. `cost` is what that
    came to so far at the place's rate; `None` where rate or time are unknown, or nothing is charged for it.
    """

    place: Place
    ref: str
    model: str
    units: int
    share: Fraction = Fraction(1)
    lease: str = ""
    who: str = ""
    since: datetime | None = None
    flag: str = ""
    cost: Money | None = None


@dataclass(frozen=True)
class Census:
    """One reading of one place. With a `problem` what could be read is still here, and the rest is unknown."""

    place: Place
    at: datetime
    pools: tuple[Pool, ...] = ()
    holders: tuple[Holder, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = field(default=())
    """What an administrator should know, such as a quota that is not enforced."""

    @property
    def complete(self) -> bool:
        return not self.problem
