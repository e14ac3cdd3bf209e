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
AUTOMATIC = "train the ranking model at once"
"""The purpose of a request that policy allows without a person."""

_USUAL = Request(
    REQUESTER.id,
    TEAM,
    "train the ranking model",
    Workload.TRAINING,
    Need("A10G", 1),
    Place("aws", "research", "us-east-1"),
    duration=timedelta(hours=8),
)


def submission(lease_id: str, **changes: Any) -> Submission:
    """One request of the requester, under this lease id."""
    request = replace(_USUAL, interaction=f"click-{lease_id}", **changes)
    return Submission(request.interaction, lease_id, request, datetime.now(UTC))
