"""Leases with a cap of their own, for tests of what comes when it is neared."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lessor.domain import capping
from lessor.domain.billing import Span
from lessor.domain.lease import Lease
from lessor.domain.terms import AtCap, Terms
from tests.builders import LAUNCHED, a_lease, a_request, usd

HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
NOTICE = Terms().notice


def capped(cap: str | None = "600", at_cap: AtCap = AtCap.STOP, **changes: Any) -> Lease:
    """A lease that costs 100 USD an hour from `LAUNCHED` on, for 8 hours, and may cost no more than `cap`."""
    lease = a_lease(request=a_request(cap=usd(cap) if cap else None), terms=Terms(at_cap=at_cap))
    return replace(lease, **({"spans": (Span(LAUNCHED, None, usd("100")),)} | changes))


def after(hours: float) -> datetime:
    return LAUNCHED + hours * HOUR


def at(lease: Lease, now: datetime) -> tuple[int, datetime, bool] | None:
    step = capping.next_step(lease, now)
    return (step.percent, step.at, step.stops) if step else None
