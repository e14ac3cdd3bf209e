"""Names on the wire: everything that two processes must spell alike, in one place.

One payload dataclass per message; every field that was added later has a default, so that executions which an earlier
version recorded still decode. Payloads carry ids, not blobs.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from temporalio.common import SearchAttributeKey

from lessor.domain.approval import Step
from lessor.domain.lease import Event, Lease
from lessor.domain.pending import Changes
from lessor.domain.people import Person
from lessor.domain.policy import Decision
from lessor.domain.quote import Quote
from lessor.domain.request import Place, Request
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours

TASK_QUEUE = "lessor"
QUEUE_AWS = "lessor-aws"
QUEUE_SLACK = "lessor-slack"

LEASE_WORKFLOW = "LeaseWorkflow"
SWEEP_WORKFLOW = "SweepWorkflow"
SWEEP_SCHEDULE = "lessor-sweep"
PEOPLE_WORKFLOW = "PeopleSweepWorkflow"
PEOPLE_SCHEDULE = "lessor-people"
MEMO_INTERACTION = "interaction"

GPU_STATE = SearchAttributeKey.for_keyword("GpuState")
GPU_OWNER = SearchAttributeKey.for_keyword("GpuOwner")
GPU_TEAM = SearchAttributeKey.for_keyword("GpuTeam")
GPU_PROVIDER = SearchAttributeKey.for_keyword("GpuProvider")
GPU_MODEL = SearchAttributeKey.for_keyword("GpuModel")
GPU_MARKET = SearchAttributeKey.for_keyword("GpuMarket")
GPU_WORKLOAD = SearchAttributeKey.for_keyword("GpuWorkload")
GPU_COUNT = SearchAttributeKey.for_int("GpuCount")
GPU_HOURLY_USD = SearchAttributeKey.for_float("GpuHourlyUsd")
GPU_ENDS = SearchAttributeKey.for_datetime("GpuEnds")
GPU_RESOURCES = SearchAttributeKey.for_keyword_list("GpuResources")
SEARCH_ATTRIBUTES = (
    GPU_STATE,
    GPU_OWNER,
    GPU_TEAM,
    GPU_PROVIDER,
    GPU_MODEL,
    GPU_MARKET,
    GPU_WORKLOAD,
    GPU_COUNT,
    GPU_HOURLY_USD,
    GPU_ENDS,
    GPU_RESOURCES,
)

TAG_LEASE = "lessor:lease"
TAG_OWNER = "lessor:owner"
TAG_TEAM = "lessor:team"
TAG_COST_CENTER = "lessor:cost-center"
TAG_PURPOSE = "lessor:purpose"
TAG_ENDS = "lessor:ends"
TAG_MANAGED_BY = "lessor:managed-by"
MANAGED_BY = "lessor"


class Verb(StrEnum):
    """What a person does to a lease; the name of the update, and the `verb` of the durable fallback signal."""

    APPROVE = "approve"
    DENY = "deny"
    WITHDRAW = "withdraw"
    EXTEND = "extend"
    RELEASE = "release"
    KEEP = "keep"
    RESTORE = "restore"
    COUNTER = "counter"
    ACCEPT = "accept"
    DECLINE = "decline"
    REVISE = "revise"
    ASK = "ask"
    REPLY = "reply"
    GRANT = "grant"
    REJECT = "reject"
    SHORTEN = "shorten"
    EXEMPT = "exempt"
    TRANSFER = "transfer"
    TAKE = "take"
    SHARE = "share"
    UNSHARE = "unshare"


SIGNAL_ACT = "act"
SIGNAL_OBSERVED = "observed"
SIGNAL_RESTAFF = "restaff"
SIGNAL_OWNER_LEFT = "owner-left"
QUERY_LEASE = "lease"


@dataclass(frozen=True)
class Act:
    """One act of one person on one lease.

    `id` is the business key (update id): the same key has one effect, whether it arrives as update or as signal.
    `until` is the new end where the verb needs one; `reason` is required for `deny`. `via` is where the person acted,
    `slack` or `cli`, and goes on record with the effect; empty for acts that an earlier version sent. `to` is the
    person (any id) for `transfer`, `share` and `unshare`, `team` who pays after a transfer. `changes` is what `counter`
    and `revise` ask for instead. `confirmation` is what was typed where an approval has to be typed out.
    """

    id: str
    verb: Verb
    by: str
    reason: str = ""
    until: datetime | None = None
    via: str = ""
    to: str = ""
    team: str = ""
    changes: Changes | None = None
    confirmation: str = ""


@dataclass(frozen=True)
class Answer:
    """What a person is told. `ok` is false when the act was refused; `code` is stable, `message` is for the person."""

    ok: bool
    code: str
    message: str
    lease_id: str
    state: str
    by: str = ""
    at: datetime | None = None
    ends_at: datetime | None = None
    recorded_only: bool = False


@dataclass(frozen=True)
class Observed:
    """What the watch over a place saw of a lease's instance while it should have been running."""

    resource: str
    condition: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class LeaseInput:
    """Starts a lease with `request`, or goes on with `lease` after continue-as-new.

    `answers` are the acts that have had their effect, so that a redelivered one changes nothing in a later run either;
    `notices` are messages that were still to be sent. `resumed` says why `lease`, whose workflow had ended, is taken
    down now; empty after continue-as-new.
    """

    lease_id: str
    request: Request | None = None
    terms: Terms | None = None
    lease: Lease | None = None
    answers: tuple[tuple[str, Answer], ...] = ()
    notices: tuple["NotifyInput", ...] = ()
    resumed: str = ""


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


