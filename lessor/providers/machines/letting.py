"""Letting people in and locking them out, each proven by asking afterwards who can get in (law 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lessor.domain.bookings import Booking, Calendar, Phase
from lessor.domain.lease import minute
from lessor.domain.machines import Machine
from lessor.ports import Heartbeat, PermanentError, RetryableError
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.hooks import Access, Hooks, Who
from lessor.providers.machines.pool import Pool

People = Callable[[str, str], Sequence[Who]]
"""Who is let in for a lease and its owner: the owner, and those who share the lease."""


class Letting:
    """The hooks of pools with the people of leases. Where there are no hooks, nothing is done and nothing is known.

    That people are let in is on record before it is tried, until it is seen that nobody gets in. So an end is not
    believed where hooks were taken away meanwhile.
    """

    def __init__(self, hooks: Hooks, people: People, diary: Diary) -> None:
        self._hooks, self._people, self._diary = hooks, people, diary

    def names(self, booking: Booking) -> frozenset[str]:
        """Who should be able to get in for a booking."""
        return frozenset(one.name for one in self._people(booking.lease_id, booking.owner))

    def let_in(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> None:
        """Let its people in, and nobody else for this lease. Raises `ProviderError` unless that is seen to hold."""
        if not pool.commands.let_in:
            _require_never_let_in(pool, booking)
            return
        people = self._people(booking.lease_id, booking.owner)
        if not people:
            self.lock_out(pool, booking, heartbeat)
            raise PermanentError(
                f"{booking.owner} is no active person of this organisation, so nobody was let into {booking.machine}",
                "nobody-to-let-in",
            )
        if self._diary.change(pool, booking, _letting_in) is None:
            raise over(booking)
        self._hooks.grant(pool, machine_of(pool, booking), booking, people, heartbeat)
        found = self.who(pool, booking, heartbeat)
        wanted = {one.name for one in people}
        if found is None or set(found) != wanted:
            can = "is not known" if found is None else f"are {', '.join(found) or 'nobody'}"
            raise RetryableError(
                f"{', '.join(sorted(wanted))} should get into {booking.machine} for {booking.lease_id}; "
                f"who can get in {can}",
                "not-let-in",
            )

    def lock_out(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> None:
        """Lock everybody out. Raises `ProviderError` unless it is seen that nobody gets in for the lease any more."""
        if not pool.commands.let_in:
            _require_never_let_in(pool, booking)
            return
        self._hooks.revoke(pool, machine_of(pool, booking), booking, heartbeat)
        found = self.who(pool, booking, heartbeat)
        if found is None:
            raise RetryableError(
                f"nobody should get into {booking.machine} for {booking.lease_id} any more, but who can is not known; "
                "it is looked at again",
                "not-known-closed",
            )
        if found:
            raise RetryableError(
                f"{', '.join(found)} can still get into {booking.machine} for {booking.lease_id}; it is tried again",
                "still-open",
            )

        if booking.let_in_at is not None:
            self._diary.change(pool, booking, _closed(booking))

    def who(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> tuple[str, ...] | None:
        """Who gets in for a booking now; `None` is unknown."""
        machine = machine_of(pool, booking)
        access = self._hooks.verify(pool, [machine], {machine.name: [booking.lease_id]}, heartbeat)
        return access.people(machine.name, booking.lease_id)

    def unseen(self, pool: Pool, lease_id: str) -> tuple[Booking, ...]:
        """What people were let into for a lease, where no hook is there any more to see who gets in."""
        return tuple(one for one in self._diary.taken(pool, lease_id) if hooks_gone(pool, one))

    def believe_closed(self, pool: Pool, lease_id: str) -> None:
        """Take it from somebody who knows that nobody gets in; where a hook can see that, it is asked instead."""
        for booking in self.unseen(pool, lease_id):
            self._diary.change(pool, booking, _closed(booking))

    def everywhere(self, pool: Pool, bookings: Sequence[Booking], heartbeat: Heartbeat) -> Access:
        """Who gets in anywhere in the pool, of these bookings and otherwise; without its inventory, of these only."""
        if not pool.commands.let_in:
            return Access()
        machines, problem = _inventory(pool)
        machines |= {one.machine: _gone(one) for one in bookings if one.machine not in machines}
        leases: dict[str, list[str]] = {}
        for one in bookings:
            leases.setdefault(one.machine, []).append(one.lease_id)
        found = self._hooks.verify(pool, machines.values(), leases, heartbeat)
        return replace(found, problem="; ".join(one for one in (found.problem, problem) if one))


def machine_of(pool: Pool, booking: Booking) -> Machine:
    """The machine of a booking; as it was when it was booked, if no inventory shows it any more."""
    return _inventory(pool)[0].get(booking.machine) or _gone(booking)


def over(booking: Booking) -> PermanentError:
    """A booking that ended while somebody was about to be let in."""
    return PermanentError(f"{booking.machine} is not for {booking.lease_id} any more", "not-taken")


def hooks_gone(pool: Pool, booking: Booking) -> str:
    """Why it cannot be seen who gets in, and what to do; empty where the hooks are there, or nobody was let in."""
    if pool.commands.let_in or booking.let_in_at is None:
        return ""
    return (
        f"people were let into {booking.machine} for {booking.lease_id} at {minute(booking.let_in_at)}, and "
        f"lessor.yaml has no hooks of {pool.name} any more, so it is not known whether they get in still. Put grant, "
        f"revoke and verify back; or lock them out by hand, and then an administrator confirms that with lessor "
        f"places confirm-closed {booking.lease_id} REASON"
    )


def _require_never_let_in(pool: Pool, booking: Booking) -> None:
    if words := hooks_gone(pool, booking):
        raise PermanentError(words, "hooks-gone")


def _letting_in(calendar: Calendar, found: Booking) -> Booking | None:
    return None if found.phase in (Phase.ENDING, Phase.ENDED) else replace(found, let_in_at=calendar.now)


def _closed(seen: Booking) -> Callable[[Calendar, Booking], Booking | None]:
    """Nobody is in any more, unless somebody was let in since it was `seen`."""

    def closed(_: Calendar, found: Booking) -> Booking | None:
        return replace(found, let_in_at=None) if found.let_in_at == seen.let_in_at else None

    return closed


def _inventory(pool: Pool) -> tuple[dict[str, Machine], str]:
    """Machines by name, or none and why they cannot be read."""
    try:
        return {one.name: one for one in pool.inventory()}, ""
    except RetryableError as error:
        return {}, str(error)


def _gone(booking: Booking) -> Machine:
    return replace(Machine(booking.machine, "", len(booking.gpus)), address=booking.address)
