"""What a lease has created in a place, and what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from lessor.domain.money import Money


class Kind(StrEnum):
    """Kinds of things that cost money or hold capacity. Values are the words used in messages."""

    INSTANCE = "instance"
    VOLUME = "volume"
    INTERFACE = "interface"
    ADDRESS = "address"
    SPOT_REQUEST = "spot-request"
    SNAPSHOT = "snapshot"
    NAMESPACE = "namespace"
    CLAIM = "claim"
    WORKLOAD = "workload"
    MACHINE = "machine"


COMPUTE = frozenset({Kind.INSTANCE, Kind.NAMESPACE, Kind.WORKLOAD, Kind.MACHINE})
"""Kinds that are billed by the hour and that a lease cannot be used without."""


LEASED = frozenset({Kind.INSTANCE, Kind.NAMESPACE, Kind.MACHINE})
"""The kinds that a lease is for: what else it has was made inside of or beside them."""


CARRIED = 1_000
"""How many things of one lease an answer carries at most, so that it fits into a message of the workflow server."""


class Condition(StrEnum):
    """What a resource was seen to be; `unknown` whenever it could not be read, which never means gone."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DELETING = "deleting"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Disk:
    """What a disk holds that somebody added to a lease, beside those of its launch, and since when it is the lease's.

    `gib` is exact, `monthly` the price of a GiB for a calendar month in UTC; `None` is unknown of both. `name` is what
    people call it.
    """

    since: datetime
    gib: int | Decimal | None
    monthly: Money | None
    name: str = ""


EVERY = "*"
"""The end of an id that stands for all of a kind, whatever there is: nobody could read it."""


@dataclass(frozen=True)
class Resource:
    """One thing in a place. `id` is the provider's; `reason` is the provider's own word for its state.

    `fault` says what is wrong with something that is there and was found unfit for use. `disk` is there only for a
    volume that the lease is charged for beside those of its launch. Of what is `unchecked` nobody could see whether
    something is wrong with it.
    """

    kind: Kind
    id: str
    condition: Condition = Condition.UNKNOWN
    region: str = ""
    zone: str = ""
    type: str = ""
    created_at: datetime | None = None
    reason: str = ""
    token: str = ""
    fault: str = ""
    disk: Disk | None = None
    unchecked: bool = False

    @property
    def ref(self) -> str:
        return f"{self.kind.value}:{self.id}"


def spelt_disk(disk: Resource) -> str:
    """A disk with its size, class and cost, as far as its place says: `claim gpu-7k3qxa2m/data, 100 GiB fast, ...`."""
    return ", ".join(filter(None, (f"{disk.kind.value} {disk.id.partition('@')[0]}", disk.type, disk.reason)))


@dataclass(frozen=True)
class Tagged(Resource):
    """A resource as a watch over a whole place sees it.

    `lease` is the lease whose tag it carries, empty if none; `changed_at` is when it came into its condition, as far
    as the provider says.
    """

    lease: str = ""
    changed_at: datetime | None = None

    @property
    def unread(self) -> bool:
        """Whether it stands for all of its kind that the lease may have."""
        return self.condition is Condition.UNKNOWN and self.id.endswith(f"/{EVERY}")


@dataclass(frozen=True)
class Sighting:
    """The answer of a look into a place. `complete` is false when any page, account or region could not be read.

    `foreign` are refs of what carries the lease's mark and is not shown to be ours: it never becomes a record of the
    lease, which would prove it. All that is left is kept on purpose before `kept_until`, where that is said. `unnamed`
    counts what was seen as well and is too much to carry: of what is not among `resources` nothing is known then.
    `unread` are kinds that may not be read where that is all that is missing: only of them nothing is known.
    """

    resources: tuple[Resource, ...]
    at: datetime
    complete: bool = True
    problem: str = ""
    foreign: tuple[str, ...] = ()
    kept_until: datetime | None = None
    unnamed: int = 0
    unread: tuple[Kind, ...] = ()

    def knows(self, *kinds: Kind) -> bool:
        """Whether all that there is of these kinds was read."""
        return self.complete or (bool(self.unread) and not set(kinds) & set(self.unread))

    @property
    def left(self) -> tuple[Resource, ...]:
        """What still exists or cannot be shown to be gone."""
        return tuple(r for r in self.resources if r.condition is not Condition.GONE)

    def cut(self, most: int = CARRIED) -> Sighting:
        """The same with `most` things at most, those first that decide what a lease is and costs."""
        if len(self.resources) <= most:
            return self
        first = sorted(self.resources, key=lambda one: (one.kind not in COMPUTE, one.disk is None))[:most]
        refs = {one.ref for one in first}
        foreign = tuple(ref for ref in self.foreign if ref in refs)
        return replace(self, resources=tuple(first), foreign=foreign, unnamed=len(self.resources) - most)

    @property
    def clean(self) -> bool:
        return self.complete and not self.left and not self.unnamed
