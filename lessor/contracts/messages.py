"""What people are told without having asked: notices of one lease, and alarms for administrators."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


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
    KEPT = "kept"
    HELD_UP = "held-up"
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
    IDLE_WARNING = "idle-warning"
    IDLE_FINAL = "idle-final"
    IDLE_OVER = "idle-over"
    IDLE_HELD_BACK = "idle-held-back"
    PAUSED = "paused"
    PARTLY_IDLE = "partly-idle"
    CAP = "cap"
    OVER_BUDGET = "over-budget"
    UNFIT = "unfit"


@dataclass(frozen=True)
class NotifyInput:
    """Tell people `notice` of a lease; the text is made from the ledger's record of it at `revision` or later.

    `until` is set for what did not get through at first: how long it is tried on.
    """

    lease_id: str
    notice: Notice
    revision: int
    before: timedelta = timedelta()
    until: datetime | None = None


@dataclass(frozen=True)
class Delivery:
    """Whether somebody was reached, by which channel (`slack:dm`, `slack:channel`, ...), or why nobody was.

    `owner` says that it was one of those whose the lease is, in person.
    """

    delivered: bool
    via: str = ""
    problem: str = ""
    owner: bool = False


class Alarm(StrEnum):
    """What administrators are paged about that is not the matter of one lease."""

    BRAKE = "brake"
    UNREAD = "unread"
    NO_WORKFLOW = "no-workflow"
    BUDGET = "budget"
    CONFIGURATION = "configuration"
    SOURCE_SILENT = "source-silent"
    METER_SILENT = "meter-silent"
    FAULTY_GPU = "faulty-gpu"
    UNLABELLED = "unlabelled"
    REVIEW = "review"
    NEVER_IDLE = "never-idle"
    UNFIT = "unfit"
    RIGHTS = "rights"


@dataclass(frozen=True)
class PageInput:
    """Page the administrators: one message for each alarm, subject and day in UTC, however often it is asked for.

    `subject` is a place or ids of leases, `problem` says in words for people what was seen and what was done. What
    concerns a `team` or a `person` is told to them, and to administrators only if `admins`; a budget's subject holds
    its month, so that each is told once in all. `until` is how long it is tried on, as in `NotifyInput`.
    """

    alarm: Alarm
    subject: str
    problem: str
    team: str = ""
    person: str = ""
    admins: bool = True
    until: datetime | None = None
