"""What may happen to a lease from approval to the end of its grace; `takedown` has the rest, reached from here too."""

from __future__ import annotations

from datetime import datetime, timedelta

from lessor.domain import billing, storage
from lessor.domain.deadlines import ends_no_earlier_than
from lessor.domain.disks import NAMED, listed
from lessor.domain.errors import Refused, instant
from lessor.domain.extension import extend, require_time_left
from lessor.domain.lease import IN_USE, Capacity, Change, Event, Lease, State, Warned, changed, minute, require_state
from lessor.domain.money import Money
from lessor.domain.quote import Offer
from lessor.domain.request import spell
from lessor.domain.resource import Condition, Resource, spelt_disk
from lessor.domain.resting import machines
from lessor.domain.takedown import (
    OVER,
    cancel,
    deleting,
    launched_late,
    looked,
    lost,
    observed,
    resumed,
    start_deleting,
)

__all__ = [
    "cancel",
    "end",
    "end_unwritten",
    "extend",
    "fail",
    "keep",
    "launched_late",
    "looked",
    "lost",
    "observed",
    "ready",
    "release",
    "restore",
    "restore_failed",
    "restored",
    "resumed",
    "start_deleting",
    "start_provisioning",
    "stop_failed",
    "stopped",
    "too_late",
    "wait_for_capacity",
    "warned",
    "warning_undelivered",
]

ALTERNATIVES = 5
"""Other offers that somebody is shown who waits for capacity."""

RELEASED = "released by "
"""With the id of whoever gave it back behind it, why a lease ended before its end date."""


def start_provisioning(lease: Lease, now: datetime) -> Change:
    """From here on something may exist: whoever calls this has registered the undo."""
    require_state(lease, State.APPROVED, State.WAITING_FOR_CAPACITY)
    tries = str(lease.capacity.tries + 1 if lease.capacity else 1)
    return changed(lease, Event("provisioning", now, "lessor", {"try": tries}), state=State.PROVISIONING)


def too_late(lease: Lease, now: datetime) -> str:
    """Why nothing is started any more, in words; empty while there is time left to use."""
    until = lease.request.until
    if until is None or until > now:
        return ""
    begin = f", reserved from {minute(lease.request.start)}," if lease.request.start else ""
    return f"the end asked for, {minute(until)}, came before it could start{begin} so nothing was created"


def wait_for_capacity(lease: Lease, tried: tuple[str, ...], now: datetime) -> Change:
    """No capacity anywhere: wait and try again, or fail once the waits of the terms are used up or the end comes first.

    A stopped lease that was asked back does not wait: it returns to grace, where its owner can ask again.
    """
    require_state(lease, State.PROVISIONING)
    before = lease.capacity
    tries = (before.tries if before else 0) + 1
    places = ", ".join(tried) or "nothing"
    if lease.restoring or tries > len(lease.terms.capacity_waits):
        return fail(lease, f"no capacity after {tries} {'try' if tries == 1 else 'tries'}; tried {places}", now)
    next_try = now + lease.terms.capacity_waits[tries - 1]
    until = lease.request.until
    if until is not None and next_try >= until:
        return fail(lease, f"no capacity, and the end asked for comes before the next try; tried {places}", now)
    others = _alternatives(lease)
    capacity = Capacity(tries, tried, next_try, before.first_try if before else now, others)
    data = {"tried": places, "next_try": next_try.isoformat()}
    if others:
        data["alternatives"] = ", ".join(f"{one.instance_type} ({one.market.value})" for one in others)
    event = Event("no-capacity", now, "lessor", data)
    return changed(lease, event, state=State.WAITING_FOR_CAPACITY, capacity=capacity)


def fail(lease: Lease, problem: str, now: datetime) -> Change:
    """It cannot be provisioned; what may exist is undone before it is `failed`. The requester reads `problem`.

    Once anything was tried something may exist, so only a clean look ends it (law 12). A stopped lease that cannot
    be started again is not deleted for that: it returns to grace.
    """
    require_state(lease, State.APPROVED, State.PROVISIONING, State.WAITING_FOR_CAPACITY)
    if lease.restoring:
        return restore_failed(lease, problem, now)
    if lease.state is State.APPROVED:
        event = Event("failed", now, "lessor", {"problem": problem})
        return changed(lease, event, state=State.FAILED, problem=problem, closed_at=now)
    event = Event("provisioning-failed", now, "lessor", {"problem": problem})
    return deleting(lease, event, now, outcome=State.FAILED, problem=problem, ending_reason=problem)


