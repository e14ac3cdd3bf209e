"""Finds the wish that was made already: typed twice after a time-out, or still pending from before (cases A05, F18)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from lessor.domain.lease import Lease
from lessor.domain.people import Person
from lessor.domain.records import Submission
from lessor.domain.request import Request
from lessor.domain.transitions import BEFORE_USE

SAME_AGAIN = timedelta(seconds=60)
"""An equal request within this time of the last one is taken for the same wish, even if that was approved at once."""


def lookalikes(
    request: Request, person: Person, leases: Iterable[Lease], unstarted: Iterable[Submission], now: datetime
) -> tuple[str, ...]:
    """Ids of `person`'s open wishes that look like `request`, apart from the one that the same interaction made.

    `leases` are the person's open leases, `unstarted` what was kept while Temporal could not be reached.
    """
    same = [
        lease.id
        for lease in leases
        if _alike(lease.request, request, now) and (lease.state in BEFORE_USE or now - lease.requested_at < SAME_AGAIN)
    ]
    same += [s.lease_id for s in unstarted if s.request.requester in person.all_ids and _alike(s.request, request, now)]
    return tuple(dict.fromkeys(same))


def resembling(lease: Lease, leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """Those of `leases`, the open ones of one person, that resemble `lease` and are others, whatever they are for."""
    return tuple(one for one in leases if _alike(one.request, lease.request, lease.requested_at))


def _alike(one: Request, other: Request, now: datetime) -> bool:
    """Same kind, size, place and market by another interaction; another end or purpose makes it the same wish still."""
    if one.interaction == other.interaction or _apart(one, other, now):
        return False
    kinds = {one.kind, other.kind} - {None}
    same = (one.need, one.place, one.market, one.team) == (other.need, other.place, other.market, other.team)
    return same and len(kinds) < 2


def _apart(one: Request, other: Request, now: datetime) -> bool:
    """Whether one of two is over before the other one, which is reserved for later, begins."""
    first, second = sorted((one, other), key=lambda request: request.begins(now))
    return first.begins(now) + first.length(now) <= second.begins(now)
