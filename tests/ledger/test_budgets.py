"""Budgets in the ledger: taken in the transaction that reserves, kept true by every record, never exceeded."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Barrier

import pytest

from lessor.domain import life
from lessor.domain.budget import HOUR, MILLIONTHS, BudgetRoom, Metering, budget_rooms
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.money import Money
from lessor.domain.quota import Account, Ceiling, Cohort, Kind, QuotaPlan, Reservation
from lessor.ledger import SqlLedger, open_ledger
from lessor.metering import metered, reservation_of
from lessor.ports import LedgerUnavailableError
from tests.builders import APPROVED, ASKED, ENDS, READY, a_lease, a_person, a_quota, a_quote, a_request, an_offer, usd

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


def test_money_is_taken_with_the_gpus_and_refused_with_the_numbers(ledger: SqlLedger) -> None:
    for number in range(12):
        assert reserve(ledger, asked(number)) == "reserved"
    assert room(ledger).left == 40
    assert reserve(ledger, asked(12)).startswith(
        "team ml may use 1,000 USD in 2026-11: 960 are used or planned, and 80 more do not fit. Ask for less"
    )
    assert len(ledger.held("ml")) == 12
    assert reserve(ledger, asked(13, hourly=usd("5"))) == "reserved"
    assert room(ledger).left == 0


def test_b12_a_repeated_reservation_takes_its_money_once(ledger: SqlLedger) -> None:
    for _ in range(20):
        assert reserve(ledger, asked(1, hourly=usd("100"))) == "reserved"
    assert room(ledger).committed == 800
    assert reserve(ledger, asked(1, hourly=usd("100")), QuotaPlan((replace(MONEY, most=Decimal(1)),))) == "reserved"


def test_f11_what_is_given_back_was_never_planned(ledger: SqlLedger) -> None:
    reserve(ledger, asked(1))
    ledger.release("gpu-00000001")
    ledger.release("gpu-00000001")
    assert (room(ledger).committed, ledger.held()) == (0, ())


def test_each_month_has_its_own_ceiling(ledger: SqlLedger) -> None:
    start = datetime(2026, 11, 30, 20, tzinfo=UTC)
    plan = QuotaPlan((replace(MONEY, most=Decimal(50)),))
    lease = asked(1, start=start)
    assert reserve(ledger, lease, plan) == "reserved"
    assert [room(ledger, m).committed for m in ("2026-11", "2026-12")] == [40, 40]
    assert "in 2026-12" in reserve(ledger, asked(2, start=start + timedelta(hours=4)), plan)
    assert "in 2026-11" in reserve(ledger, asked(3), plan)
    assert reserve(ledger, asked(4, hourly=usd("1"), start=start), plan) == "reserved"


def test_gpu_hours_and_projects_and_people_count_as_well(ledger: SqlLedger) -> None:
    plan = QuotaPlan(
        (
            Ceiling("project:llm", Decimal(20), Kind.GPU_HOURS),
            Ceiling("person:U0REQUESTER", Decimal(100), Kind.GPU_HOURS, "A100-80GB"),
        ),
        people={"w0requester": "U0REQUESTER"},
    )
    assert reserve(ledger, asked(1, project="llm", gpus=2), plan) == "reserved"
    assert reserve(ledger, asked(2, team="vision", project="llm", requester="W0REQUESTER"), plan).startswith(
        "project llm may use 20 GPU-hours in 2026-11: 16 are used or planned, and 8 more do not fit."
    )
    assert reserve(ledger, asked(3, team="vision", requester="W0REQUESTER", gpus=10), plan) == "reserved"
    assert reserve(ledger, asked(4, gpus=1), plan).startswith(
        "person U0REQUESTER may use 100 GPU-hours of A100-80GB in 2026-11: 96 are used or planned, and 8 more"
    )
    assert reserve(ledger, asked(5, requester="U0OTHER", gpus=1), plan) == "reserved"


def test_an_unknown_price_never_counts_as_zero(ledger: SqlLedger) -> None:
    assert reserve(ledger, asked(1, hourly=None)).startswith(
        "team ml may use 1,000 USD in 2026-11, and nobody knows what this costs there"
    )
    soft = QuotaPlan((replace(MONEY, hard=False),))
    assert reserve(ledger, asked(1, hourly=None), soft) == "reserved"
    assert (room(ledger).committed, room(ledger).left) == (None, None)
    assert "the price of a lease that counts there is unknown" in reserve(ledger, asked(2))
    assert reserve(ledger, asked(3, team="vision")) == "reserved"


def test_a_record_counts_what_was_used_and_what_is_planned_now(ledger: SqlLedger) -> None:
    lease = a_lease(State.ACTIVE, quote=a_quote(usd("10")))
    reserve(ledger, a_lease(State.APPROVED, quote=a_quote(usd("10"))))
    record(ledger, lease, READY)
    assert room(ledger, now=READY).committed == 80
    half = READY + timedelta(hours=4)
    assert (room(ledger, now=half).spent, room(ledger, now=half).committed) == (Decimal("40.5"), 40)
    released = life.release(lease, "U0REQUESTER", half).lease
    record(ledger, released, half)
    stopped = life.stopped(released, half, half).lease
    record(ledger, stopped, half)
    assert (room(ledger, now=ENDS).spent, room(ledger, now=ENDS).committed) == (Decimal("40.5"), 0)


def test_a_record_that_comes_late_or_again_changes_nothing(ledger: SqlLedger) -> None:
    early, late = a_lease(State.ACTIVE), a_lease(State.STOPPED)
    record(ledger, late, ENDS)
    before = ledger.taken(Account("ml"), ["2026-11"])
    record(ledger, early, READY)
    assert ledger.taken(Account("ml"), ["2026-11"]) == before
    record(ledger, replace(late, spans=()), ENDS)
    assert ledger.taken(Account("ml"), ["2026-11"]) == before


def test_a_record_that_fails_leaves_both_as_they_were(ledger: SqlLedger) -> None:
    with ledger._db.write() as connection:
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS chain_head_no_delete" + _on(ledger))
        connection.exec_driver_sql("DELETE FROM chain_head")
    with pytest.raises(LedgerUnavailableError):
        record(ledger, a_lease(State.ACTIVE), READY)
    assert (ledger.taken(Account("ml"), ["2026-11"]), ledger.lease("gpu-7k3qxa2m")) == ((), None)


def _on(ledger: SqlLedger) -> str:
    return "" if ledger.name.startswith("sqlite") else " ON chain_head"


def test_f28_closed_months_never_change(ledger: SqlLedger) -> None:
    lease = replace(a_lease(State.ACTIVE, quote=a_quote(usd("10"))), ends_at=datetime(2026, 12, 2, tzinfo=UTC))
    record(ledger, lease, READY)
    november = ledger.taken(Account("ml"), ["2026-11"])
    seen = datetime(2026, 12, 1, 12, tzinfo=UTC)
    stopped_at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    spans = (replace(lease.spans[0], end=stopped_at),)
    over = replace(lease, state=State.STOPPED, spans=spans, revision=lease.revision + 1)
    record(ledger, over, seen)
    assert ledger.taken(Account("ml"), ["2026-11"]) == november
    assert room(ledger, "2026-12", now=seen).spent == -120
    total = sum(Decimal(e.commitment.money or 0) for e in ledger.taken(Account("ml"), ["2026-11", "2026-12"]))
    assert total / MILLIONTHS == over.cost(seen).amount  # type: ignore[union-attr]


def test_f28_a_month_without_any_record_counts_what_was_planned_when_it_began(ledger: SqlLedger) -> None:
    january, march = datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC)
    lease = replace(a_lease(State.ACTIVE, quote=a_quote(usd("10"))), ends_at=march)
    record(ledger, lease, READY)
    whole = 31 * 24 * 10
    assert room(ledger, "2027-01", now=READY).committed == whole
    over = life.release(lease, "U0REQUESTER", march - timedelta(days=9)).lease
    record(ledger, life.stopped(over, march - timedelta(days=9), march - timedelta(days=9)).lease, march)
    ledger.release(lease.id)
    assert room(ledger, "2027-01", now=march).spent == whole
    assert room(ledger, "2027-01", now=january + timedelta(days=3)).spent == 3 * 240


def test_a_longer_lease_takes_more_if_it_fits_until_it_is_recorded(ledger: SqlLedger) -> None:
    lease = a_lease(State.ACTIVE, quote=a_quote(usd("10")))
    record(ledger, lease, READY)

    def commit(hours: int) -> None:
        longer = replace(lease, ends_at=ENDS + timedelta(hours=hours))
        ledger.commit(lease.id, (MONEY,), metered(longer, PLAN, READY))

    reserve(ledger, asked(1, hourly=usd("100")))
    commit(10)
    assert (room(ledger, now=READY).left, ledger.held("ml")[0].lease_id) == (Decimal("19.5"), "gpu-00000001")
    with pytest.raises(Refused, match=r"800 are used or planned, and 200\.50 more do not fit") as refused:
        commit(12)
    assert refused.value.code == "budget"
    assert room(ledger, now=READY).left == Decimal("19.5")
    record(ledger, replace(lease, revision=lease.revision + 1), READY)
    assert room(ledger, now=READY).left == Decimal("119.5")


def test_a_month_that_is_over_its_ceiling_refuses_only_those_who_take_more_of_it(ledger: SqlLedger) -> None:
    lease = replace(a_lease(State.ACTIVE, quote=a_quote(usd("10"))), ends_at=datetime(2026, 12, 1, tzinfo=UTC))
    record(ledger, lease, READY)
    tight = replace(MONEY, most=Decimal(100))
    longer = replace(lease, ends_at=datetime(2026, 12, 1, 9, tzinfo=UTC))
    ledger.commit(lease.id, (tight,), metered(longer, PLAN, READY))
    assert room(ledger, "2026-12", tight).committed == 90
    with pytest.raises(Refused, match="in 2026-12"):
        ledger.commit(
            lease.id, (tight,), metered(replace(lease, ends_at=datetime(2026, 12, 1, 11, tzinfo=UTC)), PLAN, READY)
        )


def test_a_lease_moves_to_another_team_in_one_transaction(ledger: SqlLedger) -> None:
    lease = a_lease(State.ACTIVE, quote=a_quote(usd("10")))
    reserve(ledger, a_lease(State.APPROVED, quote=a_quote(usd("10"))))
    record(ledger, lease, READY)
    half = READY + timedelta(hours=4)
    moved = replace(lease, owner="U0TWO", request=replace(lease.request, team="vision"))
    vision = Ceiling("team:vision", Decimal(39), Kind.MONEY)
    full = QuotaPlan((MONEY, vision, a_quota("vision", 8)))
    assert "40 more do not fit" in reserve(ledger, moved, full, half)
    small = QuotaPlan((MONEY, a_quota("vision", 7)))
    assert reserve(ledger, moved, small, half).startswith("team vision may hold 7 GPUs and holds 0; 8 more do not fit")
    assert [r.team for r in ledger.held()] == ["ml"]
    fits = QuotaPlan((MONEY, replace(vision, most=Decimal(40)), a_quota("vision", 8)))
    assert reserve(ledger, moved, fits, half) == "reserved"
    assert reserve(ledger, moved, fits, half) == "reserved"
    assert ledger.held() == (Reservation(lease.id, "vision", "A100-80GB", 8, "", "U0TWO"),)
    assert (room(ledger, now=half).spent, room(ledger, now=half).committed) == (Decimal("40.5"), 0)
    now = room(ledger, ceiling=vision, now=half)
    assert (now.spent, now.committed) == (0, 40)
    record(ledger, replace(moved, revision=lease.revision + 1), ENDS - timedelta(hours=1), fits)
    now = room(ledger, ceiling=vision, now=ENDS)
    assert (now.spent, room(ledger, now=ENDS).spent) == (40, Decimal("40.5"))


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


@pytest.mark.postgres
def test_rows_that_are_locked_and_have_gone_are_made_again(postgres_url: str) -> None:
    ledger = open_ledger(postgres_url)
    assert reserve(ledger, asked(1)) == "reserved"
    with ledger._db.write() as connection:
        connection.exec_driver_sql("DELETE FROM quota_scopes")
    with pytest.raises(LedgerUnavailableError, match="have gone; nothing was stored"):
        reserve(ledger, asked(2))
    assert reserve(ledger, asked(2)) == "reserved"
    assert len(ledger.held()) == 2
    ledger.close()


def test_people_without_a_ceiling_are_counted_too(ledger: SqlLedger) -> None:
    reserve(ledger, asked(1, requester=a_person("U0X").id, gpus=2), QuotaPlan())
    [entry] = ledger.taken(Account("", "", "U0X"), ["2026-11"])
    assert (entry.commitment.time, entry.commitment.money) == (16 * HOUR, 80 * MILLIONTHS)
    assert ledger.taken(Account("", "", ""), ["2026-11"]) == ()
    assert ledger.taken(Account("ml"), ["2026-11"], but=entry.lease_id) == ()
