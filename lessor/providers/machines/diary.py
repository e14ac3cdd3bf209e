"""The bookings of a pool, read and changed through the ledger, whose errors say nothing about machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from lessor.books import BookingBook
from lessor.domain.bookings import TAKEN, Booking, Calendar
from lessor.domain.machines import Fitness, Health
from lessor.ports import LedgerUnavailableError, RetryableError
from lessor.providers.machines.pool import Pool

Decide = Callable[[Calendar], Sequence[Booking]]


class Diary:
    """What is whose, now and later. Every change is decided by what holds at that moment, one after the other."""

    def __init__(self, book: BookingBook, clock: Callable[[], datetime]) -> None:
        self._book, self._clock = book, clock

    def calendar(self, pool: Pool, lease_id: str = "") -> Calendar:
        """All that counts now, and all that the lease ever had."""
        now = self._clock()
        with _ledger():
            return Calendar(self._book.bookings(pool.name, _since(pool, now), lease_id), now, pool.clean_up)

    def of(self, pool: Pool, lease_id: str) -> tuple[Booking, ...]:
        """All that the lease ever had in the pool."""
        return tuple(one for one in self.calendar(pool, lease_id).bookings if one.lease_id == lease_id)

    def taken(self, pool: Pool, lease_id: str) -> tuple[Booking, ...]:
        """What is the lease's now."""
        return tuple(one for one in self.of(pool, lease_id) if one.phase in TAKEN)

    def settle(self, pool: Pool, decide: Decide, lease_id: str) -> tuple[Booking, ...]:
        """Store what `decide` makes of the calendar. Raises what it raises, and then nothing was changed."""

        def decided(bookings: tuple[Booking, ...]) -> Sequence[Booking]:
            return decide(Calendar(bookings, now, pool.clean_up))

        now = self._clock()
        with _ledger():
            return self._book.settle(pool.name, _since(pool, now), decided, lease_id)

    def change(
        self, pool: Pool, booking: Booking, turn: Callable[[Calendar, Booking], Booking | None]
    ) -> Booking | None:
        """Turn one booking as it is at that moment; `None` when it, or what became of it, is not to be turned."""

        def decide(calendar: Calendar) -> Sequence[Booking]:
            key = (booking.lease_id, booking.machine)
            found = next((one for one in calendar.bookings if (one.lease_id, one.machine) == key), None)
            after = turn(calendar, found) if found else None
            return (after,) if after else ()

        made = self.settle(pool, decide, booking.lease_id)
        return made[0] if made else None

    def health(self, pool: Pool) -> Mapping[str, Health]:
        """What the latest check of each machine found; nothing counts where nothing is checked."""
        if not pool.commands.health:
            return {}
        with _ledger():
            return {one.machine: one for one in self._book.health(pool.name)}

    def checked(self, pool: Pool, found: Sequence[Health]) -> None:
        with _ledger():
            self._book.checked(pool.name, found)


def unfit(health: Mapping[str, Health]) -> frozenset[str]:
    """Machines whose latest check they did not pass."""
    return frozenset(name for name, one in health.items() if one.fitness is Fitness.UNFIT)


def _since(pool: Pool, now: datetime) -> datetime:
    return now - pool.clean_up - timedelta(minutes=1)


@contextmanager
def _ledger() -> Iterator[None]:
    try:
        yield
    except LedgerUnavailableError as error:
        raise RetryableError(f"who has which machine cannot be read or stored now: {error}", "ledger") from error
