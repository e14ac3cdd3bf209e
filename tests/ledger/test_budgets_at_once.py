"""Two hundred requests at once, and a thousand lives: no ceiling is exceeded, and nothing is left of what is over."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier

import pytest

from lessor.domain import life
from lessor.domain.lease import Lease
from lessor.domain.quota import Ceiling, Cohort, Kind, QuotaPlan
from lessor.ledger import SqlLedger
from tests.builders import APPROVED, READY, a_quota, usd
from tests.ledger.spending import asked, record, reserve, room

COHORT = QuotaPlan(
    (
        a_quota("research", 20),
        a_quota("vision", 20),
        a_quota("research", 16, "A100-80GB"),
        Ceiling("team:vision", Decimal(1_600), Kind.MONEY),
        Ceiling("team:research", Decimal(120), Kind.GPU_HOURS),
        Ceiling("person:*", Decimal(9)),
        Ceiling("project:llm", Decimal(7)),
    ),
    (Cohort("both", ("research", "vision"), {"vision": 6, "research": 2}),),
)


@pytest.mark.parametrize("seed", range(3))
def test_f10_two_hundred_at_once_exceed_no_ceiling_of_any_kind(ledger: SqlLedger, seed: int) -> None:
    dice = random.Random(seed)
    wishes = [
        asked(
            number,
            team=dice.choice(["research", "vision"]),
            hourly=usd(str(dice.choice([1, 5, 10, 20]))),
            gpus=dice.randint(1, 3),
            requester=f"U{dice.randrange(20)}",
            project=dice.choice(["", "", "llm"]),
        )
        for number in range(200)
    ]
    with ThreadPoolExecutor(32) as pool:
        outcomes = list(pool.map(lambda lease: reserve(ledger, lease, COHORT), wishes))
    taken = [lease for lease, outcome in zip(wishes, outcomes, strict=True) if outcome == "reserved"]
    assert {r.lease_id for r in ledger.held()} == {lease.id for lease in taken}
    held = {team: sum(one.gpus for one in taken if one.request.team == team) for team in ("research", "vision")}
    assert held["research"] <= 16
    assert held["vision"] <= 26
    assert sum(held.values()) <= 40
    for person in {one.owner for one in taken}:
        assert sum(one.gpus for one in taken if one.owner == person) <= 9
    assert sum(one.gpus for one in taken if one.request.project == "llm") <= 7
    money = room(ledger, ceiling=Ceiling("team:vision", Decimal(1_600), Kind.MONEY)).committed
    hours = room(ledger, ceiling=Ceiling("team:research", Decimal(120), Kind.GPU_HOURS)).committed
    assert money == sum(_cost(one) for one in taken if one.request.team == "vision")
    assert money is not None
    assert money <= 1_600
    assert hours == held["research"] * 8 <= 120


def _cost(lease: Lease) -> Decimal:
    assert lease.quote
    assert lease.quote.offer.hourly
    return lease.quote.offer.hourly.amount * 8


def test_f10_money_for_exactly_so_many_is_taken_by_exactly_so_many(ledger: SqlLedger) -> None:
    with ThreadPoolExecutor(200) as pool:
        outcomes = list(pool.map(lambda n: reserve(ledger, asked(n)), range(200)))
    assert outcomes.count("reserved") == 12
    assert room(ledger).left == 40


def test_f10_of_two_approved_in_the_same_instant_one_has_the_last_gpus_and_money(ledger: SqlLedger) -> None:
    for run in range(50):
        plan = QuotaPlan((a_quota("ml", 8), Ceiling("team:ml", Decimal(80 + run), Kind.MONEY)))
        start = Barrier(2)

        def at_once(number: int, plan: QuotaPlan = plan, start: Barrier = start) -> str:
            start.wait()
            return reserve(ledger, asked(number, gpus=8), plan)

        with ThreadPoolExecutor(2) as pool:
            outcomes = sorted(pool.map(at_once, (2 * run, 2 * run + 1)), key=lambda o: o != "reserved")
        assert outcomes[0] == "reserved"
        assert "do not fit" in outcomes[1]
        [holder] = ledger.held()
        assert (holder.gpus, room(ledger).committed) == (8, 80)
        ledger.release(holder.lease_id)


def test_f11_after_a_thousand_lives_what_is_used_is_what_the_leases_used(ledger: SqlLedger) -> None:
    dice = random.Random(11)
    plan = QuotaPlan((a_quota("ml", 40), Ceiling("team:ml", Decimal(10**6), Kind.MONEY)))
    open_ones: dict[str, int] = {}
    used = Decimal(0)
    planned = Decimal(0)
    for number in range(1_000):
        lease = asked(number, hourly=usd("6"), gpus=dice.randint(1, 8))
        if reserve(ledger, lease, plan) != "reserved":
            continue
        end = dice.choice(["given back", "denied", "failed", "ended", "open", "open"])
        if end in ("given back", "denied", "failed"):
            ledger.release(lease.id)
        elif end == "ended":
            minutes = dice.randint(1, 480)
            used += Decimal(minutes) / 10
            _lived(ledger, lease, minutes, plan)
        else:
            open_ones[lease.id] = lease.gpus
            planned += 48
        while sum(open_ones.values()) > 30:
            gone = dice.choice(sorted(open_ones))
            for _ in range(dice.randint(1, 3)):
                ledger.release(gone)
            del open_ones[gone]
            planned -= 48
    assert {r.lease_id: r.gpus for r in ledger.held()} == open_ones
    now = room(ledger, ceiling=plan.ceilings[1])
    assert (now.spent, now.committed) == (used, planned)
    hours = room(ledger, ceiling=Ceiling("team:ml", Decimal(1), Kind.GPU_HOURS))
    assert hours.committed == sum(open_ones.values()) * 8


def _lived(ledger: SqlLedger, lease: Lease, minutes: int, plan: QuotaPlan) -> None:
    """It ran so many minutes, then it was stopped and gave its GPUs back."""
    stop = READY + timedelta(minutes=minutes)
    active = life.start_provisioning(lease, APPROVED).lease
    hourly = lease.quote.offer.hourly if lease.quote else None
    active = life.ready(active, (), "", READY, hourly, READY).lease
    record(ledger, active, READY, plan)
    ending = life.release(active, active.owner, stop).lease
    record(ledger, life.stopped(ending, stop, stop).lease, stop, plan)
    ledger.release(lease.id)
