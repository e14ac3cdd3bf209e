"""A lease that stands in the queue of a cluster: it keeps its turn, is looked at often, and waits as long as others."""

from __future__ import annotations

from datetime import datetime, timedelta

from lessor.domain.lease import Capacity, Change, Event, Lease, State, changed, require_state
from lessor.domain.life import fail
from lessor.domain.request import spell

LOOK = timedelta(minutes=10)
"""The pause between two looks: so long may what the queue has let go run before its owner has it."""


def wait_in_queue(lease: Lease, stands: tuple[str, ...], now: datetime) -> Change:
    """It is not its turn yet: what was made of it stays, and nothing is tried anew. `stands` says where, in words.

    It fails once it has waited as long as the waits of its terms come to, or when its end would come first. A change
    of place is on record; people are told once that it waits.
    """
    require_state(lease, State.PROVISIONING)
    before = lease.capacity
    first = before.first_try if before else now
    most = sum(lease.terms.capacity_waits, timedelta())
    where = ", ".join(stands) or "in its queue"
    next_try = now + LOOK
    if lease.restoring or next_try > first + most:
        return fail(lease, f"its turn did not come within {spell(most)}; it was {where}", now)
    until = lease.request.until
    if until is not None and next_try >= until:
        return fail(lease, f"its turn did not come before the end asked for; it was {where}", now)
    waited = before is not None and before.queued
    tries = (before.tries if before else 0) + (0 if waited else 1)
    event = Event(
        "still-queued" if waited else "queued", now, "lessor", {"where": where, "looks": next_try.isoformat()}
    )
    capacity = Capacity(tries, stands, next_try, first, queued=True)
    return changed(lease, event, state=State.WAITING_FOR_CAPACITY, capacity=capacity)
