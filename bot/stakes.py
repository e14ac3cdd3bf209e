"""What a decision takes, so that the right button stands there: the workflow checks again what has to be typed out."""

from __future__ import annotations

from datetime import datetime

from lessor.domain.extension import wish_cost
from lessor.domain.lease import Lease
from lessor.domain.stepup import needs_typing
from lessor.domain.transitions import total_cost


def approval_typed(lease: Lease, now: datetime) -> bool:
    """Whether approving the request has to be typed out."""
    return needs_typing(lease, total_cost(lease, now))


def approval_priced(lease: Lease, now: datetime) -> bool:
    """Whether it is known what approving the request costs."""
    return total_cost(lease, now) is not None


def grant_typed(lease: Lease) -> bool:
    """Whether granting the wish for a later end has to be typed out."""
    return lease.wish is not None and needs_typing(lease, wish_cost(lease, lease.wish))


def grant_priced(lease: Lease) -> bool:
    """Whether it is known what granting the wish for a later end costs."""
    return lease.wish is not None and wish_cost(lease, lease.wish) is not None
