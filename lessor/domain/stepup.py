"""Step-up: above a set cost an approval has to be typed out, so that nobody approves it by an idle click."""

from __future__ import annotations

from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.money import Money


def needs_typing(lease: Lease, total: Money | None) -> bool:
    """Whether approving `total` has to be typed out: also when the price is unknown, which is not zero (law 1)."""
    limit = lease.terms.step_up
    if limit is None:
        return False
    return total is None or total.currency != limit.currency or total >= limit


def require_typed(lease: Lease, total: Money | None, typed: str) -> None:
    """Raise `Refused` ("needs-confirmation") that says what to type, unless it was typed or need not be."""
    if not needs_typing(lease, total) or typed.strip().casefold() == lease.id.casefold():
        return
    cost = f"costs {total}" if total is not None else "has no known price"
    wrong = f", not '{typed.strip()[:40]}'" if typed.strip() else ""
    raise Refused(
        "needs-confirmation",
        f"{lease.id} {cost}, and from {lease.terms.step_up} on an approval is typed out: "
        f"type {lease.id} to approve it{wrong}; nothing was decided yet",
    )