def ready(
    lease: Lease,
    resources: tuple[Resource, ...],
    access: str,
    launched_at: datetime,
    hourly: Money | None,
    now: datetime,
    *,
    stoppable: bool = True,
    volatile: bool = False,
    disk_gib: int = 0,
    disk_monthly: Money | None = None,
) -> Change:
    """Usable from now on: the clock of a duration starts here, the bill started at `launched_at`.

    `disk_gib` are billed at `disk_monthly` for each and month; `volatile` disks lose what is on them with a stop.
    """
    _require_provisioning(lease, restoring=False)
    since = instant("launched_at", launched_at)
    wanted = lease.request.until or now + (lease.request.duration or timedelta())
    ends_at = min(wanted, now + lease.terms.max_total)
    refs = ", ".join(r.ref for r in resources)
    data = {"resources": refs, "ends": ends_at.isoformat(), "hourly": _price(hourly)}
    data |= {"disk_gib": str(disk_gib), "disk_monthly": _price(disk_monthly)} if disk_gib else {}
    data |= {"volatile": "yes"} if volatile else {}
    return changed(
        lease,
        Event("ready", now, "lessor", data),
        state=State.ACTIVE,
        resources=resources,
        access=access,
        ready_at=now,
        ends_at=ends_at,
        end_set_at=now,
        spans=billing.opened(lease.spans, since, hourly),
        storage=storage.opened(lease.storage, since, disk_gib, disk_monthly),
        stoppable=stoppable,
        volatile=volatile,
        capacity=None,
    )


def warned(lease: Lease, before: timedelta, via: str, now: datetime) -> Change:
    """A warning was delivered; only delivered ones count."""
    require_state(lease, *IN_USE)
    event = Event("warned", now, "lessor", {"before": spell(before), "via": via, "ends": _iso(lease.ends_at)})
    return changed(lease, event, warned=(*lease.warned, Warned(before, now, via)), next_try=None)


def warning_undelivered(lease: Lease, problem: str, retry_at: datetime, now: datetime) -> Change:
    """Nobody could be reached: the lease lives on until somebody is (law 4)."""
    require_state(lease, *IN_USE)
    return changed(lease, Event("warning-undelivered", now, "lessor", {"problem": problem}), next_try=retry_at)


def keep(lease: Lease, by: str, now: datetime) -> Change:
    """The owner has read a warning and lets the lease run to its end."""
    require_state(lease, *IN_USE)
    return changed(lease, Event("kept", now, by, {"ends": _iso(lease.ends_at)}))


def release(lease: Lease, by: str, now: datetime) -> Change:
    """The owner (or an administrator) gives the resource back before its end, or does without the rest of its grace."""
    require_state(lease, *IN_USE, State.STOPPED)
    event = Event("released", now, by, {})
    why = f"{RELEASED}{by}"
    if lease.state is State.STOPPED:
        return deleting(lease, event, now, ending_reason=why)
    ends_at = min(lease.ends_at or now, now)
    return changed(lease, event, state=State.ENDING, ending_reason=why, ends_at=ends_at, capacity=None, **OVER)


def end(lease: Lease, now: datetime) -> Change:
    """The end has come. Raises `Refused` ("not-due") before it, or before a delivered warning's notice (law 4)."""
    require_state(lease, *IN_USE)
    earliest = ends_no_earlier_than(lease)
    if earliest is None or now < earliest:
        why = f"it may end at {minute(earliest)}" if earliest else "nobody has been warned yet"
        raise Refused("not-due", f"{lease.id} cannot be stopped now: {why}")
    event = Event("ended", now, "lessor", {"end": _iso(lease.ends_at)})
    return changed(lease, event, state=State.ENDING, ending_reason="its end date", capacity=None, **OVER)


