"""The lease: the right of one owner and team to a GPU resource for one purpose until one end. The aggregate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from lessor.domain.approval import Step
from lessor.domain.errors import Refused
from lessor.domain.money import Money
from lessor.domain.policy import Decision
from lessor.domain.quote import Quote
from lessor.domain.request import Request
from lessor.domain.resource import Resource


class State(StrEnum):
    """Where a lease stands in its life; the picture is in ARCHITECTURE.md."""

    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting-approval"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"
    APPROVED = "approved"
    PROVISIONING = "provisioning"
    WAITING_FOR_CAPACITY = "waiting-for-capacity"
    FAILED = "failed"
    ACTIVE = "active"
    ENDING = "ending"
    STOPPED = "stopped"
    DELETING = "deleting"
    BLOCKED = "blocked"
    CLOSED = "closed"


FINAL = frozenset({State.DENIED, State.WITHDRAWN, State.LAPSED, State.FAILED, State.CLOSED})
"""Nothing happens after these, and nothing is left behind."""

OPEN = frozenset(State) - FINAL

HOLDING = frozenset({State.PROVISIONING, State.WAITING_FOR_CAPACITY, State.APPROVED, State.ACTIVE, State.ENDING})
"""States in which the lease's GPUs count against its team's quota."""


@dataclass(frozen=True)
class Terms:
    """The timings that hold for one lease, copied from the configuration when it was requested.

    `warnings` are distances before the end; `short_warnings` hold for leases shorter than `short_lease`. `notice` is
    the least time between a delivered warning and the stop (law 4). `capacity_waits` are the pauses between tries.
    """

    lapse_after: timedelta = timedelta(hours=24)
    warnings: tuple[timedelta, ...] = (
        timedelta(days=7),
        timedelta(hours=48),
        timedelta(hours=2),
        timedelta(minutes=30),
    )
    short_warnings: tuple[timedelta, ...] = (timedelta(minutes=30), timedelta(minutes=15), timedelta(minutes=5))
    short_lease: timedelta = timedelta(days=1)
    notice: timedelta = timedelta(minutes=5)
    grace: timedelta = timedelta(days=7)
    min_duration: timedelta = timedelta(minutes=15)
    max_total: timedelta = timedelta(days=30)
    capacity_waits: tuple[timedelta, ...] = tuple(timedelta(hours=h) for h in (1, 2, 4, 8))
    provision_limit: timedelta = timedelta(hours=2)
    verify_interval: timedelta = timedelta(seconds=30)
    verify_passes: int = 2
    cleanup_limit: timedelta = timedelta(minutes=30)
    blocked_retry: timedelta = timedelta(minutes=30)


@dataclass(frozen=True)
class Span:
    """A stretch of billed time at one rate; `end` is `None` while it runs, `hourly` is `None` when unknown."""

    start: datetime
    end: datetime | None
    hourly: Money | None


@dataclass(frozen=True)
class Warned:
    """A warning that was delivered for the end that holds now: how long before, when, and by which channel."""

    before: timedelta
    at: datetime
    via: str = "slack"


@dataclass(frozen=True)
class Event:
    """One thing that happened, for the record. `actor` is a person's id, `policy`, or `lessor`. Values are text."""

    type: str
    at: datetime
    actor: str
    data: dict[str, str]


@dataclass(frozen=True)
class Capacity:
    """A try to provision that found no capacity: what was tried and how often."""

    tries: int
    tried: tuple[str, ...]
    next_try: datetime
    first_try: datetime


@dataclass(frozen=True)
class Lease:
    """All that is known of one lease. Never changed in place: transitions return a new one with the events."""

    id: str
    request: Request
    owner: str
    requested_at: datetime
    state: State = State.REQUESTED
    terms: Terms = Terms()
    owner_ids: tuple[str, ...] = ()
    quote: Quote | None = None
    decision: Decision | None = None
    steps: tuple[Step, ...] = ()
    decided_by: str = ""
    decided_at: datetime | None = None
    decided_reason: str = ""
    approved_at: datetime | None = None
    capacity: Capacity | None = None
    resources: tuple[Resource, ...] = ()
    access: str = ""
    ready_at: datetime | None = None
    ends_at: datetime | None = None
    warned: tuple[Warned, ...] = ()
    extensions: int = 0
    spans: tuple[Span, ...] = ()
    stoppable: bool = True
    ending_reason: str = ""
    stopped_at: datetime | None = None
    deleting_at: datetime | None = None
    clean_passes: int = 0
    left: tuple[str, ...] = ()
    proof: str = ""
    problem: str = ""
    closed_at: datetime | None = None
    next_try: datetime | None = None
    outcome: State = State.CLOSED
    revision: int = 0

    @property
    def final(self) -> bool:
        return self.state in FINAL

    @property
    def requester_ids(self) -> frozenset[str]:
        return frozenset((self.owner, self.request.requester, *self.owner_ids))

    @property
    def gpus(self) -> int:
        return self.quote.offer.gpu_count if self.quote else self.request.need.count

    @property
    def model(self) -> str:
        return self.quote.offer.gpu_model if self.quote else self.request.need.model

    @property
    def last_end(self) -> datetime | None:
        """The latest end that extensions may reach; `None` before the clock has started."""
        return None if self.ready_at is None else self.ready_at + self.terms.max_total

    def hours(self, now: datetime) -> timedelta:
        """The billed time so far."""
        return sum(((span.end or now) - span.start for span in self.spans), timedelta())

    def cost(self, now: datetime) -> Money | None:
        """The compute cost so far, rounded once; `None` when any part of it has an unknown price."""
        total: Money | None = None
        for span in self.spans:
            if span.hourly is None:
                return None
            part = span.hourly.for_time((span.end or now) - span.start)
            total = part if total is None else total + part
        return (total or Money(Decimal(0), self._currency())).rounded()

    def _currency(self) -> str:
        hourly = self.quote.offer.hourly if self.quote else None
        return hourly.currency if hourly else "USD"


@dataclass(frozen=True)
class Change:
    """The lease after a transition, and what to put on record."""

    lease: Lease
    events: tuple[Event, ...]


def changed(lease: Lease, event: Event, **fields: object) -> Change:
    """`lease` with `fields` replaced and its revision counted up, together with the event."""
    return Change(replace(lease, revision=lease.revision + 1, **fields), (event,))  # type: ignore[arg-type]


def require_state(lease: Lease, *allowed: State) -> None:
    """Raise `Refused` ("wrong-state") unless the lease is in one of `allowed`; the message says what it is instead."""
    if lease.state not in allowed:
        wanted = " or ".join(s.value for s in allowed)
        raise Refused("wrong-state", f"{lease.id} is {describe(lease)}; this needs a lease that is {wanted}")


def describe(lease: Lease) -> str:
    """The state in words for a sentence, with who decided and when where that is what the person needs to know."""
    if lease.state is State.LAPSED and lease.closed_at:
        return f"expired at {lease.closed_at:%Y-%m-%d %H:%M} UTC without a decision"
    if lease.state in (State.DENIED, State.WITHDRAWN) and lease.decided_at:
        return f"{lease.state.value} by {lease.decided_by} at {lease.decided_at:%Y-%m-%d %H:%M} UTC"
    return lease.state.value.replace("-", " ")
