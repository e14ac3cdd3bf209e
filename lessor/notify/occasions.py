"""What tells one notice of a lease from the next of its kind: the business key by which it is sent once."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Notice
from lessor.domain.lease import Lease


def occasion(lease: Lease, notice: Notice, before: timedelta, revision: int) -> str:
    """The same for every try of one notice: `extended-7` at revision 7 of the lease, `warning-ENDS-SECONDS`.

    A warning that reached nobody is asked for again at a later revision, so it goes by the end that it warns of.
    """
    if notice is Notice.WARNING and lease.runs_until:
        return f"{notice.value}-{int(lease.runs_until.timestamp())}-{int(before.total_seconds())}"
    return f"{notice.value}-{revision}"
