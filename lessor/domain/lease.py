"""The lease: the right of one owner and team to a GPU resource for one purpose until one end. The aggregate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from lessor.domain import billing, storage
from lessor.domain.approval import Step, waiting
from lessor.domain.errors import Refused
from lessor.domain.ladder import Consent, Dispute, Ladder, Pause, Snooze, Spared
from lessor.domain.money import Money
from lessor.domain.pending import CoOwner, Counter, Exemption, Question, Transfer, Wish
from lessor.domain.policy import Decision
from lessor.domain.quote import Quote
from lessor.domain.remembered import Announced, Capacity, Refusal, Unfit, Warned
from lessor.domain.request import Request
from lessor.domain.resource import Resource
from lessor.domain.states import FINAL, IN_USE, NOTHING_YET, OPEN, State
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours

__all__ = [
    "FINAL",
    "IN_USE",
    "NOTHING_YET",
    "OPEN",
    "Announced",
    "Capacity",
    "Change",
    "Event",
    "Lease",
    "Refusal",
    "Span",
    "State",
    "Storage",
    "Unfit",
    "Warned",
    "changed",
    "describe",
    "minute",
    "require_state",
]

Span = billing.Span
Storage = billing.Storage


TERMINATED = "terminated"
"""How the reason begins for which a lease ended whose workflow was ended from outside."""


@dataclass(frozen=True)
class Event:
    """One thing that happened, for the record. `actor` is a person's id, `policy`, or `lessor`. Values are text."""

    type: str
    at: datetime
    actor: str
    data: dict[str, str]


