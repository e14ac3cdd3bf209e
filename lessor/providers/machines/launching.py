"""Taking a machine for a lease: what it has booked, else what is free, once, whoever else wants it at that moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lessor.domain.bookings import TAKEN, Booking, Calendar, Fit, Phase, Span, end_of, taken_words
from lessor.domain.machines import Fitness, Machine
from lessor.domain.provisioning import Candidate, Order
from lessor.domain.request import Market
from lessor.domain.resource import Resource
from lessor.ports import Heartbeat, NoCapacityError
from lessor.providers.machines.diary import Diary, unfit
from lessor.providers.machines.health import HealthLooks
from lessor.providers.machines.offers import Offers
from lessor.providers.machines.pool import Pool
from lessor.providers.machines.seen import as_launched
from lessor.providers.machines.tokens import token

Wanted = Sequence[tuple[Machine, int]]
"""Machines with how many of their GPUs are wanted, in the order in which they are tried."""


class Launcher:
    """Takes machines. Nobody is let in here: that is done once what was taken is on record."""

    def __init__(self, diary: Diary, offers: Offers, health: HealthLooks, clock: Callable[[], datetime]) -> None:
        self._diary, self._offers, self._health, self._clock = diary, offers, health, clock

    def candidates(self, pool: Pool, order: Order) -> Sequence[Candidate]:
        """One for each form of machine that the approved quote allows; which machine it is turns out at the launch."""
        groups = self._offers.covered(pool, order.quote, self._clock())
        return [
            Candidate(
                instance_type=group.form,
                zone="",
                market=Market.ON_DEMAND,
                token=token(order.lease_id, group.form, group.hourly),
                hourly=group.hourly,
                stoppable=pool.commands.let_in,
            )
            for group in groups
        ]

    def launch(self, pool: Pool, order: Order, candidate: Candidate, heartbeat: Heartbeat) -> tuple[Resource, ...]:
        """What the lease has, taken now or by an earlier attempt. Raises `NoCapacityError` when nothing can be had."""
        heartbeat(f"launching {candidate}")
        wanted = self._wanted(pool, order, candidate)
        bad = set(unfit(self._diary.health(pool)))
        while True:
            calendar = self._diary.calendar(pool, order.lease_id)
            if found := taken_by(calendar, order.lease_id):
                return as_launched(found)
            fit = chosen(calendar, order, [one for one in wanted if one[0].name not in bad], pool.grace)
            if fit is None:
                raise self._none(calendar, order, candidate, wanted, bad)
            if self._health.now(pool, fit.machine, heartbeat).fitness is not Fitness.FIT:
                bad.add(fit.machine.name)
                continue
            heartbeat(f"taking {fit.machine.name}")
            if made := self._take(pool, order, candidate, fit):
                return as_launched(made)

    def _take(self, pool: Pool, order: Order, candidate: Candidate, fit: Fit) -> tuple[Booking, ...]:
        """Decided once more where nobody else decides meanwhile; nothing when somebody was faster."""

        def decide(calendar: Calendar) -> Sequence[Booking]:
            if found := taken_by(calendar, order.lease_id):
                return found
            again = chosen(calendar, order, [(fit.machine, len(fit.gpus))], pool.grace)
            if again is None:
                return ()
            before = booked_by(calendar, order.lease_id)
            span = span_of(order, before, pool.grace, calendar.now)
            held = Booking(
                order.lease_id,
                again.machine.name,
                again.gpus,
                begins=calendar.now,
                ends=span.until - keep_of(before, pool.grace),
                keep=keep_of(before, pool.grace),
                phase=Phase.HELD,
                since=calendar.now,
                token=candidate.token,
                address=again.machine.address,
                owner=order.owner,
                team=order.team,
                cost_center=order.cost_center,
                fresh_at=calendar.now,
            )
            moved = before is not None and before.machine != held.machine
            return (held, replace(before, phase=Phase.ENDED)) if moved and before else (held,)

        return self._diary.settle(pool, decide, order.lease_id)

    def _wanted(self, pool: Pool, order: Order, candidate: Candidate) -> Wanted:
        groups = self._offers.groups(pool, order.quote.need, candidate.market, self._clock())
        same = (one for one in groups if (one.form, one.hourly) == (candidate.instance_type, candidate.hourly))
        return [(machine, group.count) for group in same for machine in group.machines]

    def _none(
        self, calendar: Calendar, order: Order, candidate: Candidate, wanted: Wanted, bad: set[str]
    ) -> NoCapacityError:
        span = span_of(order, None, timedelta(), calendar.now)
        machines = [machine for machine, _ in wanted if machine.name not in bad]
        clashes = [one for m in machines for one in calendar.clashes(m.name, m.numbers, span, order.lease_id)]
        count = wanted[0][1] if wanted else order.quote.need.count
        words = taken_words(str(candidate), span, clashes, calendar.first_free(machines, count, span, order.lease_id))
        ill = sorted(bad & {machine.name for machine, _ in wanted})
        words += f"; {', '.join(ill)} did not pass the health check" if ill else ""
        return NoCapacityError(words, (str(candidate),), "no-machine")


def taken_by(calendar: Calendar, lease_id: str) -> tuple[Booking, ...]:
    """What the lease holds already."""
    return tuple(one for one in calendar.bookings if one.lease_id == lease_id and one.phase in TAKEN)


def booked_by(calendar: Calendar, lease_id: str) -> Booking | None:
    """What the lease has booked and not begun."""
    mine = (one for one in calendar.bookings if one.lease_id == lease_id and one.phase is Phase.BOOKED)
    return next(mine, None)


def keep_of(before: Booking | None, grace: timedelta) -> timedelta:
    return before.keep if before else grace


def span_of(order: Order, before: Booking | None, grace: timedelta, now: datetime) -> Span:
    """From now until the end that the lease would have if it became usable a little later, and its grace after that."""
    request = order.request
    ends = request.until or end_of(request.duration or timedelta(), now, before.ends if before else None)
    return Span(now, max(ends, now) + keep_of(before, grace))


def chosen(calendar: Calendar, order: Order, wanted: Wanted, grace: timedelta) -> Fit | None:
    """What it has booked if that can be had and is wanted still, else what can be had instead."""
    before = booked_by(calendar, order.lease_id)
    span = span_of(order, before, grace, calendar.now)
    if before is not None:
        mine = next(((m, n) for m, n in wanted if m.name == before.machine and n == len(before.gpus)), None)
        there = mine is not None and set(before.gpus) <= set(mine[0].numbers)
        if mine and there and not calendar.clashes(before.machine, before.gpus, span, order.lease_id):
            return Fit(mine[0], before.gpus)
    for count in dict.fromkeys(number for _, number in wanted):
        same = [machine for machine, number in wanted if number == count]
        fit = calendar.fit(same, count, span, order.lease_id)
        if fit is not None:
            return fit
    return None
