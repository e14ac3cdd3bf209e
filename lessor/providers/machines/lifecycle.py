"""A machine while it is a lease's: locked and opened again, with another end or other people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from lessor.domain.bookings import Booking, Calendar, Phase
from lessor.domain.errors import Refused
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, PermanentError, ProviderError
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.letting import Letting, hooks_gone, over
from lessor.providers.machines.pool import Pool
from lessor.providers.machines.seen import as_launched
from lessor.providers.machines.usable import still

log = structlog.get_logger(__name__)


class Lifecycle:
    """Stops and starts: what a machine does while nobody gets in is the organisation's, and it stays the lease's."""

    def __init__(self, diary: Diary, letting: Letting) -> None:
        self._diary, self._letting = diary, letting

    def stop(self, pool: Pool, lease_id: str, heartbeat: Heartbeat) -> datetime:
        """Lock its people out, and see that; since when it is so. A second time changes nothing."""
        return max(self._stopped(pool, one, heartbeat) for one in self._mine(pool, lease_id, "stopped"))

    def start(self, pool: Pool, lease_id: str, heartbeat: Heartbeat) -> datetime:
        """Let its people in again, and see that; since when it is so. A second time changes nothing."""
        return max(self._started(pool, one, heartbeat) for one in self._mine(pool, lease_id, "started"))

    def set_end(self, pool: Pool, lease_id: str, ends: datetime) -> None:
        """Let people in until then. Raises `PermanentError` when the time until then is somebody else's."""

        def later(calendar: Calendar, found: Booking) -> Booking | None:
            moved = calendar.moved(found, max(found.ends, ends), found.keep) if found.open else found
            return replace(moved, open_until=ends)

        for booking in self._diary.taken(pool, lease_id):
            try:
                after = self._diary.change(pool, booking, later)
            except Refused as refusal:
                raise PermanentError(str(refusal), refusal.code) from refusal
            self._let_in_anew(pool, after, _silent)

    def set_owner(self, pool: Pool, lease_id: str, owner: str, team: str, cost_center: str) -> None:
        """Let in those whose it is now, and nobody else."""

        def theirs(_: Calendar, found: Booking) -> Booking | None:
            return replace(found, owner=owner, team=team, cost_center=cost_center)

        for booking in self._diary.taken(pool, lease_id):
            self._let_in_anew(pool, self._diary.change(pool, booking, theirs), _silent)

    def attribute(self, pool: Pool, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """Let in those who share a lease by now, and nobody who does not any more; where that was amiss."""
        bookings = self._diary.calendar(pool).bookings
        held = [one for one in bookings if one.phase is Phase.HELD and one.granted_at]
        access = self._letting.everywhere(pool, held, heartbeat) if held else None
        amiss = [one for one in held if access and self._differs(access.people(one.machine, one.lease_id), one)]
        return as_launched([one for one in amiss if self._mended(pool, one, heartbeat)])

    def _mended(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> bool:
        """What goes wrong at one machine spoils no other; it is amiss still at the next look."""
        try:
            self._let_in_anew(pool, booking, heartbeat)
        except ProviderError as error:
            log.warning("people-not-let-in", lease_id=booking.lease_id, machine=booking.machine, why=str(error))
            return False
        return True

    def _differs(self, people: tuple[str, ...] | None, booking: Booking) -> bool:
        """Where nobody at all gets in, somebody has locked them out: that is told, and not undone."""
        return bool(people) and set(people or ()) != self._letting.names(booking)

    def _mine(self, pool: Pool, lease_id: str, what: str) -> Sequence[Booking]:
        mine = [one for one in self._diary.taken(pool, lease_id) if one.phase is not Phase.ENDING]
        if not mine:
            raise PermanentError(f"{lease_id} has no machine in {pool.name}; nothing was {what}", "nothing-there")
        return mine

    def _stopped(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> datetime:
        shut = booking.phase is Phase.STOPPED and self._closed(pool, booking, heartbeat)
        if not shut:
            self._letting.lock_out(pool, booking, heartbeat)
        after = self._diary.change(pool, booking, _turn(Phase.STOPPED, anew=not shut))
        return _since(after, booking)

    def _started(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> datetime:
        if booking.phase is Phase.STOPPED and not pool.commands.let_in:
            raise _cannot_let_in(pool, booking)
        open_ = booking.phase is Phase.HELD and self._open(pool, booking, heartbeat)
        if not open_:
            self._letting.let_in(pool, booking, heartbeat)
        after = self._diary.change(pool, booking, _turn(Phase.HELD, anew=not open_))
        return _since(still(after, pool, booking, self._letting, heartbeat), booking)

    def _closed(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> bool:
        if not pool.commands.let_in:
            return not hooks_gone(pool, booking)
        return self._letting.who(pool, booking, heartbeat) == ()

    def _open(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> bool:
        if not pool.commands.let_in:
            return True
        return set(self._letting.who(pool, booking, heartbeat) or ()) == self._letting.names(booking)

    def _let_in_anew(self, pool: Pool, booking: Booking | None, heartbeat: Heartbeat) -> None:
        """Only where they are in: what is stopped stays shut."""
        if booking is None or booking.phase is not Phase.HELD or booking.granted_at is None:
            return
        self._letting.let_in(pool, booking, heartbeat)
        after = self._diary.change(pool, booking, lambda _, found: found if found.phase is Phase.HELD else None)
        still(after, pool, booking, self._letting, heartbeat)


def _cannot_let_in(pool: Pool, booking: Booking) -> PermanentError:
    """People who were locked out by hooks that are gone: nothing is left to let them in again."""
    return PermanentError(
        f"the people of {booking.lease_id} were locked out of {booking.machine}, and lessor.yaml has no hooks of "
        f"{pool.name} any more to let them in again; they stay locked out. Put grant, revoke and verify back",
        "hooks-gone",
    )


def _turn(phase: Phase, *, anew: bool) -> Callable[[Calendar, Booking], Booking | None]:
    """Into a phase, `anew` also where it was in it on record and not in truth; nothing that is over is turned."""

    def turn(calendar: Calendar, found: Booking) -> Booking | None:
        if found.phase in (Phase.ENDING, Phase.ENDED):
            return None
        return replace(found, phase=phase, since=calendar.now) if anew else found.turned(phase, calendar.now)

    return turn


def _since(after: Booking | None, before: Booking) -> datetime:
    if after is None or after.since is None:
        raise over(before)
    return after.since


def _silent(_: str) -> None:
    """For what is over in a moment and not part of a longer attempt."""
