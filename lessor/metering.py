"""What a lease takes of the organisation's budgets, month by month, as of an instant."""

from __future__ import annotations

from datetime import datetime

from lessor.domain.budget import Metering
from lessor.domain.commitments import commitments, stretches
from lessor.domain.lease import Lease
from lessor.domain.quota import Account, QuotaPlan, Reservation
from lessor.when.months import month_of, months_from


def account_of(lease: Lease, plan: QuotaPlan) -> Account:
    """Whom the lease counts for now."""
    return plan.account(lease.request.team, lease.request.project, lease.owner)


def reservation_of(lease: Lease, plan: QuotaPlan) -> Reservation:
    """The GPUs that the lease holds while it is open."""
    account = account_of(lease, plan)
    return Reservation(lease.id, account.team, lease.model, lease.gpus, account.project, account.person)


def metered(lease: Lease, plan: QuotaPlan, now: datetime) -> Metering:
    """Its use up to `now` and its plan until its end, in months of the organisation's zone."""
    found = stretches(lease, now)
    first = min((s.start for s in found), default=now)
    last = max((s.end for s in found), default=now)
    months = months_from(min(first, now), max(last, now), plan.tz)
    taken = commitments(lease, found, months, plan.currency)
    return Metering(account_of(lease, plan), lease.model, plan.currency, now, month_of(now, plan.tz).key, taken)
