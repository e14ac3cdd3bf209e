"""Who asks for what in the benchmarks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.domain.people import Person
from lessor.domain.request import Need, Place, Request, Workload
from lessor.ports import Submission

TEAM = "research"
REQUESTER = Person("U0REQUESTER", ids=("U0REQUESTER",), email="requester@example.com", teams=(TEAM,))
MANAGER = Person("U0MANAGER", email="manager@example.com", teams=(TEAM,), leads=(TEAM,))
KNOWN = (REQUESTER, MANAGER)
"""Those who have a name of their own; all others are known by their id."""

AUTOMATIC = "train the ranking model at once"
"""The purpose of a request that policy allows without a person."""

LEASES_EACH = 3
"""So many leases in a row are one person's, as in an organisation: nobody asks for them all."""

_FIRST = "U0ASKS"
_USUAL = Request(
    REQUESTER.id,
    TEAM,
    "train the ranking model",
    Workload.TRAINING,
    Need("A10G", 1),
    Place("aws", "research", "us-east-1"),
    duration=timedelta(hours=8),
)


def requester(lease_id: str) -> Person:
    """Who asks for the lease with this number."""
    return _asking(f"{_FIRST}{int(lease_id.removeprefix('gpu-')) // LEASES_EACH:08d}")


def person(any_id: str) -> Person | None:
    """Everybody of the benchmarks, as a directory knows them."""
    if any_id.startswith(_FIRST):
        return _asking(any_id)
    return next((one for one in KNOWN if one.id == any_id), None)


def submission(lease_id: str, **changes: Any) -> Submission:
    """One request under this lease id, of its own requester."""
    request = replace(_USUAL, requester=requester(lease_id).id, interaction=f"click-{lease_id}", **changes)
    return Submission(request.interaction, lease_id, request, datetime.now(UTC))


def _asking(person_id: str) -> Person:
    return Person(person_id, ids=(person_id,), email=f"{person_id.lower()}@example.com", teams=(TEAM,))