class Notice(StrEnum):
    """What people are told of a lease. Each has one message per lease and recipient, posted once and then updated."""

    REQUEST = "request"
    DECIDED = "decided"
    WAITING = "waiting"
    READY = "ready"
    WARNING = "warning"
    EXTENDED = "extended"
    STOPPED = "stopped"
    RESTORED = "restored"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    STOP_FAILED = "stop-failed"
    REFUSED = "refused"
    CLOSED = "closed"
    REMINDER = "reminder"
    ESCALATED = "escalated"
    COUNTERED = "countered"
    QUESTION = "question"
    ANSWERED = "answered"
    EXTENSION_ASKED = "extension-asked"
    EXTENSION_DECIDED = "extension-decided"
    SHORTENED = "shortened"
    RESERVED = "reserved"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    RESUME_FAILED = "resume-failed"
    TRANSFER_OFFERED = "transfer-offered"
    TRANSFERRED = "transferred"
    TRANSFER_ENDED = "transfer-ended"
    SHARED = "shared"
    OWNER_LEFT = "owner-left"


@dataclass(frozen=True)
class NotifyInput:
    """Tell people `notice` of a lease; the text is made from the ledger's record of it at `revision` or later."""

    lease_id: str
    notice: Notice
    revision: int
    before: timedelta = timedelta()


@dataclass(frozen=True)
class Delivery:
    """Whether somebody was reached, by which channel (`slack:dm`, `slack:channel`, ...), or why nobody was."""

    delivered: bool
    via: str = ""
    problem: str = ""


class Alarm(StrEnum):
    """What administrators are paged about that is not the matter of one lease."""

    BRAKE = "brake"
    UNREAD = "unread"
    NO_WORKFLOW = "no-workflow"
    BUDGET = "budget"
    CONFIGURATION = "configuration"


@dataclass(frozen=True)
class PageInput:
    """Page the administrators: one message for each alarm, subject and day in UTC, however often it is asked for.

    `subject` is a place or ids of leases, `problem` says in words for people what was seen and what was done. What
    concerns a `team` or a `person` is told to them, and to administrators only if `admins`; a budget's subject holds
    its month, so that each is told once in all.
    """

    alarm: Alarm
    subject: str
    problem: str
    team: str = ""
    person: str = ""
    admins: bool = True


@dataclass(frozen=True)
class SweepInput:
    """The places to read."""

    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class SweepPlace:
    """Read one place. `missing` is how many complete readings in a row did not show a machine, by machine."""

    place: Place
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class PlaceReport:
    """What one reading of a place came to: counts, and the ids of the few that changed.

    `complete` is false when anything was unread; then nothing was compared, and `missing` is as it was before.
    `told` are leases that were told; `left_over` are leases on record as over of which something is still there.
    `brake` says why absences were ignored; `unread` counts the readings in a row, up to this one, that were incomplete.
    """

    place: Place
    complete: bool
    resources: int = 0
    leases: int = 0
    told: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    brake: str = ""
    unread: int = 0


@dataclass(frozen=True)
class SweepRuns:
    """Look for leases without a workflow, and go on with these, of which something was left over."""

    left_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunsReport:
    """How many open leases were looked at, which are taken down by a new workflow now, and what went wrong.

    `stranded` are open leases that have no workflow still; `brake` says why they were left alone, if that is why.
    """

    leases: int = 0
    resumed: tuple[str, ...] = ()
    problem: str = ""
    stranded: tuple[str, ...] = ()
    brake: str = ""


@dataclass(frozen=True)
class SweepOutcome:
    """The result of one sweep; the schedule hands it to the next one, which goes on counting from it.

    `unheard` are pages that reached nobody; the next sweep tries them again (law 7).
    """

    places: tuple[PlaceReport, ...] = ()
    runs: RunsReport = RunsReport()
    unheard: tuple[PageInput, ...] = ()


@dataclass(frozen=True)
class PayerInput:
    """What a lease takes over that comes to `team` and to an owner in the zone `tz`, for a life of so long."""

    team: str
    tz: str
    life: timedelta


@dataclass(frozen=True)
class OwnerLeft:
    """The account of a lease's owner does not work any more: whom to offer it to, one circle after the other.

    `held` says that others hold it too, so that it does not end for want of a new owner.
    """

    owner: str
    circles: tuple[tuple[str, ...], ...] = ()
    held: bool = False


@dataclass(frozen=True)
class PeopleReport:
    """What one look at all owners and approvers came to: counts, and the leases that were told.

    `left` are leases that were told that their owner has left, `restaffed` those whose approvers are looked up anew.
    `unknown` counts owners of whom nothing could be read: nothing is done about them. `brake` says why nothing at all
    was done. `unread` counts the looks in a row, up to this one, in which somebody was unknown.
    """

    leases: int = 0
    owners: int = 0
    unknown: int = 0
    left: tuple[str, ...] = ()
    restaffed: tuple[str, ...] = ()
    brake: str = ""
    problem: str = ""
    unread: int = 0
    unheard: tuple[PageInput, ...] = ()
