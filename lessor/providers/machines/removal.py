"""Taking machines back: people are locked out, that is seen, and only then the machine is free for somebody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from lessor.domain.bookings import TAKEN, Booking, Calendar, Phase
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, PermanentError, ProviderError, RetryableError
from lessor.providers.machines import seen
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.letting import Letting
from lessor.providers.machines.pool import Pool


class Removal:
    """Ends bookings. One that cannot be ended never keeps the others (law 11); all problems come at the end."""

    def __init__(self, diary: Diary, letting: Letting, clock: Callable[[], datetime]) -> None:
        self._diary, self._letting, self._clock = diary, letting, clock

    def delete(self, pool: Pool, lease_id: str, known: Sequence[Resource], heartbeat: Heartbeat) -> None:
        """End all that the lease has. Raises when something is left: `RetryableError` if it may go later."""
        heartbeat(f"taking back what {lease_id} has")
        self._diary.settle(pool, lambda calendar: _ending(calendar, lease_id), lease_id)
        bookings = self._diary.of(pool, lease_id)
        access = self._letting.everywhere(pool, bookings, heartbeat)
        problems: list[ProviderError] = []
        for booking in bookings:
            if booking.phase is Phase.ENDING or access.people(booking.machine, lease_id):
                try:
                    self.end(pool, booking, heartbeat)
                except ProviderError as error:
                    problems.append(error)
        if access.problem:
            problems.append(RetryableError(access.problem, "not-known-closed"))
        problems += [_not_ours(one, lease_id) for one in seen.foreign(access, bookings, lease_id)]
        problems += [_not_shown(one) for one in seen.not_shown_yet(known, bookings, self._clock())]
        _raise_all(problems)

    def end(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> None:
        """Lock the people of one booking out and end it once that is seen. Raises `ProviderError`; then it stays."""
        self._letting.lock_out(pool, booking, heartbeat)

        def ended(calendar: Calendar, found: Booking) -> Booking | None:
            return found.turned(Phase.ENDED, calendar.now) if found.token == booking.token else None

        self._diary.change(pool, booking, ended)


def _ending(calendar: Calendar, lease_id: str) -> Sequence[Booking]:
    """From here on nobody is let in any more; what was only booked is given up at once."""
    mine = [one for one in calendar.bookings if one.lease_id == lease_id]
    taken = [one.turned(Phase.ENDING, calendar.now) for one in mine if one.phase in TAKEN]
    return [*taken, *(one.turned(Phase.ENDED, calendar.now) for one in mine if one.phase is Phase.BOOKED)]


def _not_ours(resource: Resource, lease_id: str) -> PermanentError:
    return PermanentError(
        f"people get into {resource.id} for {lease_id}, but nothing shows that lessor let them in; that was kept. "
        "Take them off the machine by hand",
        "not-ours",
    )


def _not_shown(resource: Resource) -> RetryableError:
    when = f"{resource.created_at:%Y-%m-%d %H:%M:%S} UTC" if resource.created_at else "lately"
    return RetryableError(
        f"{resource.id or 'a launch'} of {when} is not on record as taken yet; it is looked for again before it is "
        "believed to be none",
        "not-shown-yet",
    )


def _raise_all(problems: Sequence[ProviderError]) -> None:
    lasting = [one for one in problems if not isinstance(one, RetryableError)]
    if lasting:
        others = [one for one in problems if one not in lasting]
        raise PermanentError("; ".join(map(str, [*lasting, *others])), lasting[0].code)
    if problems:
        raise RetryableError("; ".join(map(str, problems)), problems[0].code)
