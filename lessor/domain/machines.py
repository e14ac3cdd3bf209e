"""The organisation's own machines: what there is of each, and whether it is fit for use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lessor.domain.money import Money
from lessor.domain.resource import Kind, Resource

SHARED = "GPU "
PASSED_ONCE = "it passed its check again, and has to once more before anybody gets it"
"""What is said of an unfit machine that passed its latest check, and no other before that."""


@dataclass(frozen=True)
class Machine:
    """One machine of a pool. `whole` says that it is leased as one, else GPU by GPU.

    `hourly` is what an hour of one GPU costs, from the instant `since` on if that is given; `None` is unknown.
    `withdrawn` says why nobody may lease it now; empty if it may be leased. `memory_gib` is 0 where it is unknown.
    """

    name: str
    model: str
    gpus: int
    memory_gib: int = 0
    address: str = ""
    room: str = ""
    owner: str = ""
    hourly: Money | None = None
    since: datetime | None = None
    whole: bool = True
    withdrawn: str = ""

    def rate(self, at: datetime) -> Money | None:
        """What an hour of one GPU costs at `at`; `None` is unknown."""
        return None if self.since is not None and at < self.since else self.hourly

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its GPUs, as they are numbered."""
        return tuple(range(self.gpus))


def spelt_gpus(numbers: Iterable[int]) -> str:
    """GPUs of a machine as the type of a resource: `GPU 0, 2`."""
    return f"{SHARED}{', '.join(map(str, numbers))}"


def gpus_of(resource: Resource) -> tuple[str, ...]:
    """The GPUs that are the lease's on a machine which others may have the rest of; none where it has all of it."""
    if resource.kind is not Kind.MACHINE or not resource.type.startswith(SHARED):
        return ()
    return tuple(number.strip() for number in resource.type.removeprefix(SHARED).split(","))


class Fitness(StrEnum):
    """What a health check came to; `unknown` when it could not be made, which is neither fit nor unfit."""

    FIT = "fit"
    UNFIT = "unfit"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Health:
    """What the latest check of a machine found, and since when it has found that. `words` say what is wrong."""

    machine: str
    fitness: Fitness
    at: datetime
    since: datetime
    words: str = ""

    def after(self, before: Health | None) -> Health:
        """This finding with the time since when it holds, by the one before it.

        What was unfit is well once it has passed twice, so that one that comes and goes is told once and given to
        nobody; a check that could not be made says nothing of it.
        """
        now = self
        if before is not None and before.fitness is Fitness.UNFIT:
            if self.fitness is Fitness.UNKNOWN:
                now = replace(before, at=self.at)
            elif self.fitness is Fitness.FIT and before.words != PASSED_ONCE:
                now = replace(self, fitness=Fitness.UNFIT, words=PASSED_ONCE)
        return replace(now, since=before.since) if before is not None and before.fitness is now.fitness else now
