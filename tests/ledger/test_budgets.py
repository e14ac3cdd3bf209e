"""Budgets in the ledger: taken in the transaction that reserves, and kept true by every record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from lessor.domain import life
from lessor.domain.budget import HOUR, MILLIONTHS
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.quota import Account, Ceiling, Kind, QuotaPlan, Reservation
from lessor.ledger import SqlLedger, open_ledger
from lessor.metering import metered
from lessor.ports import LedgerUnavailableError
from tests.builders import ENDS, READY, a_lease, a_person, a_quota, a_quote, usd
from tests.ledger.spending import MONEY, PLAN, asked, record, reserve, room


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
