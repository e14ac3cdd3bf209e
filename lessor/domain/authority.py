"""Who may act on a lease that exists: its owner under any id, the lead of its team, and administrators."""

from __future__ import annotations

from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.people import Person


def require_steward(lease: Lease, person: Person) -> None:
    """Raise `Refused` ("not-owner" or "inactive") unless `person` may extend, release, keep or restore the lease."""
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot act on leases")
    owns = person.is_same(lease.requester_ids)
    if not (owns or person.admin or lease.request.team in person.leads):
        raise Refused(
            "not-owner",
            f"{lease.id} belongs to somebody else; its owner, the lead of team {lease.request.team} "
            "or an administrator can do this",
        )
