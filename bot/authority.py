"""What a person is shown of a lease. What they may do to it is decided by the workflow, not here."""

from __future__ import annotations

from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person


def may_enter(lease: Lease, viewer: Person) -> bool:
    """Whether the viewer is shown how to get in, and the buttons of an owner."""
    try:
        require_steward(lease, viewer)
    except Refused:
        return False
    return True
