"""Whose leases are to end because a month's money is spent: all that count for the limit, no others, and each once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.contracts import OverBudget
from lessor.domain.billing import Span
from lessor.domain.capping import MONEY_GONE
from lessor.domain.extension import cut_short
from lessor.domain.lease import Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import Ceiling, Kind, QuotaPlan, Then
from lessor.ledger import SqlLedger
from lessor.metering import reservation_of
from lessor.overspending import PAGE, Overspending, ends_leases
from tests.builders import a_lease, a_request, usd
from tests.ledger.spending import record

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HUNDRED = usd("100")


def limit(most: int, scope: str = "team:ml", then: Then = Then.END, model: str = "") -> Ceiling:
    return Ceiling(scope, Decimal(most), Kind.MONEY, model, hard=False, then=then)


def running(
    ledger: SqlLedger,
    number: int,
    *,
    hourly: Money | None = HUNDRED,
    ends: timedelta = 20 * DAY,
    owner: str = "U0REQUESTER",
    **changes: Any,
) -> Lease:
    """A lease that runs since the first of November."""
    lease = a_lease(State.ACTIVE, id=f"gpu-{number:08}", request=a_request(**changes))
    spans = (Span(NOVEMBER, None, hourly),)
    lease = replace(lease, spans=spans, ready_at=NOVEMBER, ends_at=NOVEMBER + ends, owner=owner)
    ledger.reserve(reservation_of(lease, QuotaPlan()), ())
    record(ledger, lease, NOVEMBER, QuotaPlan())
    return lease


def over(ledger: SqlLedger, now: datetime, *ceilings: Ceiling, **plan: Any) -> dict[str, OverBudget]:
    return dict(Overspending(ledger, lambda: QuotaPlan(ceilings, **plan)).found(now))


def test_leases_end_from_the_moment_on_in_which_all_is_spent(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1)
    assert over(sqlite_ledger, NOVEMBER + 10 * HOUR - timedelta(seconds=1), limit(1000)) == {}
    [(lease_id, told)] = over(sqlite_ledger, NOVEMBER + 10 * HOUR, limit(1000)).items()
    assert lease_id == "gpu-00000001"
    assert told == OverBudget(
        "team:ml",
        "team ml has spent 1,000 of the 1,000 USD that it may spend in 2026-11",
        NOVEMBER + 10 * HOUR,
    )


@pytest.mark.parametrize("then", [Then.ALERT, Then.FREEZE])
def test_other_limits_end_nothing_and_nothing_is_looked_at(sqlite_ledger: SqlLedger, then: Then) -> None:
    running(sqlite_ledger, 1)
    assert over(sqlite_ledger, NOVEMBER + DAY, limit(1, then=then)) == {}
    assert not Overspending(sqlite_ledger, lambda: QuotaPlan((limit(1, then=then),))).concerns
    assert ends_leases(QuotaPlan((limit(1, then=then), limit(5))))


def test_what_is_only_planned_ends_nothing(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1, ends=29 * DAY)
    assert over(sqlite_ledger, NOVEMBER + HOUR, limit(1000)) == {}


def test_those_who_share_the_limit_end_together_and_others_go_on(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1)
    running(sqlite_ledger, 2, hourly=usd("1"))
    running(sqlite_ledger, 3, team="vision")
    assert set(over(sqlite_ledger, NOVEMBER + DAY, limit(2000))) == {"gpu-00000001", "gpu-00000002"}
    assert set(over(sqlite_ledger, NOVEMBER + DAY, limit(2000, "team:*"))) == {f"gpu-{n:08}" for n in (1, 2, 3)}
    assert set(over(sqlite_ledger, NOVEMBER + DAY, limit(2000, "team:vision"))) == {"gpu-00000003"}


def test_projects_people_and_models_have_limits_of_their_own(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1, project="llm")
    running(sqlite_ledger, 2, owner="U0MANAGER")
    at = NOVEMBER + DAY
    assert set(over(sqlite_ledger, at, limit(2000, "project:llm"))) == {"gpu-00000001"}
    assert set(over(sqlite_ledger, at, limit(2000, "person:U0MANAGER"))) == {"gpu-00000002"}
    assert set(over(sqlite_ledger, at, limit(2000, model="A100-80GB"))) == {"gpu-00000001", "gpu-00000002"}
    assert over(sqlite_ledger, at, limit(1, model="H100")) == {}


def test_an_unknown_price_ends_nothing(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1)
    running(sqlite_ledger, 2, hourly=None)
    assert over(sqlite_ledger, NOVEMBER + 9 * DAY, limit(1)) == {}


def test_a_new_month_has_new_money(sqlite_ledger: SqlLedger) -> None:
    running(sqlite_ledger, 1, ends=60 * DAY)
    december = datetime(2026, 12, 1, tzinfo=UTC)
    assert over(sqlite_ledger, december - HOUR, limit(1000)) != {}
    assert over(sqlite_ledger, december + HOUR, limit(1000)) == {}
    assert over(sqlite_ledger, december + HOUR, limit(1000), tz="America/New_York") != {}


def test_whoever_was_told_is_not_told_again_and_whoever_is_extended_is(sqlite_ledger: SqlLedger) -> None:
    lease, now = running(sqlite_ledger, 1), NOVEMBER + DAY
    [(_, told)] = over(sqlite_ledger, now, limit(1000)).items()
    ending = cut_short(lease, told.scope, told.words, now).lease
    assert ending.ends_at == now + MONEY_GONE
    record(sqlite_ledger, ending, now, QuotaPlan())
    assert over(sqlite_ledger, now + timedelta(minutes=1), limit(1000)) == {}
    longer = replace(ending, ends_at=now + DAY, revision=ending.revision + 1)
    record(sqlite_ledger, longer, now, QuotaPlan())
    assert set(over(sqlite_ledger, now + timedelta(minutes=2), limit(1000))) == {lease.id}


def test_only_leases_in_use_are_told_however_many_there_are(sqlite_ledger: SqlLedger) -> None:
    for number in range(PAGE + 3):
        running(sqlite_ledger, number, hourly=usd("1"))
    stopped = replace(running(sqlite_ledger, 9_000), state=State.STOPPED, revision=99)
    record(sqlite_ledger, stopped, NOVEMBER + HOUR, QuotaPlan())
    assert len(over(sqlite_ledger, NOVEMBER + DAY, limit(1000))) == PAGE + 3
