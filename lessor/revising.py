"""A revised request is looked at like a new one before it reaches its lease: its limits are the organisation's."""

from __future__ import annotations

from datetime import datetime

from lessor.contracts import Act, Verb
from lessor.domain.changes import changed_request
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.request import Request


def revised(lease: Lease, act: Act, now: datetime) -> Request | None:
    """What `act` asks for instead; `None` for other acts, and for changes that the lease itself refuses on record."""
    if act.verb is not Verb.REVISE or act.changes is None:
        return None
    try:
        return changed_request(lease, act.changes, now)
    except Refused:
        return None
