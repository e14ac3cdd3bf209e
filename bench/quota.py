"""Reservations a second when everybody asks for one team at once: on PostgreSQL, with every commit on the disk.

Each takes GPUs and budget of a team that has every kind of ceiling and shares a cohort, and of its project and person,
beside what all earlier ones hold, until the last tenth finds the team full.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from bench.people import submission
from bench.result import Result
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease
from lessor.domain.money import Money
from lessor.domain.quota import Ceiling, Cohort, Kind, QuotaPlan
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market
from lessor.ledger import SqlLedger, open_ledger
from lessor.metering import metered, reservation_of
from tests.servers import SAFE, postgres

TARGET = 100
RESERVATIONS = 2_000
AT_ONCE = 16
MONTH = datetime(2026, 6, 10, tzinfo=UTC)


async def run(scale: float) -> list[Result]:
    """One team's reservations, then those of many teams that do not meet."""
    many = max(int(RESERVATIONS * scale), AT_ONCE)
    return await asyncio.to_thread(_measured, many)


def _measured(many: int) -> list[Result]:
    fits = many * 9 // 10
    plan = _plan(fits)
    with _ledger() as ledger:
        one_team = _rate(ledger, plan, [_lease(n, "research") for n in range(many)])
        held = sum(one.gpus for one in ledger.held("research"))
        if held != fits:
            raise RuntimeError(f"the team holds {held} GPUs where {fits} fit")
    with _ledger() as ledger:
        apart = _rate(ledger, plan, [_lease(n, f"team-{n % 50}") for n in range(many)])
    return [
        Result("quota: reservations a second, one team", one_team, "/s", TARGET, at_least=True),
        Result("quota: reservations a second, fifty teams", apart, "/s"),
    ]


def _plan(fits: int) -> QuotaPlan:
    """Ceilings of every kind, of which that of the team's GPUs is the first to be reached."""
    plenty = Decimal(100 * fits)
    return QuotaPlan(
        (
            Ceiling("team:research", Decimal(fits)),
            Ceiling("team:vision", Decimal(0)),
            Ceiling("team:research", plenty, model="A10G"),
            Ceiling("team:research", plenty, Kind.MONEY),
            Ceiling("team:*", plenty, Kind.GPU_HOURS),
            Ceiling("project:ranker", plenty, Kind.MONEY),
            Ceiling("person:*", plenty, Kind.MONEY),
        ),
        (Cohort("both", ("research", "vision"), {"research": 50}),),
    )


@contextmanager
def _ledger() -> Iterator[SqlLedger]:
    with postgres(SAFE) as server:
        ledger = open_ledger(server.url(server.create()))
        try:
            yield ledger
        finally:
            ledger.close()


def _rate(ledger: SqlLedger, plan: QuotaPlan, leases: list[Lease]) -> float:
    """Reservations in a second, the refused ones among them."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = time.monotonic()
        list(pool.map(lambda lease: _reserve(ledger, plan, lease), leases))
        return len(leases) / (time.monotonic() - started)


def _reserve(ledger: SqlLedger, plan: QuotaPlan, lease: Lease) -> None:
    metering = metered(lease, plan, MONTH)
    with suppress(Refused):
        ledger.reserve(reservation_of(lease, plan), plan.of(metering.account, lease.model), metering)


def _lease(number: int, team: str) -> Lease:
    made = submission(f"gpu-{number:08}", team=team, project="ranker", duration=timedelta(hours=8))
    request = replace(made.request, requester=f"U{number % 200:04}")
    offer = Offer("g5.xlarge", "A10G", 1, 24, 4, Market.ON_DEMAND, Money(Decimal("1.006")))
    quote = Quote(request.need, offer, MONTH, "bench")
    return Lease(made.lease_id, request, request.requester, MONTH, quote=quote)
