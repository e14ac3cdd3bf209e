"""What is seen of machines: a booking says whose one is, the executable that asks it says who gets in.

Neither is believed alone. What could not be asked is unknown; somebody who gets in without a booking is not of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain.bookings import TAKEN, Booking, Phase
from lessor.domain.machines import Fitness, Health, spelt_gpus
from lessor.domain.resource import Condition, Kind, Resource
from lessor.providers.machines.hooks import Access
from lessor.providers.machines.letting import hooks_gone
from lessor.providers.machines.pool import Pool

NOT_OURS = "people get in for this lease, but nothing shows that lessor let them in"
CLOSED = "nobody gets in any more, though lessor did not lock them out"
SHOWN_WITHIN = timedelta(minutes=10)
"""A launch this young whose answer never came may be under way still (case C08)."""


def as_launched(bookings: Sequence[Booking]) -> tuple[Resource, ...]:
    """What was taken, before anybody is let in."""
    return tuple(_resource(one, Condition.PENDING, "") for one in bookings if one.phase in TAKEN)


def resource(pool: Pool, booking: Booking, access: Access, health: Mapping[str, Health]) -> Resource:
    """A booking as it is seen now; one that was never taken is nothing yet."""
    people = access.people(booking.machine, booking.lease_id)
    condition, why = _condition(booking, people) if pool.commands.let_in else _unasked(pool, booking)
    ill = health.get(booking.machine)
    fault = ill.words or "it did not pass its health check" if ill and ill.fitness is Fitness.UNFIT else ""
    return replace(_resource(booking, condition, why), fault=fault if booking.phase in TAKEN else "")


def unread(pool: Pool, bookings: Iterable[Booking], access: Access) -> tuple[str, ...]:
    """Machines of bookings of which it could not be seen who gets in."""
    if not pool.commands.let_in:
        return ()
    silent = (
        one.machine for one in bookings if one.phase in TAKEN and access.people(one.machine, one.lease_id) is None
    )
    return tuple(dict.fromkeys(silent))


def foreign(access: Access, bookings: Iterable[Booking], lease_id: str) -> tuple[Resource, ...]:
    """Machines that people get into for a lease that never had them."""
    ours = {one.machine for one in bookings if one.lease_id == lease_id and one.phase is not Phase.BOOKED}
    names = sorted(name for name in access.machines if name not in ours and lease_id in access.leases(name))
    return tuple(Resource(Kind.MACHINE, name, Condition.RUNNING, reason=NOT_OURS) for name in names)


def not_shown_yet(known: Iterable[Resource], bookings: Iterable[Booking], now: datetime) -> tuple[Resource, ...]:
    """Launches on record of which there is no booking, and which are so young that there may be one yet."""
    seen = {word for one in bookings for word in (one.machine, one.token) if word}
    return tuple(
        one
        for one in known
        if one.token
        and one.created_at is not None
        and now - one.created_at < SHOWN_WITHIN
        and seen.isdisjoint((one.id, one.token))
    )


def _condition(booking: Booking, people: tuple[str, ...] | None) -> tuple[Condition, str]:
    if booking.phase is Phase.ENDED:
        return (Condition.RUNNING, "somebody was let in again") if people else (Condition.GONE, "nobody gets in")
    if people is None:
        return Condition.UNKNOWN, "who gets in could not be seen"
    if people:
        return Condition.RUNNING, f"{', '.join(people)} get in"[:200]
    if booking.phase is Phase.ENDING:
        return Condition.DELETING, "nobody gets in any more"
    if booking.phase is Phase.STOPPED:
        return Condition.STOPPED, "its people are locked out"
    return (Condition.STOPPED, CLOSED) if booking.granted_at else (Condition.PENDING, "nobody was let in yet")


def _unasked(pool: Pool, booking: Booking) -> tuple[Condition, str]:
    """Where lessor lets nobody in, a machine is the lease's for as long as that is on record."""
    if unseen := hooks_gone(pool, booking):
        return Condition.UNKNOWN, unseen
    if booking.phase is Phase.HELD:
        return (Condition.RUNNING if booking.granted_at else Condition.PENDING), ""
    words = {Phase.STOPPED: Condition.STOPPED, Phase.ENDING: Condition.DELETING, Phase.ENDED: Condition.GONE}
    return words.get(booking.phase, Condition.PENDING), ""


def _resource(booking: Booking, condition: Condition, why: str) -> Resource:
    return Resource(
        Kind.MACHINE,
        booking.machine,
        condition,
        type=spelt_gpus(booking.gpus),
        created_at=booking.fresh_at,
        reason=why,
        token=booking.token,
    )
