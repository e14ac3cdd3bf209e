"""Reservations: the last GPUs go to one request only, and every GPU that was taken is given back exactly once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.errors import Refused
from lessor.domain.lease import FINAL, Event, State
from lessor.domain.quota import Ceiling, Reservation
from lessor.ledger import SqlLedger, open_ledger
from tests.builders import ASKED, a_lease, a_quota

EIGHT = (a_quota("ml", 8),)


def wanted(number: int, gpus: int = 8, team: str = "ml", model: str = "A100-80GB") -> Reservation:
    return Reservation(f"gpu-{number:08}", team, model, gpus)


def try_reserve(ledger: SqlLedger, reservation: Reservation, quotas: tuple[Ceiling, ...] = EIGHT) -> str:
    """What came of it: `reserved` or the words of the refusal."""
    try:
        ledger.reserve(reservation, quotas)
    except Refused as refusal:
        if refusal.code != "quota":
            raise
        return str(refusal)
    return "reserved"


def test_what_fits_is_held_until_it_is_released(ledger: SqlLedger) -> None:
    ledger.reserve(wanted(1, 3), EIGHT)
    ledger.reserve(wanted(2, 5), EIGHT)
    assert ledger.held() == (wanted(1, 3), wanted(2, 5))
    ledger.release("gpu-00000001")
    ledger.release("gpu-00000001")
    ledger.release("gpu-99999999")
    assert ledger.held() == (wanted(2, 5),)


def test_what_does_not_fit_is_refused_with_the_numbers_and_changes_nothing(ledger: SqlLedger) -> None:
    ledger.reserve(wanted(1, 6), EIGHT)
    with pytest.raises(Refused) as refusal:
        ledger.reserve(wanted(2, 3), EIGHT)
    assert refusal.value.code == "quota"
    assert str(refusal.value).startswith("team ml may hold 8 GPUs and holds 6; 3 more do not fit.")
    assert ledger.held() == (wanted(1, 6),)


def test_each_quota_of_the_team_counts_and_other_teams_do_not(ledger: SqlLedger) -> None:
    quotas = (a_quota("ml", 8), a_quota("ml", 4, "H100"), a_quota("vision", 1))
    ledger.reserve(wanted(1, 1, "vision"), quotas)
    ledger.reserve(wanted(2, 4, model="H100"), quotas)
    assert try_reserve(ledger, wanted(3, 1, model="H100"), quotas).startswith(
        "team ml may hold 4 H100 GPUs and holds 4"
    )
    assert try_reserve(ledger, wanted(4, 4), quotas) == "reserved"
    assert try_reserve(ledger, wanted(5, 1), quotas).startswith("team ml may hold 8 GPUs and holds 8")
    assert ledger.held("ml") == (wanted(2, 4, model="H100"), wanted(4, 4))
    assert ledger.held("vision") == (wanted(1, 1, "vision"),)
    assert ledger.held("nobody") == ()


def test_without_a_quota_everything_fits(ledger: SqlLedger) -> None:
    ledger.reserve(wanted(1, 10_000), ())
    assert ledger.held("ml") == (wanted(1, 10_000),)


def test_b12_a_repeated_reservation_counts_once_even_when_the_quota_shrank(ledger: SqlLedger) -> None:
    for _ in range(20):
        ledger.reserve(wanted(1), EIGHT)
    ledger.reserve(wanted(1), (a_quota("ml", 4),))
    assert ledger.held() == (wanted(1),)


def test_a_lease_that_needs_another_number_replaces_its_reservation_if_it_fits(ledger: SqlLedger) -> None:
    ledger.reserve(wanted(1, 2), EIGHT)
    ledger.reserve(wanted(2, 4), EIGHT)
    ledger.reserve(wanted(1, 4), EIGHT)
    assert ledger.held() == (wanted(1, 4), wanted(2, 4))
    assert try_reserve(ledger, wanted(1, 5)).startswith("team ml may hold 8 GPUs and holds 4; 5 more do not fit")
    assert ledger.held() == (wanted(1, 4), wanted(2, 4))


def test_a_lease_that_changes_its_team_counts_for_the_new_one_only(ledger: SqlLedger) -> None:
    quotas = (*EIGHT, a_quota("vision", 8))
    ledger.reserve(wanted(1), quotas)
    ledger.reserve(wanted(1, team="vision"), quotas)
    assert (ledger.held("ml"), ledger.held("vision")) == ((), (wanted(1, team="vision"),))


def test_a_released_lease_may_reserve_again_when_it_is_restored(ledger: SqlLedger) -> None:
    ledger.record(a_lease(State.STOPPED, id="gpu-00000001"), [Event("stopped", ASKED, "lessor", {})])
    ledger.reserve(wanted(1), EIGHT)
    ledger.release("gpu-00000001")
    ledger.reserve(wanted(1), EIGHT)
    assert ledger.held() == (wanted(1),)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_f11_a_reservation_that_comes_after_the_end_takes_nothing(ledger: SqlLedger, state: State) -> None:
    ledger.record(replace(a_lease(id="gpu-00000001"), state=state), [Event("over", ASKED, "lessor", {})])
    with pytest.raises(Refused, match=f"gpu-00000001 is {state}: no GPUs were reserved") as refusal:
        ledger.reserve(wanted(1), EIGHT)
    assert refusal.value.code == "wrong-state"
    assert ledger.held() == ()


def test_f10_two_requests_for_the_last_gpus_at_the_same_instant(ledger: SqlLedger) -> None:
    for round_ in range(10):
        start = Barrier(2)

        def reserve(number: int, start: Barrier = start) -> str:
            start.wait()
            return try_reserve(ledger, wanted(number))

        with ThreadPoolExecutor(2) as pool:
            outcomes = sorted(pool.map(reserve, (2 * round_, 2 * round_ + 1)))
        assert outcomes[0] == "reserved"
        assert outcomes[1].startswith("team ml may hold 8 GPUs and holds 8; 8 more do not fit")
        (holder,) = ledger.held("ml")
        ledger.release(holder.lease_id)


@pytest.mark.parametrize("seed", range(5))
def test_f10_random_parallel_runs_never_use_more_than_the_quota(ledger: SqlLedger, seed: int) -> None:
    for run in range(10):
        dice = random.Random(1_000 * seed + run)
        acts = [(dice.randrange(12), dice.randint(1, 8), dice.random() < 0.3) for _ in range(40)]
        seen: list[int] = []

        def act(of: tuple[int, int, bool], run: int = run, seen: list[int] = seen) -> None:
            number, gpus, gives_back = of
            if gives_back:
                ledger.release(f"gpu-{100 * run + number:08}")
            else:
                try_reserve(ledger, wanted(100 * run + number, gpus))
            seen.append(sum(r.gpus for r in ledger.held("ml")))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(act, acts))
        assert max(seen) <= 8
        for reservation in ledger.held("ml"):
            ledger.release(reservation.lease_id)


def test_f10_two_hundred_at_once_take_exactly_what_there_is(ledger: SqlLedger) -> None:
    quotas = (a_quota("ml", 100),)
    with ThreadPoolExecutor(200) as pool:
        outcomes = list(pool.map(lambda n: try_reserve(ledger, wanted(n, 1), quotas), range(200)))
    assert outcomes.count("reserved") == 100
    assert {o for o in outcomes if o != "reserved"} == {
        "team ml may hold 100 GPUs and holds 100; 1 more does not fit. "
        "Release a lease of the team or ask an administrator for more quota."
    }
    assert sum(r.gpus for r in ledger.held("ml")) == 100


def test_f10_two_processes_share_one_quota(ledger: SqlLedger, ledger_url: str) -> None:
    other = open_ledger(ledger_url)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda n: try_reserve((ledger, other)[n % 2], wanted(n, 1)), range(40)))
    assert outcomes.count("reserved") == 8
    assert ledger.held() == other.held()
    other.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[SqlLedger]:
    """One ledger for many examples; each example clears what it took."""
    opened = open_ledger("sqlite://")
    yield opened
    opened.close()


Act = tuple[bool, int, int, str]
ACTS = st.tuples(st.booleans(), st.integers(1, 6), st.integers(1, 8), st.sampled_from(["ml", "vision"]))


@settings(deadline=None)
@given(st.lists(ACTS, max_size=30))
def test_any_order_of_reserving_and_releasing_leaves_the_sum_of_what_is_open(
    shared: SqlLedger, acts: list[Act]
) -> None:
    quotas = (a_quota("ml", 8), a_quota("vision", 12))
    for reservation in shared.held():
        shared.release(reservation.lease_id)
    model: dict[str, Reservation] = {}
    for reserves, number, gpus, team in acts:
        lease_id = f"gpu-{number:08}"
        if not reserves:
            shared.release(lease_id)
            model.pop(lease_id, None)
            continue
        others = sum(r.gpus for r in model.values() if r.team == team and r.lease_id != lease_id)
        fits = gpus + others <= {"ml": 8, "vision": 12}[team]
        outcome = try_reserve(shared, wanted(number, gpus, team), quotas)
        assert (outcome == "reserved") is fits
        if fits:
            model[lease_id] = wanted(number, gpus, team)
    assert shared.held() == tuple(sorted(model.values(), key=lambda r: r.lease_id))


def test_f11_after_a_thousand_lifecycles_used_is_the_sum_of_the_open_ones(ledger: SqlLedger) -> None:
    dice = random.Random(11)
    quotas = (a_quota("ml", 64),)
    held: dict[str, int] = {}
    for number in range(1_000):
        reservation = wanted(number, dice.randint(1, 8))
        if try_reserve(ledger, reservation, quotas) == "reserved":
            held[reservation.lease_id] = reservation.gpus
        while len(held) > 6 or (held and dice.random() < 0.4):
            ended = dice.choice(sorted(held))
            for _ in range(dice.randint(1, 3)):
                ledger.release(ended)
            del held[ended]
        if number % 100 == 0:
            assert sum(r.gpus for r in ledger.held("ml")) == sum(held.values())
    assert {r.lease_id: r.gpus for r in ledger.held()} == held
