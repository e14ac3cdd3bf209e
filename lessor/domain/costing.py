"""What a lease costs, line by line: what its machines cost, what its disks cost, what the time it did nothing cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from lessor.domain import billing, disks, storage
from lessor.domain.lease import Lease
from lessor.domain.money import Money


@dataclass(frozen=True)
class AddedDisks:
    """How many are there, how large they are together, what a month of them costs, what all of them cost so far.

    Money that is unknown is `None`; those that are gone are part of the cost alone.
    """

    count: int
    size: str
    monthly: Money | None
    cost: Money | None


def compute_cost(lease: Lease, now: datetime) -> Money | None:
    """What its machines cost so far while they ran; `None` when any part has an unknown price."""
    return billing.cost(lease.spans, now, lease.currency)


def storage_cost(lease: Lease, now: datetime) -> Money | None:
    """What its disks cost so far, running or stopped; `None` when any part has an unknown price.

    Together with `compute_cost` this is `lease.cost` exactly: each line is rounded once. A snapshot that is kept after
    the lease is not part of it: it outlives the lease, and only the provider knows what changed blocks it holds.
    """
    return storage.cost(lease.storage, now, lease.currency)


def added_cost(lease: Lease, now: datetime) -> Money | None:
    """What of `storage_cost` disks have that people added; `None` when that is unknown.

    It is what those of the launch leave of the sum, so that the two add up to it to the last digit.
    """
    both = storage_cost(lease, now)
    of_launch = storage.cost(disks.base(lease.storage), now, lease.currency)
    if both is None or of_launch is None:
        return storage.cost(disks.added(lease.storage), now, lease.currency)
    return both - of_launch


def added_disks(lease: Lease, now: datetime) -> AddedDisks | None:
    """Disks that people added, in a few figures; `None` when there never were any."""
    mine = disks.added(lease.storage)
    there = [one for one in mine if one.end is None]
    known = [one.gib for one in there if one.gib]
    size = disks.spelt_size(sum(known, Decimal(0))) + (
        " and more of unknown size" if 0 < len(known) < len(there) else ""
    )
    return AddedDisks(len(there), size, storage.monthly(there), added_cost(lease, now)) if mine else None


def idle_cost(lease: Lease, since: datetime, now: datetime) -> Money | None:
    """What the lease cost between `since` and `now`, machines and disks; `None` when a part of that is unknown."""
    spans = [replace(s, start=max(s.start, since)) for s in lease.spans if s.end is None or s.end > since]
    kept = [replace(s, start=max(s.start, since)) for s in lease.storage if s.end is None or s.end > since]
    return replace(lease, spans=tuple(spans), storage=tuple(kept)).cost(now)
