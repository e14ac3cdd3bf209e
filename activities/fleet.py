"""The leases that are metered, kept from tick to tick: a lease is read again only when it changed on record.

Reading two thousand whole leases takes longer than asking Prometheus what they do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Protocol

from lessor.domain.attribution import subject
from lessor.domain.idle import IdleTerms
from lessor.domain.lease import Lease, State
from lessor.domain.usage import Subject
from lessor.ports import LeaseBook, LeaseQuery

log = logging.getLogger(__name__)

PAGE = 500


class Plan(Protocol):
    """The thresholds of an organisation, for each of its leases."""

    def terms(self, lease: Lease, now: datetime | None = None) -> IdleTerms: ...


@dataclass(frozen=True)
class Watched:
    """A lease that runs, what is metered of it and under which thresholds; `mark` is short and stands for these."""

    lease: Lease
    subject: Subject
    terms: IdleTerms
    mark: str


class Fleet:
    """Keeps what is derived from leases. Called from one thread at a time."""

    def __init__(self, book: LeaseBook, plan: Callable[[], Plan]) -> None:
        self._book = book
        self._plan = plan
        self._of: Plan | None = None
        self._kept: dict[str, Watched] = {}
        self.left_out: tuple[str, ...] = ()

    def running(self, now: datetime) -> Mapping[str, Watched]:
        """Every lease that runs, as it is on record now. One of which no sense can be made is left out (law 11)."""
        there = self._book.revisions(State.ACTIVE)
        plan = self._plan()
        if plan is not self._of:
            self._of, self._kept = plan, {}
        for lease in [one.lease for one in self._kept.values() if one.lease.spared]:
            self._take(lease, plan, now)
        changed = [one for one, revision in there.items() if self._revision(one) != revision]
        for lease_id in changed:
            self._kept.pop(lease_id, None)
        for lease in self._read(changed):
            self._take(lease, plan, now)
        self._kept = {one: self._kept[one] for one in there if one in self._kept}
        self.left_out = tuple(sorted(there.keys() - self._kept.keys()))
        return self._kept

    def _take(self, lease: Lease, plan: Plan, now: datetime) -> None:
        try:
            self._kept[lease.id] = watched(lease, plan, now)
        except Exception:
            log.exception("%s cannot be metered", lease.id)

    def _revision(self, lease_id: str) -> int:
        known = self._kept.get(lease_id)
        return known.lease.revision if known else -1

    def _read(self, ids: Sequence[str]) -> Iterator[Lease]:
        for first in range(0, len(ids), PAGE):
            yield from self._book.leases(LeaseQuery(ids=tuple(ids[first : first + PAGE]), limit=PAGE))


def watched(lease: Lease, plan: Plan, now: datetime) -> Watched:
    terms = plan.terms(lease, now)
    return Watched(lease, subject(lease), terms, blake2b(repr(terms).encode(), digest_size=6).hexdigest())
