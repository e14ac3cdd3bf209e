"""Reads the lease that an activity was asked about from the ledger, since payloads carry ids only."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from lessor.contracts import LeaseRef
from lessor.domain.lease import Lease
from lessor.ports import LeaseBook
from lessor.retries import ErrorType


def lease_of(book: LeaseBook, ref: LeaseRef) -> Lease:
    """The lease at `ref.revision` or later. Raises a retryable error while the ledger does not have it yet."""
    lease = book.lease(ref.lease_id)
    if lease is None or lease.revision < ref.revision:
        found = "nothing" if lease is None else f"revision {lease.revision}"
        raise ApplicationError(
            f"the ledger has {found} of {ref.lease_id}, revision {ref.revision} is needed; trying again",
            type=ErrorType.RETRY,
            category=ApplicationErrorCategory.BENIGN,
        )
    return lease
