"""`lessor quota`."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from typer.testing import Result

from lessor.accounting import Usage
from lessor.domain.budget import BudgetRoom
from lessor.domain.quota import Account, Ceiling, Headroom, Kind, Then
from tests.builders import a_quota
from tests.cli.conftest import FakeGateway

Lessor = Callable[..., Result]
MONTH = "2026-06"
SPENT, PLANNED = Decimal("1250.5"), Decimal(300)


@pytest.fixture(autouse=True)
def usages(gateway: FakeGateway) -> None:
    """A team with ceilings of every kind, and its person without any, of whom not all is known."""
    rooms = (Headroom(a_quota("research", 16), 5), Headroom(a_quota("research", 2, "L4", hard=False), 3, 1))
    budgets = (
        BudgetRoom("team:research", MONTH, Kind.MONEY, Decimal(2000), SPENT, PLANNED, currency="USD"),
        BudgetRoom(
            "team:research", MONTH, Kind.GPU_HOURS, Decimal(100), Decimal(70), Decimal(40), model="L4", hard=False
        ),
    )
    gateway.usages["team:research"] = Usage(Account("research"), 5, rooms, budgets, totals(SPENT, PLANNED))
    gateway.usages["person:U0REQUESTER"] = Usage(Account("", "", "U0REQUESTER"), 1, (), (), totals(None, None))


def totals(spent: Decimal | None, planned: Decimal | None) -> tuple[BudgetRoom, ...]:
    hours = BudgetRoom("team:research", MONTH, Kind.GPU_HOURS, Decimal(0), Decimal(70), Decimal(40))
    return (hours, BudgetRoom("team:research", MONTH, Kind.MONEY, Decimal(0), spent, planned, currency="USD"))


def test_limits_with_what_is_used_planned_and_left(lessor: Lessor) -> None:
    result = lessor("quota")
    assert result.exit_code == 0
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert rows == [
        "Whose What Limit Used Planned Left",
        "team research GPUs at once 16 5 11",
        "team research L4 at once 2 3 0 + 1 borrowed, soft",
        "team research USD in 2026-06 2,000 1,250.50 300 449.50",
        "team research L4 GPU-hours in 2026-06 100 70 40 -10 soft",
        "team research: 5 GPUs now; 2026-06: 70 GPU-hours used and 40 planned, 1,250.50 USD used and 300 planned.",
        "person U0REQUESTER: 1 GPU now; 2026-06: 70 GPU-hours used and 40 planned, "
        "unknown USD used and unknown planned.",
    ]


def test_one_team_as_json(lessor: Lessor) -> None:
    [found] = json.loads(lessor("quota", "research", "--json").stdout)
    assert (found["scope"], found["gpus"]) == ("team:research", 5)
    assert found["quotas"][1] == {
        "scope": "team:research",
        "model": "L4",
        "ceiling": 2,
        "used": 3,
        "borrow": 1,
        "free": 0,
        "hard": False,
    }
    assert found["budgets"][0] == {
        "scope": "team:research",
        "kind": "money",
        "model": "",
        "month": MONTH,
        "spent": "1250.5",
        "committed": "300",
        "currency": "USD",
        "hard": True,
        "ceiling": "2000",
        "left": "449.5",
        "then": "alert",
        "frozen": False,
        "used_up": False,
    }
    assert [one["kind"] for one in found["month"]] == ["gpu-hours", "money"]


def test_unknown_is_null_and_not_zero(lessor: Lessor) -> None:
    person = json.loads(lessor("quota", "--json").stdout)[1]
    assert [one["spent"] for one in person["month"]] == ["70", None]


def test_without_a_limit_only_the_sums_are_shown(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.usages["team:free"] = Usage(Account("free"), 0, (), (), totals(Decimal(0), Decimal(0)))
    assert lessor("quota", "free").stdout == (
        "team free: 0 GPUs now; 2026-06: 70 GPU-hours used and 40 planned, 0 USD used and 0 planned.\n"
    )


def test_a_ceiling_of_a_cohort_is_shown_once_for_all_its_teams(lessor: Lessor, gateway: FakeGateway) -> None:
    cohort = Headroom(Ceiling("cohort:ml", Decimal(32), teams=("research", "vision")), 9)
    usage = gateway.usages["team:research"]
    gateway.usages["person:U0REQUESTER"] = Usage(usage.account, 5, (cohort, cohort), (), usage.totals)
    assert lessor("quota").stdout.count("cohort ml") == 1


@pytest.mark.parametrize(
    ("then", "spent", "note"),
    [
        (Then.ALERT, 2000, ""),
        (Then.FREEZE, 1000, "no new requests once used up"),
        (Then.FREEZE, 1700, "used up: no new requests"),
        (Then.END, 1000, "leases end once used up"),
        (Then.END, 1700, "used up: no new requests"),
        (Then.END, 2000, "used up: leases end"),
    ],
)
def test_what_follows_when_a_limit_is_used_up_stands_beside_it(
    lessor: Lessor, gateway: FakeGateway, then: Then, spent: int, note: str
) -> None:
    room = BudgetRoom(
        "team:research", MONTH, Kind.MONEY, Decimal(2000), Decimal(spent), PLANNED, currency="USD", then=then
    )
    gateway.usages["team:research"] = Usage(Account("research"), 0, (), (room,), totals(SPENT, PLANNED))
    row = " ".join(lessor("quota", "research").stdout.splitlines()[1].split())
    assert row == f"team research USD in 2026-06 2,000 {spent:,} 300 {2000 - spent - 300:,} {note}".strip()
