"""When a lease next needs attention. The workflow sleeps until then and asks again: a moved end undoes no timer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from lessor.domain.lease import Lease, State
from lessor.domain.request import spell


class Due(StrEnum):
    """What a deadline asks for."""

    LAPSE = "lapse"
    RETRY_CAPACITY = "retry-capacity"
    WARN = "warn"
    END = "end"
    DELETE = "delete"
    VERIFY = "verify"


@dataclass(frozen=True)
class Deadline:
    """`at` may be in the past, which means now. `before` is the warning's distance from the end, for `WARN`."""

    due: Due
    at: datetime
    before: timedelta = timedelta()

    @property
    def summary(self) -> str:
        """What the timer in the Temporal UI says."""
        what = {
            Due.LAPSE: "lapses unless somebody decides",
            Due.RETRY_CAPACITY: "tries again to find capacity",
            Due.WARN: f"warns the owner, {spell(self.before)} before the end",
            Due.END: "ends the lease",
            Due.DELETE: "deletes after grace",
            Due.VERIFY: "looks again that nothing is left",
        }
        return f"{what[self.due]} at {self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def next_deadline(lease: Lease, now: datetime) -> Deadline | None:
    """The next thing that time alone brings; `None` while only people or activities move the lease."""
    if lease.state is State.AWAITING_APPROVAL:
        return Deadline(Due.LAPSE, lease.lapses_at)
    if lease.state is State.WAITING_FOR_CAPACITY and lease.capacity:
        return Deadline(Due.RETRY_CAPACITY, lease.capacity.next_try)
    if lease.state is State.ACTIVE:
        return _active(lease, now)
    if lease.state is State.STOPPED and lease.stopped_at:
        return Deadline(Due.DELETE, lease.stopped_at + lease.terms.grace)
    if lease.state in (State.DELETING, State.BLOCKED):
        return Deadline(Due.VERIFY, lease.next_try or now)
    return None


def warning_distances(lease: Lease) -> tuple[timedelta, ...]:
    """How long before the end this lease warns, longest first; only distances that fit since that end was set.

    The longest is never shorter than the notice, as far as there is room: else the notice would outlast the end.
    """
    since = lease.end_set_at or lease.ready_at
    if since is None or lease.ends_at is None:
        return ()
    length = max(lease.ends_at - since, timedelta())
    terms = lease.terms
    chosen = terms.short_warnings if length < terms.short_lease else terms.warnings
    fitting = {d for d in chosen if timedelta() < d < length}
    if max(fitting, default=timedelta()) < terms.notice:
        fitting.add(min(terms.notice, length))
    return tuple(sorted(fitting, reverse=True))


def ends_no_earlier_than(lease: Lease) -> datetime | None:
    """When the lease may be stopped: its end, but never before a warning was delivered and its notice has passed.

    `None` while no warning has been delivered for the end that holds now (law 4).
    """
    if lease.ends_at is None or not lease.warned:
        return None
    first = min(warning.at for warning in lease.warned)
    return max(lease.ends_at, first + lease.terms.notice)


def _active(lease: Lease, now: datetime) -> Deadline | None:
    if lease.ends_at is None:
        return None
    warning = _next_warning(lease, lease.ends_at, now)
    end = ends_no_earlier_than(lease)
    if warning and (end is None or warning.at < end):
        return warning
    return Deadline(Due.END, end) if end else None


def _next_warning(lease: Lease, ends_at: datetime, now: datetime) -> Deadline | None:
    """The next warning to deliver. Of several that are overdue only the most urgent one is sent."""
    delivered = min((w.before for w in lease.warned), default=None)
    open_ones = [d for d in warning_distances(lease) if delivered is None or d < delivered]
    if not open_ones:
        return None
    overdue = [d for d in open_ones if ends_at - d <= now]
    before = overdue[-1] if overdue else open_ones[0]
    at = ends_at - before
    return Deadline(Due.WARN, max(at, lease.next_try) if lease.next_try else at, before)
