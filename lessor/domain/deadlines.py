"""When a lease next needs attention. The workflow sleeps until then and asks again: a moved end undoes no timer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from lessor.domain import asking, capping, rungs, suspension
from lessor.domain.approval import waiting
from lessor.domain.asking import Call, next_call
from lessor.domain.ladder import Rung
from lessor.domain.lease import Lease, State
from lessor.domain.ownership import MOVABLE
from lessor.domain.questions import waits_for_requester
from lessor.domain.request import spell
from lessor.domain.worktime import is_open, last_open

URGENT = timedelta(hours=2)
"""Warnings this long before the end and shorter come as they fall, at night too."""


class Due(StrEnum):
    """What a deadline asks for."""

    ASK = "ask"
    REMIND = "remind"
    ESCALATE = "escalate"
    LAPSE = "lapse"
    START = "start"
    RETRY_CAPACITY = "retry-capacity"
    WISH = "wish"
    WARN = "warn"
    END = "end"
    SUSPEND_WARN = "suspend-warn"
    SUSPEND = "suspend"
    RESUME = "resume"
    IDLE_WARN = "idle-warn"
    IDLE_FINAL = "idle-final"
    IDLE_STOP = "idle-stop"
    IDLE_LOOK = "idle-look"
    CAP = "cap"
    DELETE = "delete"
    VERIFY = "verify"
    OFFER = "offer"


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
            Due.ASK: "asks who decides next",
            Due.REMIND: "reminds those who decide",
            Due.ESCALATE: "asks the next level as well",
            Due.LAPSE: "lapses unless somebody decides",
            Due.START: "begins what was reserved",
            Due.RETRY_CAPACITY: "tries again to find capacity",
            Due.WISH: "reminds of the wish for a later end, or lets it lapse",
            Due.WARN: f"warns the owner, {spell(self.before)} before the end",
            Due.END: "ends the lease",
            Due.SUSPEND_WARN: "announces that it is stopped outside its working hours",
            Due.SUSPEND: "stops it until its working hours begin again",
            Due.RESUME: "starts it again for its working hours",
            Due.IDLE_WARN: "looks whether it is still idle, and warns",
            Due.IDLE_FINAL: "looks whether it is still idle, and warns a last time",
            Due.IDLE_STOP: "looks whether it is still idle, and stops it",
            Due.IDLE_LOOK: "looks again whether it is idle",
            Due.CAP: "tells how much of its cap is used, or stops it at its cap",
            Due.DELETE: "deletes after grace",
            Due.VERIFY: "looks again that nothing is left",
            Due.OFFER: "ends the offer to take it over",
        }
        return f"{what[self.due]} at {self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def next_deadline(lease: Lease, now: datetime, *, idle: bool = True) -> Deadline | None:
    """The next thing that time alone brings; `None` while only people or activities move the lease.

    Without what its being `idle` brings, while that is being dealt with.
    """
    waits = _WAITS.get(lease.state)
    found = (waits(lease, now) if waits else None, _offer(lease), _idle(lease, now) if idle else None)
    return min((one for one in found if one), key=lambda one: one.at, default=None)


def _offer(lease: Lease) -> Deadline | None:
    """When the offer to take the lease over ends, while it can still be taken."""
    if lease.transfer is None or lease.transfer.expires is None or lease.state not in MOVABLE:
        return None
    return Deadline(Due.OFFER, lease.transfer.expires)


def warning_distances(lease: Lease) -> tuple[timedelta, ...]:
    """How long before the end this lease warns, longest first; only distances that fit since that end was set.

    The longest is never shorter than the notice, as far as there is room: else the notice would outlast the end.
    What would fall into the owner's night and cannot come the evening before is left out, unless it is urgent.
    """
    since, ends_at = lease.end_set_at or lease.ready_at, lease.runs_until
    if since is None or ends_at is None:
        return ()
    length = max(ends_at - since, timedelta())
    terms = lease.terms
    chosen = terms.short_warnings if length < terms.short_lease else terms.warnings
    fitting = {d for d in chosen if timedelta() < d < length and _warns_at(lease, ends_at, d) >= since}
    if max(fitting, default=timedelta()) < terms.notice:
        fitting.add(min(terms.notice, length))
    return tuple(sorted(fitting, reverse=True))


def ends_no_earlier_than(lease: Lease) -> datetime | None:
    """When the lease may be stopped: its end, but never before a warning was delivered and its notice has passed.

    `None` while no warning has been delivered for the end that holds now (law 4).
    """
    if lease.runs_until is None or not lease.warned:
        return None
    first = min(warning.at for warning in lease.warned)
    return max(lease.runs_until, first + lease.terms.notice)


def _in_use(lease: Lease, now: datetime) -> Deadline | None:
    """The first of what its end, a wish for a later one, its cap and its working hours bring."""
    end = _end(lease, now)
    rest = _rest(lease, now, ends_no_earlier_than(lease) or lease.runs_until)
    found = [_wish(lease), end, _cap(lease, now), *rest]
    return min((one for one in found if one), key=lambda one: one.at, default=None)


def _end(lease: Lease, now: datetime) -> Deadline | None:
    if lease.runs_until is None:
        return None
    warning = _next_warning(lease, lease.runs_until, now)
    end = ends_no_earlier_than(lease)
    if warning and (end is None or warning.at < end):
        return warning
    return Deadline(Due.END, end) if end else None


def wish_lapses(lease: Lease) -> datetime | None:
    """When an undecided wish for a later end lapses: with the time of those who decide, or with the end put off."""
    if lease.wish is None or lease.runs_until is None:
        return None
    ends = [step.lapses_at for step in waiting(lease.wish.steps) if step.lapses_at]
    return min([*ends, max(lease.runs_until, lease.wish.at)])


def _wish(lease: Lease) -> Deadline | None:
    """What a wish calls for next: a reminder, the next level, or that it lapses."""
    lapses_at = wish_lapses(lease)
    if lapses_at is None or lease.wish is None:
        return None
    call = next_call(lease.wish.steps)
    return Deadline(Due.WISH, min(lapses_at, call[1]) if call else lapses_at)


_IDLE = {Rung.WARN: Due.IDLE_WARN, Rung.FINAL: Due.IDLE_FINAL, Rung.STOP: Due.IDLE_STOP}


def _idle(lease: Lease, now: datetime) -> Deadline | None:
    """The next step of an idle lease, or another look where a verdict was not believed."""
    if lease.state is State.ACTIVE and lease.disputed is not None:
        return Deadline(Due.IDLE_LOOK, lease.disputed.until)
    step = rungs.next_step(lease, now)
    return Deadline(_IDLE[step.rung], step.at) if step else None


def _cap(lease: Lease, now: datetime) -> Deadline | None:
    """When people hear how much of its cap is used, or it is stopped for it."""
    step = capping.next_step(lease, now)
    return Deadline(Due.CAP, step.at) if step else None


def _rest(lease: Lease, now: datetime, ends_at: datetime | None) -> list[Deadline]:
    """What the working hours bring next; nothing that would come with the end or after it."""
    found = _resting(lease, now) if lease.state is State.SUSPENDED else _running(lease, now)
    return [one for one in found if ends_at is None or one.at < ends_at]


def _running(lease: Lease, now: datetime) -> list[Deadline]:
    told = suspension.announcement(lease, now)
    if told:
        return [Deadline(Due.SUSPEND, told.stops_at)]
    stops_at = suspension.stop_to_announce(lease, now)
    if stops_at is None or (lease.runs_until and stops_at >= lease.runs_until):
        return []
    at = stops_at - lease.terms.suspend_notice
    return [Deadline(Due.SUSPEND_WARN, max(at, lease.next_try) if lease.next_try else at)]


def _resting(lease: Lease, now: datetime) -> list[Deadline]:
    if lease.pause is not None:
        tried = lease.announced.next_try if lease.announced else None
        return [] if lease.suspended_at else [Deadline(Due.SUSPEND, tried or lease.pause.at)]
    since = max(now, lease.capacity.next_try) if lease.capacity else now
    found = [Deadline(Due.RESUME, suspension.runs_again(lease, since))]
    if lease.suspended_at is None and lease.announced and not suspension.wanted(lease, now):
        found.append(Deadline(Due.SUSPEND, lease.announced.next_try or lease.announced.stops_at))
    return found


def _next_warning(lease: Lease, ends_at: datetime, now: datetime) -> Deadline | None:
    """The next warning to deliver. Of several that are overdue only the most urgent one is sent."""
    delivered = min((w.before for w in lease.warned), default=None)
    open_ones = [d for d in warning_distances(lease) if delivered is None or d < delivered]
    if not open_ones:
        return None
    overdue = [d for d in open_ones if _warns_at(lease, ends_at, d) <= now]
    before = overdue[-1] if overdue else open_ones[0]
    at = _warns_at(lease, ends_at, before)
    return Deadline(Due.WARN, max(at, lease.next_try) if lease.next_try else at, before)


def _warns_at(lease: Lease, ends_at: datetime, before: timedelta) -> datetime:
    """When a warning is due: at its distance, or in the owner's waking hours before that, unless it is urgent."""
    at = ends_at - before
    if before <= URGENT or is_open(lease.owner_hours, at):
        return at
    return last_open(lease.owner_hours, at)


