"""What became of a request, for those who are told before everything that was tried of it is gone."""

from __future__ import annotations

from lessor.domain.lease import Lease, State

DECIDED = (State.DENIED, State.WITHDRAWN, State.LAPSED)


def verdict(lease: Lease) -> State:
    """The state of the lease, or the one that it comes to once nothing is left, where that is the decision on it.

    A request that was changed while it waited for capacity is looked for before it is over (law 12); that it was
    denied is said at once.
    """
    leads_there = lease.state in (State.DELETING, State.BLOCKED) and lease.outcome in DECIDED
    return lease.outcome if leads_there else lease.state
