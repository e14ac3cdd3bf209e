"""Judges the conditions of idle rules over the facts that a lease was decided on, once for each of its revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lessor.domain.idle_plan import IdleRule
from lessor.domain.lease import Lease
from lessor.policyfile.compiling import asked
from lessor.policyfile.conditions import compile_condition
from lessor.policyfile.recorded import IN_THE_REQUEST, from_text

if TYPE_CHECKING:
    from lessor.policyfile.kinds import Values

KEPT = 10_000
"""Leases whose facts are kept in memory: a tick asks for all of them."""


class RecordedFacts:
    """Whether a rule's condition holds for a lease; `None` when a fact that it needs is not on record."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Values]] = {}

    def __call__(self, rule: IdleRule, lease: Lease) -> bool | None:
        return compile_condition(rule.when).holds(self._facts(lease))

    def _facts(self, lease: Lease) -> Values:
        kept = self._kept.get(lease.id)
        if kept and kept[0] == lease.revision:
            return kept[1]
        if len(self._kept) >= KEPT:
            self._kept.clear()
        values = asked(facts_of(lease))
        self._kept[lease.id] = (lease.revision, values)
        return values


def facts_of(lease: Lease) -> Mapping[str, object]:
    """What was known when the lease was decided on, with what the lease itself says."""
    known = from_text(lease.decision.facts if lease.decision else (), lease.request)
    own = {name: take(lease.request) for name, take in IN_THE_REQUEST.items()}
    own |= {"request.count": lease.gpus, "request.model": lease.model or None, "team.key": lease.request.team}
    return known | own