def _decision(lease: Lease, now: datetime) -> Deadline:
    """What the steps call for, and the lapse. While the requester has to answer first nobody is reminded."""
    call = asking.next_call(lease.steps, paused=waits_for_requester(lease))
    if call is None or call[0] is Call.LAPSE or lease.lapses_at <= call[1]:
        return Deadline(Due.LAPSE, lease.lapses_at)
    return Deadline(Due(call[0].value), call[1])


def _start(lease: Lease, now: datetime) -> Deadline | None:
    return Deadline(Due.START, lease.request.start) if lease.request.start else None


def _capacity(lease: Lease, now: datetime) -> Deadline | None:
    return Deadline(Due.RETRY_CAPACITY, lease.capacity.next_try) if lease.capacity else None


def _grace(lease: Lease, now: datetime) -> Deadline | None:
    return Deadline(Due.DELETE, lease.stopped_at + lease.terms.grace) if lease.stopped_at else None


def _look(lease: Lease, now: datetime) -> Deadline:
    return Deadline(Due.VERIFY, lease.next_try or now)


_WAITS: dict[State, Callable[[Lease, datetime], Deadline | None]] = {
    State.AWAITING_APPROVAL: _decision,
    State.APPROVED: _start,
    State.WAITING_FOR_CAPACITY: _capacity,
    State.ACTIVE: _in_use,
    State.SUSPENDED: _in_use,
    State.STOPPED: _grace,
    State.DELETING: _look,
    State.BLOCKED: _look,
}
"""Which deadline each state has; the other states are moved by activities, or not at all."""
