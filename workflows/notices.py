"""Which events people are told of. Derived in one place, so that no transition can forget to tell."""

from __future__ import annotations

from lessor.contracts import Notice
from lessor.domain.lease import Event, Lease, State

_NOTICES = {
    "approval-given": Notice.REQUEST,
    "price-rose": Notice.REQUEST,
    "approved": Notice.DECIDED,
    "denied": Notice.DECIDED,
    "withdraw-asked": Notice.DECIDED,
    "withdrawn": Notice.DECIDED,
    "lapsed": Notice.DECIDED,
    "no-capacity": Notice.WAITING,
    "ready": Notice.READY,
    "extended": Notice.EXTENDED,
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
    "closed": Notice.CLOSED,
}


def notices(lease: Lease, events: tuple[Event, ...]) -> tuple[Notice, ...]:
    """The messages that `events` call for, in order, each once; a request that nobody has to decide needs no card."""
    wanted = [_NOTICES[e.type] for e in events if e.type in _NOTICES]
    if lease.state is State.AWAITING_APPROVAL and any(e.type == "assessed" for e in events):
        wanted.insert(0, Notice.REQUEST)
    if Notice.CANCELLED in wanted and lease.deleting_at is None:
        wanted = [Notice.DECIDED]
    if Notice.DECIDED in wanted:
        wanted = [n for n in wanted if n is not Notice.REQUEST]
    return tuple(dict.fromkeys(wanted))
