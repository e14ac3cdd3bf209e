"""Runs rules over requests of the past and finds what they would have changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.policy import Decision, Outcome, StepSpec
from lessor.policyfile.compiling import CompiledPolicy
from lessor.policyfile.recorded import from_text


@dataclass(frozen=True)
class Difference:
    """One request that would have been decided in another way. `total` is its price then; `None` is unknown."""

    lease_id: str
    asked_at: datetime
    owner: str
    team: str
    before: Decision
    after: Decision
    total: Money | None

    @property
    def what(self) -> str:
        """`approve -> deny`; where only steps or suggestions differ, which of them."""
        if self.before.outcome is not self.after.outcome:
            return f"{self.before.outcome} -> {self.after.outcome}"
        return "other steps" if steps(self.before) != steps(self.after) else "other suggestions"


@dataclass(frozen=True)
class Replay:
    """`unjudged` are requests on record without the facts that they were decided on: nothing can be said of them."""

    version: str
    same: int
    differences: tuple[Difference, ...]
    unjudged: tuple[str, ...]

    def money(self) -> tuple[tuple[str, str, Decimal, int], ...]:
        """`(what, currency, total, how many of an unknown price)` for each way in which outcomes differ."""
        sums: dict[tuple[str, str], Decimal] = {}
        unknown: dict[str, int] = {}
        for one in self.differences:
            if one.total is None:
                unknown[one.what] = unknown.get(one.what, 0) + 1
            else:
                key = (one.what, one.total.currency)
                sums[key] = sums.get(key, Decimal(0)) + one.total.amount
        for what in unknown:
            if not any(known == what for known, _ in sums):
                sums[what, ""] = Decimal(0)
        return tuple((what, unit, total, unknown.get(what, 0)) for (what, unit), total in sorted(sums.items()))


def replay(policy: CompiledPolicy, leases: Iterable[Lease]) -> Replay:
    """What `policy` decides of requests on the facts that were kept; what was unknown then stays unknown."""
    same, differences, unjudged = 0, [], []
    for lease in leases:
        if lease.decision is None:
            continue
        if not lease.decision.facts:
            unjudged.append(lease.id)
            continue
        known = from_text(lease.decision.facts, lease.request)
        after = policy.decide(known)
        if _alike(lease.decision, after):
            same += 1
        else:
            differences.append(_difference(lease, lease.decision, after, known["quote.total"]))
    return Replay(policy.version, same, tuple(differences), tuple(unjudged))


def steps(decision: Decision) -> tuple[StepSpec, ...]:
    """The steps that people were asked for; none unless people were asked."""
    return decision.steps if decision.outcome is Outcome.REQUIRE else ()


def _alike(before: Decision, after: Decision) -> bool:
    return (before.outcome, steps(before), _proposed(before)) == (after.outcome, steps(after), _proposed(after))


def _proposed(decision: Decision) -> frozenset[object]:
    """What is proposed, in whatever words and by whatever rule."""
    return frozenset(replace(one, rule="", text="") for one in decision.suggestions)


def _difference(lease: Lease, before: Decision, after: Decision, total: Decimal | None) -> Difference:
    currency = dict(before.facts).get("quote.currency", "USD")
    price = None if total is None else Money(total, currency)
    return Difference(lease.id, lease.requested_at, lease.owner, lease.request.team, before, after, price)
