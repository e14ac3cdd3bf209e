"""Who has which GPUs of which machine from when to when. Nothing overlaps, today or in the future.

A booking counts from its begin until its lease's end, then for as long as a stopped lease may be asked back, then for
the time in which a machine is cleaned up. What is not proven to be over counts until it is, whatever its end says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from lessor.domain.errors import Refused
from lessor.domain.lease import IN_USE, Lease, State, minute
from lessor.domain.machines import Machine

SLACK = timedelta(minutes=15)
"""How much later than booked a lease may become usable that was asked for by its length."""

MOMENT = timedelta(minutes=2)
"""What letting people in takes: a booking with so much more than the length that was asked for is long enough."""

SOON = timedelta(days=365)
"""How far ahead a free time is looked for."""


class Phase(StrEnum):
    """How far a booking is. Only what was `held` can have let anybody in."""

    BOOKED = "booked"
    HELD = "held"
    STOPPED = "stopped"
    ENDING = "ending"
    ENDED = "ended"


TAKEN = frozenset({Phase.HELD, Phase.STOPPED, Phase.ENDING})
"""Phases in which the machine is somebody's now."""


@dataclass(frozen=True)
class Booking:
    """GPUs of one machine for one lease in [begins, ends), and for `keep` longer in case it is asked back.

    `since` is when it came into its phase; `granted_at` when its people were first let in. `token` is that of the
    launch that took it. `address` is the machine's, so that people can be locked out of what is in no inventory any
    more. `fresh_at` is when it was taken. `open_until` is until when its people are let in, which is not the end of the
    booking while people decide on a later one. `let_in_at` is when lessor last let people in, or
    began to; `None` when it never did, and once it was seen that nobody gets in any more.
    """

    lease_id: str
    machine: str
    gpus: tuple[int, ...]
    begins: datetime
    ends: datetime
    keep: timedelta = timedelta()
    phase: Phase = Phase.BOOKED
    since: datetime | None = None
    token: str = ""
    address: str = ""
    owner: str = ""
    team: str = ""
    cost_center: str = ""
    fresh_at: datetime | None = None
    granted_at: datetime | None = None
    open_until: datetime | None = None
    let_in_at: datetime | None = None

    @property
    def until(self) -> datetime:
        """The end with the time for which it is kept afterwards."""
        return self.ends + self.keep

    @property
    def open(self) -> bool:
        return self.phase is not Phase.ENDED

    @property
    def void(self) -> bool:
        """Whether it was given up before anything was taken."""
        return self.phase is Phase.ENDED and self.fresh_at is None

    def covers(self, now: datetime) -> Span:
        """The time for which nobody else can have these GPUs, as far as is known now."""
        if self.phase is Phase.ENDED:
            return Span(self.begins, max(self.since or self.until, self.begins))
        # This very instant is still taken, also where nothing has to be cleaned up after it.
        return Span(self.begins, max(self.until, now + timedelta.resolution) if self.phase in TAKEN else self.until)

    def turned(self, phase: Phase, now: datetime) -> Booking:
        """In another phase since now; in the same one it stays as it is."""
        return self if self.phase is phase else replace(self, phase=phase, since=now)


@dataclass(frozen=True)
class Span:
    """The time in [begins, until)."""

    begins: datetime
    until: datetime

    def meets(self, other: Span, between: timedelta) -> bool:
        """Whether there is less than `between` from the end of one to the begin of the other."""
        return self.begins < other.until + between and other.begins < self.until + between


