"""Which events people are told of. Derived in one place, so that no transition can forget to tell."""

from __future__ import annotations

from lessor.contracts import Notice
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pausing import PAUSED

_NOTICES = {
    "approval-given": Notice.REQUEST,
    "price-rose": Notice.REQUEST,
    "facts-changed": Notice.REQUEST,
    "asked": Notice.REQUEST,
    "reminded": Notice.REMINDER,
    "escalated": Notice.ESCALATED,
    "countered": Notice.COUNTERED,
    "changes-declined": Notice.REQUEST,
    "question": Notice.QUESTION,
    "answered": Notice.ANSWERED,
    "approved": Notice.DECIDED,
    "denied": Notice.DECIDED,
    "withdraw-asked": Notice.DECIDED,
    "withdrawn": Notice.DECIDED,
    "lapsed": Notice.DECIDED,
    "no-capacity": Notice.WAITING,
    "queued": Notice.WAITING,
    "ready": Notice.READY,
    "reserved": Notice.RESERVED,
    "extended": Notice.EXTENDED,
    "extension-asked": Notice.EXTENSION_ASKED,
    "extension-granted": Notice.EXTENSION_DECIDED,
    "extension-rejected": Notice.EXTENSION_DECIDED,
    "extension-lapsed": Notice.EXTENSION_DECIDED,
    "extension-taken-back": Notice.EXTENSION_DECIDED,
    "shortened": Notice.SHORTENED,
    "suspended": Notice.SUSPENDED,
    "resumed": Notice.RESUMED,
    "started-outside": Notice.RESUMED,
    "resume-failed": Notice.RESUME_FAILED,
    "stopped": Notice.STOPPED,
    "restored": Notice.RESTORED,
    "restore-failed": Notice.STOPPED,
    "interrupted": Notice.INTERRUPTED,
    "provisioning-failed": Notice.FAILED,
    "failed": Notice.FAILED,
    "cancelled": Notice.CANCELLED,
    "terminated": Notice.CANCELLED,
    "stop-failed": Notice.STOP_FAILED,
    "blocked": Notice.BLOCKED,
    "kept": Notice.KEPT,
    "held-up": Notice.HELD_UP,
    "closed": Notice.CLOSED,
    "owner-left": Notice.OWNER_LEFT,
    "transfer-offered": Notice.TRANSFER_OFFERED,
    "transferred": Notice.TRANSFERRED,
    "transfer-declined": Notice.TRANSFER_ENDED,
    "transfer-expired": Notice.TRANSFER_ENDED,
    "shared": Notice.SHARED,
    "idle-held-back": Notice.IDLE_HELD_BACK,
    "partly-idle": Notice.PARTLY_IDLE,
    "over-budget": Notice.OVER_BUDGET,
    "machine-unfit": Notice.UNFIT,
    "machine-fit": Notice.UNFIT,
}

_TO_THE_WARNED = frozenset({"idle-cleared", "idle-unknown", "snoozed", "verdict-disputed", "spared"})
"""What takes a warning back; it is told to those who had one."""


def notices(lease: Lease, events: tuple[Event, ...]) -> tuple[Notice, ...]:
    """The messages that `events` call for, in order, each once; a request that nobody has to decide needs no card."""
    wanted = [notice for e in events if (notice := _notice(lease, e))]
    if Notice.IDLE_OVER not in wanted and any(map(_snoozed_again, events)):
        wanted.append(Notice.IDLE_OVER)
    if lease.state is State.AWAITING_APPROVAL and any(e.type == "assessed" for e in events):
        wanted.insert(0, Notice.REQUEST)
    if Notice.CANCELLED in wanted and lease.deleting_at is None:
        wanted = [Notice.DECIDED]
    if Notice.DECIDED in wanted:
        wanted = [n for n in wanted if n is not Notice.REQUEST]
    return tuple(dict.fromkeys(wanted))


def _snoozed_again(event: Event) -> bool:
    """Whether somebody snoozed what was snoozed already: what says until when has to say it anew."""
    return event.type == "snoozed" and event.data.get("again") == "yes"


def _notice(lease: Lease, event: Event) -> Notice | None:
    """What is asked about a later end goes to those who decide on it, not to those who decided on the request.

    That it is stopped is said once it was seen so (law 2); of what was at rest already, at once.
    """
    asked = event.type in ("asked", "escalated") and event.data.get("of") == "extension"
    if lease.wish is not None and (asked or event.type == "extension-granted"):
        return Notice.EXTENSION_ASKED
    if event.type in _TO_THE_WARNED:
        return Notice.IDLE_OVER if event.data.get("told", "0") != "0" else None
    if lease.pause is not None and (event.type == "suspended" or (event.type in PAUSED and lease.suspended_at)):
        return Notice.PAUSED
    return _NOTICES.get(event.type)
