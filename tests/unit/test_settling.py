"""Closed months and former accounts keep what was counted for them; the month that is open makes up for the rest."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.budget import HOUR, Commitment, Entry, Metering
from lessor.domain.quota import Account
from lessor.domain.settling import settle

ML, VISION = Account("ml", "", "U0ONE"), Account("vision", "", "U0TWO")
NOW = datetime(2026, 12, 5, tzinfo=UTC)


def month(key: str, hours: int, money: int | None, ahead: int = 0, ahead_money: int | None = 0) -> Commitment:
    return Commitment(key, hours * HOUR, money, ahead * HOUR, ahead_money, running=True)


def fresh(*commitments: Commitment, account: Account = ML, current: str = "2026-12") -> Metering:
    return Metering(account, "L4", "USD", NOW, current, commitments)


def settled(stored: list[Entry] | tuple[Entry, ...], metering: Metering) -> list[tuple[str, str, int, int | None]]:
    """Month, team, GPU-hours and money of each entry."""
    entries = settle("gpu-1", stored, metering)
    return [(e.commitment.month, e.account.team, e.commitment.time // HOUR, e.commitment.money) for e in entries]


def test_the_first_count_is_taken_as_it_is() -> None:
    metering = fresh(month("2026-11", 5, 50), month("2026-12", 7, 70, 3, 30))
    assert settled([], metering) == [("2026-11", "ml", 5, 50), ("2026-12", "ml", 7, 70)]


def test_an_open_month_is_counted_anew() -> None:
    before = settle("gpu-1", [], fresh(month("2026-12", 7, 70, 3, 30)))
    assert settled(before, fresh(month("2026-12", 9, 90))) == [("2026-12", "ml", 9, 90)]
    assert settled(before, fresh()) == []


def test_f28_a_closed_month_stays_and_the_open_one_makes_up_for_it() -> None:
    before = settle("gpu-1", [], fresh(month("2026-11", 10, 100), month("2026-12", 5, 50), current="2026-11"))
    less = fresh(month("2026-11", 8, 80))
    assert settled(before, less) == [("2026-11", "ml", 10, 100), ("2026-12", "ml", -2, -20)]
    more = fresh(month("2026-11", 10, 130), month("2026-12", 1, 10))
    assert settled(before, more) == [("2026-11", "ml", 10, 100), ("2026-12", "ml", 1, 40)]
    again = settle("gpu-1", before, more)
    assert settle("gpu-1", again, more) == again


def test_what_was_only_planned_of_a_closed_month_is_void_and_needs_no_correction() -> None:
    waiting = replace(month("2026-11", 10, 100, 10, 100), running=False)
    before = settle("gpu-1", [], fresh(waiting, current="2026-11"))
    assert settled(before, fresh(month("2026-12", 10, 100, 10, 100))) == [
        ("2026-11", "ml", 10, 100),
        ("2026-12", "ml", 10, 100),
    ]


def test_an_unknown_price_of_a_closed_month_stays_unknown_there_and_is_not_taken_for_zero() -> None:
    before = settle("gpu-1", [], fresh(month("2026-11", 10, None), current="2026-11"))
    assert settled(before, fresh(month("2026-11", 10, None), month("2026-12", 1, 10))) == [
        ("2026-11", "ml", 10, None),
        ("2026-12", "ml", 1, 10),
    ]
    late_price = fresh(month("2026-11", 10, 100), month("2026-12", 1, 10))
    assert settled(before, late_price) == [("2026-11", "ml", 10, None), ("2026-12", "ml", 1, None)]


def test_what_was_used_stays_with_the_former_account_and_the_plan_goes_to_the_new_one() -> None:
    before = settle("gpu-1", [], fresh(month("2026-12", 10, 100, 6, 60), month("2027-01", 4, 40, 4, 40)))
    moved = fresh(month("2026-12", 10, 100, 5, 50), month("2027-01", 4, 40, 4, 40), account=VISION)
    after = settle("gpu-1", before, moved)
    assert settled(before, moved) == [
        ("2026-12", "ml", 5, 50),
        ("2026-12", "vision", 5, 50),
        ("2027-01", "vision", 4, 40),
    ]
    later = fresh(month("2026-12", 8, 80), account=VISION)
    assert settled(after, later) == [("2026-12", "ml", 5, 50), ("2026-12", "vision", 3, 30)]
    back = fresh(month("2026-12", 9, 90, 1, 10))
    assert settled(settle("gpu-1", after, later), back) == [
        ("2026-12", "ml", 5, 50),
        ("2026-12", "vision", 3, 30),
        ("2026-12", "ml", 1, 10),
    ]


def test_a_lease_that_moves_after_a_month_has_ended_leaves_that_month_alone() -> None:
    before = settle("gpu-1", [], fresh(month("2026-11", 10, 100), month("2026-12", 6, 60), current="2026-11"))
    moved = fresh(month("2026-11", 10, 100), month("2026-12", 6, 60, 4, 40), account=VISION)
    assert settled(before, moved) == [
        ("2026-11", "ml", 10, 100),
        ("2026-12", "ml", 2, 20),
        ("2026-12", "vision", 4, 40),
    ]


STEPS = st.lists(
    st.tuples(st.sampled_from([ML, VISION]), st.integers(0, 3), st.lists(st.integers(0, 50), min_size=4, max_size=4)),
    min_size=1,
    max_size=8,
)


@given(STEPS)
def test_f11_whatever_becomes_known_when_and_whoever_has_it_the_sum_is_the_true_one(
    steps: list[tuple[Account, int, list[int]]],
) -> None:
    keys = ["2026-11", "2026-12", "2027-01", "2027-02"]
    entries: tuple[Entry, ...] = ()
    now = 0
    for account, forward, hours in steps:
        now = min(now + forward, 3)
        known = [month(key, h, h * 10) for key, h in zip(keys[: now + 1], hours, strict=False) if h]
        before = entries
        entries = settle("gpu-1", before, fresh(*known, account=account, current=keys[now]))
        assert sum(e.commitment.time for e in entries) == sum(c.time for c in known)
        assert sum(e.commitment.money or 0 for e in entries) == sum(c.money or 0 for c in known)
        closed = [[e for e in found if e.commitment.month < keys[now]] for found in (before, entries)]
        assert closed[0] == closed[1] or not before


def test_time_passes_between_records_without_a_trace() -> None:
    one = fresh(month("2026-12", 7, 70, 3, 30))
    assert settle("gpu-1", settle("gpu-1", [], one), replace(one, at=NOW + timedelta(hours=1))) == settle(
        "gpu-1", [], one
    )
