"""Where a lease may stand, and which of these states belong together."""

from __future__ import annotations

from enum import StrEnum


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
    SUSPENDED = "suspended"
    ENDING = "ending"
    STOPPED = "stopped"
    DELETING = "deleting"
    BLOCKED = "blocked"
    CLOSED = "closed"


FINAL = frozenset({State.DENIED, State.WITHDRAWN, State.LAPSED, State.FAILED, State.CLOSED})
"""Nothing happens after these, and nothing is left behind."""

OPEN = frozenset(State) - FINAL

NOTHING_YET = frozenset({State.REQUESTED, State.AWAITING_APPROVAL, State.APPROVED})
"""States before anything is tried. A request that was changed while it waited for capacity is in them again: see
`Lease.untouched`."""

IN_USE = (State.ACTIVE, State.SUSPENDED)
"""States in which the owner has it, whether it runs or rests outside its working hours."""
