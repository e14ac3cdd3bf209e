"""A lease whose machines were stopped and seen stopped: what it means when they run after all, or are gone.

Somebody may start them behind our back, in the provider's console. Then they cost money again, and nobody would know.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lessor.domain import billing
from lessor.domain.errors import instant
from lessor.domain.lease import Change, Event, Lease, State, changed, require_state
from lessor.domain.resource import COMPUTE, Condition, Resource


def machines(lease: Lease, condition: Condition) -> tuple[Resource, ...]:
    """The lease's resources as they are known once its machines were seen so."""
    return tuple(replace(one, condition=condition) if one.kind in COMPUTE else one for one in lease.resources)


def rests_since(lease: Lease) -> datetime | None:
    """Since when its machines have been seen stopped by intention; `None` while they should run, or still do."""
    if lease.state is State.SUSPENDED:
        return lease.suspended_at
    return lease.stopped_at if lease.state is State.STOPPED else None


def found_running(lease: Lease, seen_at: datetime, now: datetime) -> Change:
    """Its machines were started from outside and run since `seen_at`: they are billed from then on.

    What its owner still has is in use again, and stopped anew only by the usual ways, with their warnings. What is in
    its grace is over: it is stopped again, and the grace goes on as it was.
    """
    require_state(lease, State.SUSPENDED, State.STOPPED)
    since = max(min(instant("seen_at", seen_at), now), rests_since(lease) or now)
    over = lease.state is State.STOPPED
    hourly = lease.spans[-1].hourly if lease.spans else None
    event = Event("started-outside", now, "lessor", {"at": since.isoformat(), "state": lease.state.value})
    fields: dict[str, object] = {"spans": billing.opened(lease.spans, since, hourly), "suspended_at": None}
    fields["resources"] = machines(lease, Condition.RUNNING)
    if over:
        return changed(lease, event, state=State.ENDING, next_try=None, **fields)
    anew = dict.fromkeys(("announced", "capacity", "pause", "idle"))
    return changed(lease, event, state=State.ACTIVE, problem="", **anew, **fields)
