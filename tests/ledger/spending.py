"""Leases that take quota and budget of a ledger, and what is taken of it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from lessor.domain.budget import BudgetRoom, Metering, budget_rooms
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import Account, Ceiling, Kind, QuotaPlan
from lessor.ledger import SqlLedger
from lessor.metering import metered, reservation_of
from tests.builders import APPROVED, ASKED, a_lease, a_quote, a_request, an_offer, usd

MONEY = Ceiling("team:ml", Decimal(1000), Kind.MONEY)
PLAN = QuotaPlan((MONEY,))
EVENT = (Event("noted", ASKED, "lessor", {}),)
TEN = usd("10")


def asked(number: int, team: str = "ml", hourly: Money | None = TEN, gpus: int = 1, **changes: object) -> Lease:
    """An approved lease for eight hours."""
    quote = a_quote(offer=an_offer(hourly=hourly, gpu_count=gpus))
    request = a_request(team=team, **changes)
    return a_lease(State.APPROVED, id=f"gpu-{number:08}", request=request, quote=quote)


def reserve(ledger: SqlLedger, lease: Lease, plan: QuotaPlan = PLAN, now: datetime = APPROVED) -> str:
    """`reserved`, or the words of the refusal."""
    metering = metered(lease, plan, now)
    try:
        ledger.reserve(reservation_of(lease, plan), plan.of(metering.account, lease.model), metering)
    except Refused as refused:
        if refused.code not in ("quota", "budget"):
            raise
        return str(refused)
    return "reserved"


def record(ledger: SqlLedger, lease: Lease, now: datetime, plan: QuotaPlan = PLAN) -> None:
    ledger.record(lease, EVENT, metered(lease, plan, now))


def room(ledger: SqlLedger, month: str = "2026-11", ceiling: Ceiling = MONEY, now: datetime = APPROVED) -> BudgetRoom:
    """What is taken of a ceiling now."""
    account = Account(ceiling.scope.partition(":")[2])
    look = Metering(account, "", "USD", now, f"{now:%Y-%m}")
    [found] = budget_rooms((ceiling,), [month], ledger.taken(account, [month]), look)
    return found
