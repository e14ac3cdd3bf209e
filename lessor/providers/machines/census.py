"""How many GPUs of a pool are whose, and what is free now: for forms and the view over the fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from lessor.domain.bookings import TAKEN, Booking, Calendar, Phase, Span
from lessor.domain.lease import minute
from lessor.domain.machines import Fitness, Health, Machine
from lessor.domain.money import Money
from lessor.domain.pools import Census, Holder
from lessor.domain.pools import Pool as Count
from lessor.domain.request import Place
from lessor.ports import ProviderError
from lessor.providers.machines.diary import Diary, unfit
from lessor.providers.machines.pool import Pool

NOTED = 20
"""Bookings ahead that a census tells of; the first ones."""


def census(pool: Pool, place: Place, diary: Diary, clock: Callable[[], datetime]) -> Census:
    """One reading of the record. What cannot be read is unknown: then it has a problem and no numbers."""
    at = clock()
    try:
        machines, calendar = pool.inventory(), diary.calendar(pool)
        health = diary.health(pool)
    except ProviderError as error:
        return Census(place, at, problem=str(error))
    ill = unfit(health)
    out = ill | {one.name for one in machines if one.withdrawn}
    unsure = [
        health[one.name] for one in machines if one.name in health and health[one.name].fitness is Fitness.UNKNOWN
    ]
    models = sorted({one.model for one in machines})
    closed = out | {one.machine for one in unsure}
    pools = tuple(
        _count(place, model, [m for m in machines if m.model == model], calendar, out, closed) for model in models
    )
    named = {one.name: one for one in machines}
    holders = tuple(_holder(place, one, named, ill, at) for one in calendar.bookings if one.phase in TAKEN)
    return Census(place, at, pools, holders, notes=(*_withdrawn(machines), *map(_unsure, unsure), *_ahead(calendar)))


def _count(
    place: Place,
    model: str,
    machines: Sequence[Machine],
    calendar: Calendar,
    out: Collection[str],
    closed: Collection[str],
) -> Count:
    now = Span(calendar.now, calendar.now)
    free = [0 if one.name in closed else len(calendar.free(one, now)) for one in machines]
    names = {one.name for one in machines}
    mine = [one for one in calendar.bookings if one.machine in names]
    begun = [one for one in mine if one.phase is Phase.BOOKED and one.begins <= calendar.now < one.until]
    had = Counter({one.machine: len(one.gpus) for one in begun})
    held = Counter[str]()
    for one in mine:
        held[one.machine] += len(one.gpus) if one.phase in TAKEN else 0
    others = {one.name: max(one.gpus - held[one.name], 0) for one in machines}
    kept = (
        others[one.name] - n - had[one.name] for one, n in zip(machines, free, strict=True) if one.name not in closed
    )
    return Count(
        place,
        model,
        total=held.total() + sum(others.values()),
        free=sum(free),
        held=held.total(),
        promised=sum(len(one.gpus) for one in begun),
        reserved=sum(max(number, 0) for number in kept),
        unhealthy=sum(others[one.name] for one in machines if one.name in out),
        largest=max(free, default=0),
        hourly=_hourly(machines, calendar.now),
    )


def _hourly(machines: Sequence[Machine], at: datetime) -> Money | None:
    """What one of their GPUs costs an hour, where that is known and the same of all."""
    rates = {one.rate(at) for one in machines}
    return rates.pop() if len(rates) == 1 else None


def _holder(place: Place, booking: Booking, machines: dict[str, Machine], ill: frozenset[str], now: datetime) -> Holder:
    machine = machines.get(booking.machine)
    flags = (
        "in no inventory" if machine is None else "",
        "failed its health check" if booking.machine in ill else "",
        "people are locked out" if booking.phase is Phase.STOPPED else "",
        "not proven to be over" if booking.phase is Phase.ENDING or booking.until < now else "",
    )
    return Holder(
        place,
        booking.machine,
        machine.model if machine else "",
        len(booking.gpus),
        lease=booking.lease_id,
        who=booking.owner,
        since=booking.fresh_at,
        flag=", ".join(flag for flag in flags if flag),
    )


def _unsure(health: Health) -> str:
    """A machine of which nobody knows whether it is fit is given to nobody, and counts as neither free nor unfit."""
    return f"whether {health.machine} is fit for use could not be seen: {health.words}"


def _withdrawn(machines: Iterable[Machine]) -> Iterable[str]:
    return (f"{one.name} may not be leased: {one.withdrawn}" for one in machines if one.withdrawn)


def _ahead(calendar: Calendar) -> Iterable[str]:
    """What is booked for later: nobody holds it, and it can be leased until then."""
    later = [one for one in calendar.bookings if one.phase is Phase.BOOKED and one.begins > calendar.now]
    for one in later[:NOTED]:
        gpus = f"GPU {', '.join(map(str, one.gpus))} of {one.machine}"
        yield f"{gpus} is booked for {one.lease_id} from {minute(one.begins)} to {minute(one.ends)}"
