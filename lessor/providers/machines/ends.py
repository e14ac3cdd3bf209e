"""What the guard reads of a pool: until when people are let in, by the ledger's bookings.

Machines carry no end that lessor could read back without the ledger. The hooks are told of it with every grant, so that
a machine can end the access by itself, as the shipped hook has sshd do (law 10).
"""

from __future__ import annotations

from lessor.domain.bookings import TAKEN, Booking, Phase
from lessor.domain.guarding import AWAKE, Dated, Roll
from lessor.domain.machines import spelt_gpus
from lessor.domain.request import Place
from lessor.domain.resource import Condition
from lessor.ports import ProviderError
from lessor.providers.instants import instant
from lessor.providers.machines.diary import Diary
from lessor.providers.machines.pool import Pool

UNKNOWN_WITHOUT = "which lease has which machine and until when stands in the ledger only; the hooks know each end too"

FIRST = (Condition.RUNNING, Condition.PENDING, Condition.UNKNOWN, Condition.STOPPED)
"""Of several machines the first of these that any of them is in."""


def dated(pool: Pool, place: Place, diary: Diary) -> Roll:
    """Every machine that is a lease's. Without the ledger nothing is known, and that is said."""
    try:
        bookings = [one for one in diary.calendar(pool).bookings if one.phase in TAKEN]
    except ProviderError as error:
        return Roll(problems=(f"{error}; {UNKNOWN_WITHOUT}",))
    by_lease: dict[str, list[Booking]] = {}
    for one in bookings:
        by_lease.setdefault(one.lease_id, []).append(one)
    return Roll(tuple(_dated(pool, place, lease, mine) for lease, mine in sorted(by_lease.items())))


def _dated(pool: Pool, place: Place, lease: str, bookings: list[Booking]) -> Dated:
    open_ = [one for one in bookings if _condition(one) in AWAKE]
    shown = open_ or bookings
    end = max(one.open_until or one.ends for one in shown)
    return Dated(
        place=place,
        lease=lease,
        refs=tuple(one.machine for one in shown),
        what=", ".join(f"{spelt_gpus(one.gpus)} of {one.machine}" for one in shown),
        condition=min(map(_condition, shown), key=FIRST.index),
        ends=end,
        written=instant(end),
        owner=shown[0].owner,
        team=shown[0].team,
        since=max((one.since for one in shown if one.since), default=None),
        fixed="" if pool.commands.let_in else f"lessor.yaml has no hooks of {pool.name} that could lock people out",
    )


def _condition(booking: Booking) -> Condition:
    """Whether its people may be in: they may where somebody began to let them in, until it is seen that nobody is."""
    if booking.phase is Phase.HELD:
        return Condition.RUNNING
    if booking.let_in_at is None:
        return Condition.STOPPED
    # What ends cannot be stopped any more, and is not known to be closed.
    return Condition.UNKNOWN if booking.phase is Phase.ENDING else Condition.PENDING
