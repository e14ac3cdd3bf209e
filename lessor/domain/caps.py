"""The most that a lease may cost, by the wish of whoever asks for it: what can be such a cap."""

from __future__ import annotations

from decimal import Decimal

from lessor.domain.errors import FieldError
from lessor.domain.money import Money

MOST = Decimal(1_000_000_000)


def unusable(cap: Money | None) -> FieldError | None:
    """What is wrong with a cap, whatever is asked for."""
    if cap is None or 0 < cap.amount <= MOST:
        return None
    return FieldError("cap", f"is {cap}; an amount above 0 and up to {MOST:,} is allowed, or none at all")
