"""Leases in the view over all places: where each is, what it does as far as is known, and what it has cost so far."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.fleet import place_fleet
from lessor.domain.fleet_words import where
from lessor.domain.idle import Standing, Verdict
from lessor.domain.lease import Lease, State
from tests.builders import READY
from tests.unit.fleets import MINUTE, NOW, US, census, held, leased, pool, record


def doing(lease: Lease, *standings: Standing, every: timedelta | None = MINUTE) -> str:
    (one,) = place_fleet(census(), record(lease, standings=standings, every=every)).tenants
    return one.doing


def test_the_verdict_is_that_of_the_latest_tick() -> None:
    lease = leased("gpu-aaaaaaaa")
    assert doing(lease, Standing(lease.id, NOW - MINUTE, Verdict.IDLE, READY)) == "idle"
    assert doing(lease, every=None) == "not metered"
    assert doing(lease) == "unknown"
    assert doing(leased("gpu-bbbbbbbb", state=State.ENDING)) == "ending"


def test_a_verdict_of_a_meter_that_is_silent_is_unknown_not_idle() -> None:
    lease = leased("gpu-aaaaaaaa")
    assert doing(lease, Standing(lease.id, NOW - 3 * MINUTE, Verdict.IDLE, READY)) == "idle"
    assert doing(lease, Standing(lease.id, NOW - 4 * MINUTE, Verdict.IDLE, READY)) == "unknown"


@pytest.mark.parametrize(
    ("refs", "words"),
    [
        (("dgx-1",), "lab: dgx-1"),
        (("instance:i-0aaa",), "lab: i-0aaa"),
        (("dgx-1", "dgx-2"), "lab"),
        (("pod gpu-aaaaaaaa/train-0",), "lab"),
        ((), "lab"),
    ],
)
def test_a_lease_on_one_machine_says_on_which(refs: tuple[str, ...], words: str) -> None:
    holders = tuple(held(2, "gpu-aaaaaaaa", ref=ref) for ref in refs)
    (tenant,) = place_fleet(census(pool(), holders=holders), record(leased("gpu-aaaaaaaa"))).tenants
    assert (tenant.refs, where(tenant)) == (refs, words)


def test_a_lease_shows_what_it_costs_so_far() -> None:
    lease = leased("gpu-aaaaaaaa")
    (tenant,) = place_fleet(census(), record(lease)).tenants
    assert tenant.cost == lease.cost(NOW)
    assert tenant.cost is not None


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (State.REQUESTED, False),
        (State.AWAITING_APPROVAL, False),
        (State.APPROVED, False),
        (State.WAITING_FOR_CAPACITY, True),
        (State.PROVISIONING, True),
        (State.BLOCKED, True),
        (State.CLOSED, False),
    ],
)
def test_leases_that_have_something_in_a_place_or_wait_for_it_are_listed(state: State, shown: bool) -> None:
    found = place_fleet(census(), record(leased("gpu-aaaaaaaa", state=state)))
    assert bool(found.tenants) is shown


def test_a_lease_is_shown_in_its_own_place_only() -> None:
    found = place_fleet(census(), record(leased("gpu-aaaaaaaa", US)))
    assert (found.tenants, found.lines) == ((), ())
