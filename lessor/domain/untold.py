"""What nobody could be told, for the record: the message is given up, and nothing of the lease changes by it."""

from __future__ import annotations

from datetime import datetime

from lessor.domain.lease import Change, Event, Lease, changed


def untold(lease: Lease, message: str, problem: str, now: datetime) -> Change:
    """`message` was given up. In every state, since the last message of a lease goes out when it is over."""
    return changed(lease, Event("message-undelivered", now, "lessor", {"message": message, "problem": problem}))
