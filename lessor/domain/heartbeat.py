"""Whether the meter itself still beats: seen from outside, since who is dead cannot say so (case E17)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from lessor.domain.lease import Lease, State, minute

MISSED = 3
"""Ticks in a row that may be missing before people are told."""


def overdue(last: datetime | None, leases: Iterable[Lease], every: timedelta, now: datetime) -> str:
    """Why nobody watches what leases do, in words; empty while the meter beats or nothing runs that it could meter.

    `last` is its latest tick on record. Leases end by their own clocks all the same.
    """
    running = [lease.ready_at for lease in leases if lease.state is State.ACTIVE and lease.ready_at]
    if not running:
        return ""
    since = last or min(running)
    if now - since <= MISSED * every:
        return ""
    seen = f"the latest tick of the meter was at {minute(last)}" if last else "the meter has never ticked"
    return (
        f"{seen}, and it is to tick every {every.total_seconds():.0f} s; nothing is stopped as idle until it does, and "
        "leases end when they should. See whether a worker runs and whether the schedule lessor-meter is paused"
    )
