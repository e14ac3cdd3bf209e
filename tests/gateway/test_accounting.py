"""What is free, what a team has used, and whom to tell: read from a real ledger."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from lessor.accounting import Accounting
from lessor.contracts import Alarm, PageInput
from lessor.domain.lease import Lease, State
from lessor.domain.quota import Account, Ceiling, Cohort, Kind, QuotaPlan
from lessor.ledger import SqlLedger, open_ledger
from lessor.metering import metered, reservation_of
from tests.builders import APPROVED, READY, a_lease, a_quota, a_quote, a_request, an_offer, usd

MONEY = Ceiling("team:ml", Decimal(1000), Kind.MONEY)
PERSON = Ceiling("person:*", Decimal(100), Kind.GPU_HOURS)
PLAN = QuotaPlan((MONEY, PERSON, a_quota("ml", 10), a_quota("vision", 4)))


@pytest.fixture
def book() -> Iterator[SqlLedger]:
    ledger = open_ledger("sqlite://")
    yield ledger
    ledger.close()


def lease(number: int, gpus: int = 1, hourly: str = "10", **changes: object) -> Lease:
    quote = a_quote(offer=an_offer(hourly=usd(hourly), gpu_count=gpus))
    return a_lease(State.APPROVED, id=f"gpu-{number:08}", quote=quote, request=a_request(**changes))


def take(book: SqlLedger, one: Lease, plan: QuotaPlan = PLAN) -> Lease:
    metering = metered(one, plan, APPROVED)
    book.reserve(reservation_of(one, plan), plan.of(metering.account, one.model), metering)
    return one


def test_rooms_are_without_the_lease_itself_and_budgets_have_apart_what_it_asks(book: SqlLedger) -> None:
    one = take(book, lease(1, 3))
    take(book, lease(2, 2))
    accounting = Accounting(book, lambda: PLAN)
    assert [(r.quota.scope, r.used, r.free) for r in accounting.rooms(one)] == [("team:ml", 2, 8)]
    rooms = accounting.budgets(one, APPROVED)
    assert [(r.scope, r.spent, r.committed, r.asked, r.left) for r in rooms] == [
        ("team:ml", 0, 80, 80, 840),
        ("person:U0REQUESTER", 0, 16, 24, 60),
    ]
    assert Accounting(book, QuotaPlan).budgets(one, APPROVED) == ()


async def test_both_kinds_at_once_for_a_card(book: SqlLedger) -> None:
    rooms, budgets = await Accounting(book, lambda: PLAN).around(lease(1), APPROVED)
    assert ([r.free for r in rooms], [r.left for r in budgets]) == ([10], [920, 92])


def test_usage_has_every_ceiling_and_sums_without_one(book: SqlLedger) -> None:
    take(book, lease(1, 3))
    take(book, lease(2, 2, requester="U0OTHER", team="vision"))
    accounting = Accounting(book, lambda: PLAN)
    team = accounting.usage(Account("ml"), APPROVED)
    assert (team.gpus, [r.free for r in team.rooms], [r.left for r in team.budgets]) == (3, [7], [920])
    assert [(t.kind, t.committed, t.currency) for t in team.totals] == [
        (Kind.GPU_HOURS, 24, ""),
        (Kind.MONEY, 80, "USD"),
    ]
    other = accounting.usage(Account("", "", "U0OTHER"), APPROVED)
    assert (other.gpus, other.rooms, [r.left for r in other.budgets]) == (2, (), [84])


def test_a_team_sees_what_its_cohort_has_together(book: SqlLedger) -> None:
    plan = replace(PLAN, cohorts=(Cohort("both", ("ml", "vision"), {"vision": 6}),))
    take(book, lease(1, 3))
    take(book, lease(2, 2, requester="U0OTHER", team="vision"))
    usage = Accounting(book, lambda: plan).usage(Account("vision"), APPROVED)
    assert usage.gpus == 2
    assert [(r.quota.scope, r.used, r.borrow, r.free) for r in usage.rooms] == [
        ("team:vision", 2, 6, 8),
        ("cohort:both", 5, 0, 9),
    ]


def test_an_alert_is_told_once_and_again_to_a_record_that_is_repeated(book: SqlLedger) -> None:
    accounting = Accounting(book, lambda: PLAN)
    one = take(book, lease(1, 2, "70"))
    page = PageInput(
        Alarm.BUDGET,
        "team:ml money 2026-11 50%",
        "team ml has taken 560 of 1,000 USD for 2026-11: 0 are used, 560 are planned until its leases end. "
        "gpu-00000001 of team ml reached 50 %.",
        "ml",
        "",
        False,
    )
    for _ in range(3):
        assert accounting.alerts(one, APPROVED) == (page,)
    assert accounting.alerts(replace(one, revision=one.revision + 1), APPROVED) == ()
    two = take(book, lease(2, 1, "10"))
    assert accounting.alerts(two, APPROVED) == ()


def test_who_reaches_the_limit_at_once_hears_of_that_only_and_administrators_too(book: SqlLedger) -> None:
    one = take(book, lease(1, 10, "1", requester="U0OTHER"))
    told = Accounting(book, lambda: PLAN).alerts(one, APPROVED)
    assert [(p.subject, p.team, p.person, p.admins) for p in told] == [
        ("person:U0OTHER gpu-hours 2026-11 80%", "ml", "U0OTHER", False),
        ("team:ml gpus 2026-11 100%", "ml", "", True),
    ]


def test_a_soft_and_a_hard_limit_of_one_thing_are_told_apart(book: SqlLedger) -> None:
    plan = QuotaPlan((MONEY, replace(MONEY, most=Decimal(500), hard=False)))
    one = take(book, lease(1, 1, "65"), plan)
    told = Accounting(book, lambda: plan).alerts(one, APPROVED)
    assert [(p.subject, p.admins) for p in told] == [
        ("team:ml soft money 2026-11 100%", True),
        ("team:ml money 2026-11 50%", False),
    ]


def test_nothing_is_told_where_no_threshold_is_set(book: SqlLedger) -> None:
    one = take(book, lease(1, 10))
    assert Accounting(book, lambda: replace(PLAN, thresholds=())).alerts(one, APPROVED) == ()


def test_of_many_that_reach_it_at_once_one_is_told(book: SqlLedger) -> None:
    leases = [take(book, lease(1, 1, "70")), take(book, lease(2, 1, "5"))]
    accounting = Accounting(book, lambda: PLAN)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda one: accounting.alerts(one, APPROVED), leases * 8))
    reached = {page.subject for pages in told for page in pages}
    assert reached == {"team:ml money 2026-11 50%"}
    assert len({page.problem for pages in told for page in pages}) == 1


def test_a_longer_lease_is_committed_only_while_it_is_in_use(book: SqlLedger) -> None:
    accounting = Accounting(book, lambda: PLAN)
    active = a_lease(State.ACTIVE, quote=a_quote(usd("10")))
    assert active.ends_at
    accounting.commit(replace(active, ends_at=active.ends_at + timedelta(hours=1)), READY)
    assert book.taken(Account("ml"), ["2026-11"])
    stopped = a_lease(State.STOPPED, id="gpu-00000002")
    accounting.commit(stopped, READY)
    assert all(e.lease_id == active.id for e in book.taken(Account("ml"), ["2026-11"]))
