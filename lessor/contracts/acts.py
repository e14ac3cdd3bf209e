"""What people do to a lease, and what they are told of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lessor.domain.pending import Changes


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
    SNOOZE = "snooze"
    DISPUTE = "dispute"
    STOP = "stop"
    START = "start"
    CONSENT = "consent"
    SPARE = "spare"


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