def stopped(lease: Lease, stopped_at: datetime, now: datetime, disks: tuple[Resource, ...] = ()) -> Change:
    """Seen stopped; grace begins, or goes on after somebody started it from outside. The bill ended at `stopped_at`.

    `disks` are claims and volumes that were seen then (case D08): the first are on the lease, the others as a number.
    """
    require_state(lease, State.ENDING)
    ended_at = min(instant("stopped_at", stopped_at), now)
    since = lease.stopped_at or now
    data = {"at": _iso(ended_at), "deletes": _iso(since + lease.terms.grace)}
    data |= {"disks": listed(disks, spelt_disk)} if disks else {}
    event = Event("stopped", now, "lessor", data)
    fields: dict[str, object] = {"spans": billing.ended(lease.spans, ended_at), "next_try": None, "problem": ""}
    seen = {one.ref for one in disks[:NAMED]}
    others = tuple(one for one in machines(lease, Condition.STOPPED) if one.ref not in seen)
    fields["resources"] = (*others, *disks[:NAMED])
    return changed(lease, event, state=State.STOPPED, stopped_at=since, **fields)


def restore(lease: Lease, until: datetime, by: str, now: datetime) -> Change:
    """The owner asks for a stopped lease back during grace; the workflow starts it again."""
    require_state(lease, State.STOPPED)
    until = instant("until", until)
    require_time_left(lease, until, now)
    if lease.last_end is not None and until > lease.last_end:
        raise Refused(
            "beyond-maximum",
            f"the lease may run until {minute(lease.last_end)} at the latest; nothing was changed, "
            "give an earlier end or ask for a new lease",
        )
    event = Event("restore-asked", now, by, {"to": _iso(until)})
    return changed(lease, event, state=State.PROVISIONING, ends_at=until, end_before_restore=lease.ends_at)


def restored(lease: Lease, started_at: datetime, now: datetime) -> Change:
    """Seen running again until the end that the owner asked for."""
    _require_provisioning(lease, restoring=True)
    hourly = lease.spans[-1].hourly if lease.spans else None
    return changed(
        lease,
        Event("restored", now, "lessor", {"ends": _iso(lease.ends_at)}),
        state=State.ACTIVE,
        stopped_at=None,
        ending_reason="",
        problem="",
        end_set_at=now,
        end_before_restore=None,
        extensions=lease.extensions + 1,
        hold_over=False,
        spans=billing.opened(lease.spans, instant("started_at", started_at), hourly),
        resources=machines(lease, Condition.RUNNING),
        warned=(),
    )


def restore_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be started again. It may run all the same, so it is stopped once more and has its grace anew."""
    _require_provisioning(lease, restoring=True)
    event = Event("restore-failed", now, "lessor", {"problem": problem})
    back = {"ends_at": lease.end_before_restore, "end_before_restore": None, "problem": problem, "stopped_at": None}
    return changed(lease, event, state=State.ENDING, ending_reason=f"restore failed: {problem}", **back)


def stop_failed(lease: Lease, problem: str, now: datetime) -> Change:
    """It could not be stopped: nothing is deleted, people are told, and it is tried again."""
    require_state(lease, State.ENDING)
    next_try = now + lease.terms.blocked_retry
    event = Event("stop-failed", now, "lessor", {"problem": problem, "next_try": _iso(next_try)})
    return changed(lease, event, problem=problem, next_try=next_try)


def end_unwritten(lease: Lease, problem: str, now: datetime) -> Change:
    """The end date could not be written on the resources; on record, since the guard reads it there."""
    return changed(lease, Event("end-unwritten", now, "lessor", {"problem": problem}))


def _alternatives(lease: Lease) -> tuple[Offer, ...]:
    """What else would have fitted, cheapest first, without what was tried."""
    if lease.quote is None:
        return ()
    chosen = (lease.quote.offer.instance_type, lease.quote.offer.market)
    others = (one for one in lease.quote.alternatives if (one.instance_type, one.market) != chosen)
    return tuple(others)[:ALTERNATIVES]


def _require_provisioning(lease: Lease, *, restoring: bool) -> None:
    require_state(lease, State.PROVISIONING)
    if lease.restoring is not restoring:
        wanted = "started again" if lease.restoring else "created"
        raise Refused("wrong-state", f"{lease.id} is being {wanted}")


def _price(price: Money | None) -> str:
    return price.exact if price else "unknown"


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""
