"""What a request is judged by is read from the ledger: free ceilings and the requester's similar leases."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from lessor.casework import Casework
from lessor.domain.case import Similar
from lessor.domain.lease import Event, Lease, State
from lessor.domain.quota import Kind, QuotaPlan
from lessor.ledger import SqlLedger
from lessor.metering import reservation_of
from tests.builders import ASKED, HOURLY, REQUESTER, a_lease, a_quota, a_quote

PLAN = QuotaPlan((a_quota("ml", 20), replace(a_quota("ml", 5_000), kind=Kind.MONEY)))


def put(ledger: SqlLedger, lease_id: str, state: State = State.AWAITING_APPROVAL, **changes: Any) -> Lease:
    lease = a_lease(state)
    request = replace(lease.request, interaction=lease_id, **changes)
    lease = replace(lease, id=lease_id, request=request)
    ledger.record(lease, [Event("asked", ASKED, "lessor", {})])
    return lease


def test_the_case_has_ceilings_without_the_lease_itself_and_similar_leases(sqlite_ledger: SqlLedger) -> None:
    mine = put(sqlite_ledger, "gpu-mine0000")
    put(sqlite_ledger, "gpu-same0000", purpose="another purpose")
    put(sqlite_ledger, "gpu-over0000", State.WITHDRAWN)
    put(sqlite_ledger, "gpu-team0000", team="other")
    for lease in (mine, replace(mine, id="gpu-same0000")):
        sqlite_ledger.reserve(reservation_of(lease, PLAN), (), None)
    quote = a_quote(HOURLY)
    case = Casework(sqlite_ledger, lambda: PLAN).case(replace(mine, extensions=2), quote, REQUESTER, ASKED)
    assert (case.request, case.quote, case.person, case.now, case.extensions) == (
        mine.request,
        quote,
        REQUESTER,
        ASKED,
        2,
    )
    assert case.similar == (Similar("gpu-same0000", f"{mine.request.need}, awaiting approval"),)
    assert case.rooms is not None
    assert [(room.used, room.free) for room in case.rooms] == [(8, 12)]
    assert case.budgets is not None
    assert [(room.ceiling, room.spent, room.asked) for room in case.budgets] == [
        (Decimal(5_000), Decimal(0), quote.total(mine.request.length(ASKED)).amount)  # type: ignore[union-attr]
    ]
