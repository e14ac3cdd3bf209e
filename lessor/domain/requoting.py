"""Whether what was approved is still what is about to be created: price, facts and what the policy asks for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from lessor.domain.lease import Lease
from lessor.domain.policy import Decision, Outcome
from lessor.domain.quote import Quote

WORLD = ("budget.", "quota.", "team.", "similar.")
"""Facts that others move while an approval waits. Those of the request and of the hour of day move by themselves."""

DRIFTS = "budget.spent"
"""What is committed already becomes spent as time goes by: `budget.left` says whether there is less."""

ROOM = ("left", "free", "ceiling", "quota")
"""How facts end that are better the larger they are; of all others more is worse."""


@dataclass(frozen=True)
class Difference:
    """What is not as it was approved: the type and data of an event."""

    type: str
    data: dict[str, str]


def rise(lease: Lease, quote: Quote) -> Difference | None:
    """How the price has risen by more than the terms allow.

    A price that was known and is not any more is a rise as well (law 1); one that was approved as unknown stays so.
    """
    before = lease.quote.judged_hourly if lease.quote else None
    after = quote.judged_hourly
    if before is None or (after is not None and after <= before * (1 + lease.terms.reask_share)):
        return None
    return Difference("price-rose", {"from": before.exact, "to": after.exact if after else "unknown"})


def difference(lease: Lease, decision: Decision) -> Difference | None:
    """How the facts that rules read got worse, or what more the policy asks for, since it was approved."""
    before = lease.decision
    if before is None:
        return None
    more = _asks_more(before, decision)
    if more:
        return Difference("facts-changed", {"why": more})
    old = dict(before.facts)
    moved = [
        f"{name}: {old[name]} -> {value}"
        for name, value in decision.facts
        if name.startswith(WORLD)
        and name != DRIFTS
        and name in old
        and _worse(name, old[name], value, lease.terms.reask_share)
    ]
    return Difference("facts-changed", {"why": "; ".join(moved)}) if moved else None


def _asks_more(before: Decision, after: Decision) -> str:
    """In words, what the policy asks for now and did not before; a step may be wider or need fewer people."""
    if after.outcome is Outcome.REQUIRE and before.outcome is Outcome.APPROVE:
        return "; ".join(f"{r.rule}: {r.text}" for r in after.reasons)
    known = {(step.name, frozenset(step.approvers)): step.quorum for step in before.steps}
    added = [s for s in after.steps if s.quorum > known.get((s.name, frozenset(s.approvers)), 0)]
    return "; ".join(f"step {s.name} of {s.quorum} of {', '.join(s.approvers)}" for s in added)


def _worse(name: str, before: str, after: str, share: Decimal) -> bool:
    """Whether a number got worse by more than `share` of what it was; one that is not known any more has (law 1)."""
    old, new = _number(before), _number(after)
    if old is None:
        return False
    if new is None:
        return True
    loss = old - new if name.endswith(ROOM) else new - old
    return loss > abs(old) * share


def _number(text: str) -> Decimal | None:
    try:
        found = Decimal(text.partition(" ")[0].replace(",", ""))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