@dataclass(frozen=True)
class Lease:
    """All that is known of one lease. Never changed in place: transitions return a new one with the events.

    `asked_at` is when people were asked to decide; `end_set_at` is since when `ends_at` holds; `end_before_restore` is
    the end that comes back when a restore fails; `outcome` is the final state that deletion leads to; `next_try` is
    when a warning that reached nobody, or a look for left-overs, is tried again. `owner_hours` is when the owner
    works, `schedule` when the lease is to run if that is not always; both are written out when it is assessed.
    `suspended_at` is when a suspended lease was seen stopped; `hold_over` that an extension was rejected for the end
    that holds, so that asking again does not put it off. `offers` counts how often it was offered to a new owner.
    `idle` is there while it is seen doing nothing, `disputed` while such a verdict is not believed; `snoozes` counts
    how often it was snoozed since it was last busy. `pause` is there while it is stopped until somebody starts it.
    `volatile` says that a stop loses what is on its local disks, `consent` that its owner accepts that. `storage` is
    what its disks are billed for, running or not. `cap_told` are percentages of its own cap that people were told of;
    it is stopped for it no earlier than `cap_stop_at`. `unfit` is what was said of machines that fail their check.
    `held` is what keeps a deletion from going on, in the place's words, since its owner was told of it.
    """

    id: str
    request: Request
    owner: str
    requested_at: datetime
    state: State = State.REQUESTED
    terms: Terms = field(default_factory=Terms)
    owner_ids: tuple[str, ...] = ()
    quote: Quote | None = None
    decision: Decision | None = None
    steps: tuple[Step, ...] = ()
    decided_by: str = ""
    decided_at: datetime | None = None
    decided_reason: str = ""
    asked_at: datetime | None = None
    approved_at: datetime | None = None
    capacity: Capacity | None = None
    resources: tuple[Resource, ...] = ()
    access: str = ""
    ready_at: datetime | None = None
    ends_at: datetime | None = None
    end_set_at: datetime | None = None
    end_before_restore: datetime | None = None
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
    cancelled_by: str = ""
    refusal: Refusal | None = None
    counter: Counter | None = None
    questions: tuple[Question, ...] = ()
    wish: Wish | None = None
    transfer: Transfer | None = None
    offers: int = 0
    co_owners: tuple[CoOwner, ...] = ()
    former_owners: tuple[str, ...] = ()
    exemption: Exemption | None = None
    suspended_at: datetime | None = None
    announced: Announced | None = None
    hold_over: bool = False
    owner_hours: Hours | None = None
    schedule: Hours | None = None
    idle: Ladder | None = None
    snooze: Snooze | None = None
    snoozes: int = 0
    disputed: Dispute | None = None
    spared: Spared | None = None
    pause: Pause | None = None
    volatile: bool = False
    consent: Consent | None = None
    storage: tuple[Storage, ...] = ()
    cap_told: tuple[int, ...] = ()
    cap_stop_at: datetime | None = None
    unfit: Unfit | None = None
    held: str = ""
    revision: int = 0

    @property
    def final(self) -> bool:
        return self.state in FINAL

    @property
    def holder_ids(self) -> frozenset[str]:
        """All ids of the owner and the co-owners: whose it is now, whoever asked for it."""
        shared = (i for one in self.co_owners for i in (one.id, *one.ids))
        return frozenset(i for i in (self.owner, *self.owner_ids, *shared) if i)

    @property
    def untouched(self) -> bool:
        """Whether nothing was ever tried, so that it may become final without a look (law 12)."""
        return self.state in NOTHING_YET and self.capacity is None

    @property
    def requester_ids(self) -> frozenset[str]:
        """Who never decides on it (law 6): those whose it is, and whoever asked for it first."""
        return self.holder_ids | {self.request.requester}

    @property
    def restoring(self) -> bool:
        """Whether a stopped lease is being started again, as its owner asked during grace."""
        return self.state is State.PROVISIONING and self.stopped_at is not None

    @property
    def lapses_at(self) -> datetime:
        """When an undecided request lapses: after its time to decide, or when the end it asked for has come."""
        turn = [step.lapses_at for step in waiting(self.steps) if step.lapses_at]
        before = [step.lapses_at for step in self.steps if step.lapses_at]
        late = min(turn, default=max(before, default=(self.asked_at or self.requested_at) + self.terms.lapse_after))
        return min(late, self.request.until) if self.request.until else late

    @property
    def gpus(self) -> int:
        return self.quote.offer.gpu_count if self.quote else self.request.need.count

    @property
    def model(self) -> str:
        return self.quote.offer.gpu_model if self.quote else self.request.need.model

    @property
    def runs_until(self) -> datetime | None:
        """The end that holds: `ends_at`, put off while people decide on an extension, as long as the terms allow.

        Never beyond what was wished for, and not for a second wish after a rejected one.
        """
        if self.ends_at is None or self.wish is None or self.hold_over:
            return self.ends_at
        return max(self.ends_at, min(self.ends_at + self.terms.extension_hold, self.wish.until))

    @property
    def last_end(self) -> datetime | None:
        """The latest end that extensions may reach; `None` before the clock has started."""
        return None if self.ready_at is None else self.ready_at + self.terms.max_total

    @property
    def allowance(self) -> timedelta:
        """How much longer extensions may make it; zero before the clock has started and at the maximum."""
        if self.last_end is None or self.ends_at is None:
            return timedelta()
        return max(self.last_end - self.ends_at, timedelta())

    def hours(self, now: datetime) -> timedelta:
        """The billed time so far."""
        return billing.elapsed(self.spans, now)

    def cost(self, now: datetime) -> Money | None:
        """The cost so far of machines and disks, each rounded once; `None` when a price of any part is unknown.

        Amounts in two currencies have no sum either.
        """
        lines = [billing.cost(self.spans, now, self.currency)] if self.spans or not self.storage else []
        lines += [storage.cost(self.storage, now, self.currency)] if self.storage else []
        known = [line for line in lines if line is not None]
        if len(known) < len(lines) or len({line.currency for line in known}) > 1:
            return None
        return sum(known[1:], known[0])

    @property
    def currency(self) -> str:
        """The currency of what costs nothing yet."""
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
        *others, last = (_words(one) for one in allowed)
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise Refused("wrong-state", f"{lease.id} is {describe(lease)}; this needs a lease that is {wanted}")


def describe(lease: Lease) -> str:
    """The state in words for a sentence, with who decided and when where that is what the person needs to know."""
    if lease.state is State.LAPSED and lease.closed_at:
        return f"expired at {minute(lease.closed_at)} without a decision"
    if lease.final and lease.ending_reason.startswith(f"{TERMINATED}: "):
        return f"ended ({TERMINATED})"
    if lease.final and lease.cancelled_by and lease.closed_at:
        return f"cancelled by {lease.cancelled_by} at {minute(lease.closed_at)}"
    if lease.state in (State.DENIED, State.WITHDRAWN) and lease.decided_at:
        return f"{lease.state.value} by {lease.decided_by} at {minute(lease.decided_at)}"
    return _words(lease.state)


def back_to_running(lease: Lease) -> str:
    """What brings a stopped lease back, for a sentence; empty where nothing is stopped."""
    if lease.state is State.SUSPENDED:
        return f"`/gpu start {lease.id}` or `lessor start {lease.id}` starts it again"
    if lease.state is State.STOPPED:
        return f"`/gpu restore {lease.id} WHEN` or `lessor restore {lease.id} WHEN` starts it again"
    return ""


def minute(at: datetime) -> str:
    """An instant in a sentence: `2026-11-01 05:30 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _words(state: State) -> str:
    return state.value.replace("-", " ")
