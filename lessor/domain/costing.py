"""What a lease costs, line by line: what its machines cost, what its disks cost, what the time it did nothing cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import billing, disks, storage
from lessor.domain.lease import Lease
from lessor.domain.money import Money


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
    """What of `storage_cost` disks have that people added; `None` when that is unknown or there are none.

    It is what those of the launch leave of the sum, so that the two add up to it to the last digit.
    """
    if not (mine := disks.added(lease.storage)):
        return None
    both = storage_cost(lease, now)
    of_launch = storage.cost(disks.base(lease.storage), now, lease.currency)
    if both is None or of_launch is None:
        return storage.cost(mine, now, lease.currency)
    return both - of_launch


def idle_cost(lease: Lease, since: datetime, now: datetime) -> Money | None:
    """What the lease cost between `since` and `now`, machines and disks; `None` when a part of that is unknown."""
    spans = [replace(s, start=max(s.start, since)) for s in lease.spans if s.end is None or s.end > since]
    kept = [replace(s, start=max(s.start, since)) for s in lease.storage if s.end is None or s.end > since]
    return replace(lease, spans=tuple(spans), storage=tuple(kept)).cost(now)
