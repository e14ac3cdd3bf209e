"""People are told when a ceiling comes near: at set shares, in words with the numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lessor.domain.alerts import Threshold, reaches
from lessor.domain.budget import BudgetRoom
from lessor.domain.quota import Ceiling, Headroom, Kind
from tests.builders import a_quota

MONTH = "2026-11"


def spent(used: str | None, planned: str = "0", most: int = 1000, **changes: object) -> BudgetRoom:
    known = None if used is None else Decimal(used)
    fields: dict[str, object] = {"currency": "USD"} | changes
    return BudgetRoom("team:ml", MONTH, Kind.MONEY, Decimal(most), known, Decimal(planned), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("used", "percents"),
    [(0, []), (3, []), (4, [50]), (6, [50]), (7, [50, 80]), (8, [50, 80, 100]), (12, [50, 80, 100])],
)
def test_thresholds_are_reached_at_their_share_and_beyond(used: int, percents: list[int]) -> None:
    [reach] = reaches([Headroom(a_quota("ml", 8, "L4"), used)], [], MONTH)
    assert reach.words == f"team ml holds {used} of 8 L4 GPUs"
    found = reach.thresholds((100, 50, 80))
    assert found == tuple(Threshold("team:ml", Kind.GPUS, "L4", True, MONTH, p) for p in percents)


def test_what_is_planned_counts_as_well_as_what_is_used() -> None:
    [reach] = reaches([], [spent("500", "312.5")], MONTH)
    assert reach.words == (
        "team ml has taken 812.50 of 1,000 USD for 2026-11: 500 are used, 312.50 are planned until its leases end"
    )
    assert [t.percent for t in reach.thresholds((50, 80, 100))] == [50, 80]


def test_what_is_unknown_has_no_ceiling_or_is_a_cohorts_is_left_out() -> None:
    cohort = Headroom(Ceiling("cohort:both", Decimal(8), teams=("ml", "vision")), 8)
    assert reaches([cohort, Headroom(a_quota("ml", 0), 0)], [spent(None), spent("1", most=0)], MONTH) == ()


def test_each_month_and_kind_is_told_apart() -> None:
    hours = BudgetRoom("person:U1", "2026-12", Kind.GPU_HOURS, Decimal(10), Decimal(5), Decimal(5), model="L4")
    found = reaches([Headroom(a_quota("ml", 2), 2)], [hours], MONTH)
    assert [(r.scope, r.kind, r.model, r.month) for r in found] == [
        ("team:ml", Kind.GPUS, "", MONTH),
        ("person:U1", Kind.GPU_HOURS, "L4", "2026-12"),
    ]
    assert found[1].words == (
        "person U1 has taken 10 of 10 GPU-hours of L4 for 2026-12: 5 are used, 5 are planned until its leases end"
    )
