"""Payloads of a lease's workflow and of its activities."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lessor.contracts.acts import Answer
from lessor.contracts.messages import NotifyInput, PageInput
from lessor.domain.approval import Step
from lessor.domain.lease import Event, Lease
from lessor.domain.people import Person
from lessor.domain.policy import Decision
from lessor.domain.quote import Quote
from lessor.domain.request import Request
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours


@dataclass(frozen=True)
class LeaseInput:
    """Starts a lease with `request`, or goes on with `lease` after continue-as-new.

    `answers` are the acts that have had their effect, so that a redelivered one changes nothing in a later run either;
    `notices` and `pages` are messages that were still to be sent. `resumed` says why `lease`, whose workflow had ended,
    is taken down now; empty after continue-as-new.
    """

    lease_id: str
    request: Request | None = None
    terms: Terms | None = None
    lease: Lease | None = None
    answers: tuple[tuple[str, Answer], ...] = ()
    notices: tuple[NotifyInput, ...] = ()
    resumed: str = ""
    pages: tuple[PageInput, ...] = ()


@dataclass(frozen=True)
class LeaseRef:
    """Names a lease to an activity, which reads the rest from the ledger. `revision` is what it must find at least."""

    lease_id: str
    revision: int


@dataclass(frozen=True)
class RecordInput:
    """Put a lease and what happened to it on record; the input of a local activity, so it never enters history."""

    lease: Lease
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Counted:
    """Count `lease` for its team, project and person as of `at`; the input of local activities."""

    lease: Lease
    at: datetime


@dataclass(frozen=True)
class Assessment:
    """What a request costs, what the policy says, who must decide, and under which timings it will live.

    `schedule` is when it is to run, `awake` when its owner is not asleep; `None` for round the clock.
    """

    quote: Quote
    decision: Decision
    steps: tuple[Step, ...]
    owner: Person
    schedule: Hours | None = None
    awake: Hours | None = None


@dataclass(frozen=True)
class StaffInput:
    """Look up anew who decides `steps`; those at the indices `overdue` are opened to their next level.

    `requester_ids` are all ids of those whose request it is; the first is the main one.
    """

    team: str
    requester_ids: tuple[str, ...]
    steps: tuple[Step, ...]
    overdue: tuple[int, ...] = ()


@dataclass(frozen=True)
class MoveEnd:
    """Write a lease's end date on its resources."""

    lease_id: str
    ends: datetime


@dataclass(frozen=True)
class Weigh:
    """Judge a lease as if it ran until `until`, as `person` wants; `granted` once those who were asked have agreed."""

    lease_id: str
    until: datetime
    person: Person
    granted: bool = False


@dataclass(frozen=True)
class Weighed:
    """What the policy says of the longer lease, and the steps that have to be asked for it; none when it is covered."""

    decision: Decision
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class LeaseOutcome:
    """The result of a lease's workflow: how it ended, what it cost and what proves that nothing is left."""

    lease_id: str
    state: str
    cost: str
    hours: float
    proof: str


@dataclass(frozen=True)
class PayerInput:
    """What a lease takes over that comes to `team` and to an owner in the zone `tz`, for a life of so long."""

    team: str
    tz: str
    life: timedelta
