"""Letting the people of a lease into what was taken for it, and making sure that it is still theirs afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain.bookings import Booking, Calendar, Phase, end_of
from lessor.domain.errors import Refused
from lessor.domain.machines import Machine
from lessor.domain.money import Money
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.resource import Condition, Resource
from lessor.ports import Heartbeat, NoCapacityError, PermanentError
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.letting import Letting, machine_of
from lessor.providers.machines.pool import Pool
from lessor.providers.machines.removal import Removal
from lessor.providers.machines.seen import as_launched


class Usable:
    """The way from a machine that was taken to one that its people can use."""

    def __init__(self, diary: Diary, letting: Letting, removal: Removal, clock: Callable[[], datetime]) -> None:
        self._diary, self._letting, self._removal, self._clock = diary, letting, removal, clock

    def await_usable(
        self, pool: Pool, order: Order, resources: Sequence[Resource], heartbeat: Heartbeat
    ) -> Provisioned:
        """Let people in. Raises `NoCapacityError` when it was taken for nothing: then nothing is taken any more."""
        names = {one.id for one in resources}
        mine = [one for one in self._diary.taken(pool, order.lease_id) if one.machine in names]
        if not mine:
            raise NoCapacityError(
                f"nothing of {', '.join(sorted(names)) or pool.name} is taken for {order.lease_id} any more",
                tuple(sorted(names)),
                "not-taken",
            )
        open_ones = [self._opened(pool, self._in_time(pool, order, one, heartbeat), heartbeat) for one in mine]
        machines = [machine_of(pool, one) for one in open_ones]
        found = (replace(one, condition=Condition.RUNNING) for one in as_launched(open_ones))
        return Provisioned(
            resources=tuple(found),
            access="; ".join(map(_way_in, [pool] * len(machines), machines, open_ones)),
            launched_at=min(one.granted_at or self._clock() for one in open_ones),
            hourly=_price(machines, open_ones, self._clock()),
            stoppable=pool.commands.let_in,
        )

    def _in_time(self, pool: Pool, order: Order, booking: Booking, heartbeat: Heartbeat) -> Booking:
        """The booking with time enough for all that was asked for, from now on."""

        def later(calendar: Calendar, found: Booking) -> Booking | None:
            if order.request.until is not None or found.granted_at is not None:
                return found
            ends = end_of(order.request.duration or timedelta(), calendar.now, found.ends)
            return calendar.moved(found, max(found.ends, ends), found.keep)

        try:
            return self._diary.change(pool, booking, later) or booking
        except Refused as refusal:
            self._removal.end(pool, booking, heartbeat)
            tried = (booking.machine,)
            raise NoCapacityError(f"{refusal}, which is too early for what was asked for", tried, "booked") from refusal

    def _opened(self, pool: Pool, booking: Booking, heartbeat: Heartbeat) -> Booking:
        self._letting.let_in(pool, booking, heartbeat)

        def granted(calendar: Calendar, found: Booking) -> Booking | None:
            if found.phase is Phase.ENDING or found.phase is Phase.ENDED or found.token != booking.token:
                return None
            return replace(found.turned(Phase.HELD, calendar.now), granted_at=found.granted_at or calendar.now)

        return still(self._diary.change(pool, booking, granted), pool, booking, self._letting, heartbeat)


def still(after: Booking | None, pool: Pool, before: Booking, letting: Letting, heartbeat: Heartbeat) -> Booking:
    """What became of a booking whose people were just let in; if it is over meanwhile they are locked out again."""
    if after is not None:
        return after
    letting.lock_out(pool, before, heartbeat)
    raise PermanentError(
        f"{before.machine} is not for {before.lease_id} any more; its people were locked out again", "not-taken"
    )


def _way_in(pool: Pool, machine: Machine, booking: Booking) -> str:
    address = shlex.quote(machine.address or machine.name)
    if not pool.commands.let_in:
        whom = f"ask {machine.owner}" if machine.owner else "ask whoever looks after it"
        return f"{address} ({whom} to let you in)"
    if machine.whole:
        return f"ssh {address}"
    numbers = ",".join(map(str, booking.gpus))
    return f"ssh -t {address} 'CUDA_VISIBLE_DEVICES={numbers} exec $SHELL -l'"


def _price(machines: Sequence[Machine], bookings: Sequence[Booking], at: datetime) -> Money | None:
    """What an hour costs of all that was taken; unknown if any of it is."""
    prices = []
    for machine, booking in zip(machines, bookings, strict=True):
        rate = machine.rate(at)
        if rate is None:
            return None
        prices.append(rate * len(booking.gpus))
    return sum(prices[1:], prices[0])
