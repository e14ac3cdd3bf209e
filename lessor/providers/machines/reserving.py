"""Machines that are kept for leases ahead of time: from the approval on, and for as long as the lease says then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from lessor.domain.bookings import TAKEN, Booking, Calendar, Fit, Phase, Span, asked_for, follows, taken_words
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.request import Market
from lessor.ports import ProviderError
from lessor.providers.machines.diary import Diary, unfit
from lessor.providers.machines.launching import Wanted
from lessor.providers.machines.offers import Offers, suitable
from lessor.providers.machines.pool import Pool

log = structlog.get_logger(__name__)


class Reserving:
    """Books, moves and gives up. Each is one decision over all bookings of the pool, so that two never overlap."""

    def __init__(self, diary: Diary, offers: Offers) -> None:
        self._diary, self._offers = diary, offers

    def book(self, pool: Pool, lease: Lease, at: datetime) -> bool:
        """Keep a machine for an approved lease, and whether one was; what it has stays.

        Raises `Refused` ("booked") with the next free time.

        One without a start that finds nothing now waits, as for capacity anywhere.
        """
        wanted = self._wanted(pool, lease, at)
        ill = unfit(self._diary.health(pool))
        fit_ones = [one for one in wanted if one[0].name not in ill]

        def decide(calendar: Calendar) -> Sequence[Booking]:
            if any(one.lease_id == lease.id and one.open for one in calendar.bookings):
                return ()
            span, keep = asked_for(lease, at), lease.terms.grace
            kept = Span(span.begins, span.until + keep)
            # Who is ill today may be well by then; whoever is well is taken first.
            fit = _fit(calendar, fit_ones, kept) or (lease.request.start and _fit(calendar, wanted, kept)) or None
            if fit is None:
                if lease.request.start is None:
                    return ()
                raise Refused("booked", _refusal(calendar, lease, wanted, kept))
            return (_booking(lease, fit, span, at),)

        return bool(self._diary.settle(pool, decide, lease.id))

    def prolong(self, pool: Pool, lease: Lease) -> None:
        """Take the time until the end that the lease has here. Raises `Refused` ("booked"): it is somebody else's."""

        def later(calendar: Calendar, found: Booking) -> Booking | None:
            if lease.ends_at is None or lease.ends_at <= found.ends:
                return None
            return calendar.moved(found, lease.ends_at, lease.terms.grace)

        for booking in self._open(pool, lease.id):
            self._diary.change(pool, booking, later)

    def follow(self, pool: Pool | None, lease: Lease) -> None:
        """Bring the booking in line with the lease. What is somebody else's time stays theirs, and is put in the log.

        The record of a lease never waits for that of machines: what cannot be written now is so with the next change.
        """

        def moved(calendar: Calendar, found: Booking) -> Booking | None:
            if lease.final:
                return found.turned(Phase.ENDED, calendar.now) if found.phase is Phase.BOOKED else None
            ends, keep = follows(lease, found)
            after = calendar.moved(found, ends, keep)
            return None if after == found else after

        if pool is None:
            return
        try:
            for booking in self._open(pool, lease.id):
                self._diary.change(pool, booking, moved)
        except (Refused, ProviderError) as error:
            log.warning("booking-cannot-follow", lease_id=lease.id, why=str(error))

    def _open(self, pool: Pool, lease_id: str) -> Sequence[Booking]:
        return [one for one in self._diary.of(pool, lease_id) if one.phase in (*TAKEN, Phase.BOOKED)]

    def _wanted(self, pool: Pool, lease: Lease, at: datetime) -> Wanted:
        if lease.quote is not None:
            return suitable(self._offers.covered(pool, lease.quote, at))
        return suitable(self._offers.groups(pool, lease.request.need, Market.ON_DEMAND, at))


def _fit(calendar: Calendar, wanted: Wanted, span: Span) -> Fit | None:
    for machine, count in wanted:
        fit = calendar.fit([machine], count, span)
        if fit is not None:
            return fit
    return None


def _booking(lease: Lease, fit: Fit, span: Span, at: datetime) -> Booking:
    request = lease.request
    return Booking(
        lease.id,
        fit.machine.name,
        fit.gpus,
        begins=span.begins,
        ends=span.until,
        keep=lease.terms.grace,
        since=at,
        address=fit.machine.address,
        owner=lease.owner,
        team=request.team,
        cost_center=request.cost_center,
    )


def _refusal(calendar: Calendar, lease: Lease, wanted: Wanted, span: Span) -> str:
    machines = [machine for machine, _ in wanted]
    count = wanted[0][1] if wanted else lease.request.need.count
    clashes = [one for m in machines for one in calendar.clashes(m.name, m.numbers, span)]
    first = calendar.first_free(machines, count, span)
    return taken_words(str(lease.request.need), span, clashes, first)