@dataclass(frozen=True)
class Calendar:
    """The bookings of a place, as they are `now`, with the time that lies between two of them."""

    bookings: tuple[Booking, ...]
    now: datetime
    clean_up: timedelta = timedelta()

    def clashes(self, machine: str, gpus: Iterable[int], span: Span, but: str = "") -> tuple[Booking, ...]:
        """What keeps these GPUs from being had in `span`, first come first; the lease `but` is left out."""
        wanted = set(gpus)
        found = [
            one
            for one in self.bookings
            if one.machine == machine
            and one.lease_id != but
            and wanted.intersection(one.gpus)
            and one.covers(self.now).meets(span, self.clean_up)
        ]
        return tuple(sorted(found, key=lambda one: (one.begins, one.lease_id)))

    def free(self, machine: Machine, span: Span, but: str = "") -> tuple[int, ...]:
        """GPUs of the machine that can be had for all of `span`; of one that is leased whole, all of them or none."""
        numbers = machine.numbers
        if machine.whole:
            return () if self.clashes(machine.name, numbers, span, but) else numbers
        return tuple(n for n in numbers if not self.clashes(machine.name, (n,), span, but))

    def fit(self, machines: Sequence[Machine], count: int, span: Span, but: str = "") -> Fit | None:
        """Where `count` GPUs can be had for all of `span`: where the fewest others would be left over."""
        found = [(machine, self.free(machine, span, but)) for machine in machines]
        fitting = [(machine, free) for machine, free in found if len(free) >= count]
        if not fitting:
            return None
        machine, free = min(fitting, key=lambda one: len(one[1]))
        return Fit(machine, free if machine.whole else free[:count])

    def first_free(self, machines: Sequence[Machine], count: int, span: Span, but: str = "") -> datetime | None:
        """The earliest begin, not before that of `span`, from which `count` GPUs can be had for as long as it is."""
        length = span.until - span.begins
        ends = {one.covers(self.now).until + self.clean_up for one in self.bookings}
        for begins in sorted({span.begins, *(at for at in ends if span.begins < at <= span.begins + SOON)}):
            if self.fit(machines, count, Span(begins, begins + length), but):
                return begins
        return None

    def moved(self, booking: Booking, ends: datetime, keep: timedelta) -> Booking:
        """The booking with another end. Raises `Refused` ("booked") when that is somebody else's time."""
        found = replace(booking, ends=max(ends, booking.begins), keep=keep)
        if found.until <= booking.until:
            return found
        clashes = self.clashes(booking.machine, booking.gpus, Span(booking.begins, found.until), booking.lease_id)
        if clashes:
            raise Refused("booked", _refusal(booking, clashes[0], keep, self.clean_up))
        return found


@dataclass(frozen=True)
class Fit:
    """GPUs of a machine that can be had."""

    machine: Machine
    gpus: tuple[int, ...]


def asked_for(lease: Lease, now: datetime) -> Span:
    """The time that an approved lease needs a machine for, without what it is kept for afterwards."""
    request = lease.request
    begins = request.begins(now)
    ends = request.until or end_of(request.duration or timedelta(), begins)
    return Span(begins, max(ends, begins))


def end_of(length: timedelta, now: datetime, booked: datetime | None = None) -> datetime:
    """Until when a machine is needed for a lease of this length that begins now; what is booked stays if it will do."""
    return booked if booked is not None and booked >= now + length + MOMENT else now + length + SLACK


def follows(lease: Lease, booking: Booking) -> tuple[datetime, timedelta]:
    """The end of its booking that a lease has now, and for how long it is kept afterwards.

    While people decide on a later end it is kept until then, so that they do not promise what is somebody else's. What
    is stopped for good is kept for its grace; what is being taken down is not kept at all.
    """
    keep = lease.terms.grace
    if lease.state in (State.DELETING, State.BLOCKED):
        return min(booking.ends, lease.deleting_at or booking.ends), timedelta()
    if lease.state is State.STOPPED and lease.stopped_at is not None:
        return lease.stopped_at, keep
    if lease.ends_at is None or lease.state not in (*IN_USE, State.ENDING, State.PROVISIONING):
        return booking.ends, keep
    wish = lease.wish.until if lease.wish else lease.ends_at
    return max(lease.ends_at, wish), keep


def taken_words(wanted: str, span: Span, clashes: Sequence[Booking], first: datetime | None) -> str:
    """Why nothing can be booked, with the next time at which it can."""
    others = ", ".join(f"{one.machine} by {one.lease_id} until {minute(one.until)}" for one in clashes[:3])
    more = f" and {len(clashes) - 3} more" if len(clashes) > 3 else ""
    then = f"It is free from {minute(first)} on" if first else "It is not free for so long within a year"
    taken = f": {others}{more}" if others else ""
    return f"{wanted} cannot be had from {minute(span.begins)} to {minute(span.until)}{taken}. {then}"


def _refusal(booking: Booking, other: Booking, keep: timedelta, clean_up: timedelta) -> str:
    last = max(other.begins - clean_up - keep, booking.ends)
    return (
        f"{booking.machine} is booked for {other.lease_id} from {minute(other.begins)} on, so {booking.lease_id} can "
        f"have it until {minute(last)} at most; its end stays {minute(booking.ends)}"
    )
