"""Whether a lease's end is still ahead: nobody waits for a date in the past, or for one that was given up."""

from __future__ import annotations

from datetime import datetime

from lessor.domain.lease import Lease
from lessor.domain.states import FINAL, State

OVER = FINAL | {State.ENDING, State.STOPPED, State.DELETING, State.BLOCKED}
"""States in which nobody can use it any more, whatever end was set."""


def ahead(lease: Lease) -> datetime | None:
    """The end that is still to come; `None` once its use is over, or while only a length is known."""
    return None if lease.state in OVER else lease.ends_at or lease.request.until


def over(lease: Lease) -> datetime | None:
    """When its use was over, as it was seen stopped or taken down; `None` before, and for what was never usable."""
    if lease.state not in OVER or lease.ready_at is None:
        return None
    return lease.stopped_at or lease.deleting_at or lease.closed_at or lease.ends_at


def at_the_earliest(lease: Lease, now: datetime) -> datetime | None:
    """When a lease in use ends for somebody who is warned `now`: never without the notice of a warning (law 4)."""
    if lease.runs_until is None:
        return None
    warned = min((one.at for one in lease.warned), default=now)
    return max(lease.runs_until, warned + lease.terms.notice)
