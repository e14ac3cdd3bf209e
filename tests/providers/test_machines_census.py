"""The census of a pool: each GPU counted once, and what is not known is neither free nor unhealthy."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.providers.machines.running import Ran
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import HOUR, L4, ONE, THREE, TWO, a_pool_lease, create
from tests.providers.pool_world import PLACE, START, PoolWorld


def test_a_census_counts_every_gpu_once(pool: PoolWorld) -> None:
    create(pool, ONE), create(pool, TWO, L4)
    pool.machines = [replace(one, withdrawn="repair" if one.name == "dgx-3" else "") for one in pool.machines]
    pool.provider().book(a_pool_lease(pool, THREE, start=START + 48 * HOUR, duration=HOUR), START)
    found = pool.provider().census(PLACE)
    assert found.complete
    counts = {p.model: (p.total, p.free, p.held, p.promised, p.unhealthy, p.largest) for p in found.pools}
    assert counts == {
        "A100-80GB": (24, 8, 8, 0, 8, 8),
        "L4": (4, 2, 2, 0, 0, 2),
        "V100-16GB": (2, 2, 0, 0, 0, 2),
    }
    assert [(one.ref, one.lease, one.units, one.who, one.since) for one in found.holders] == [
        ("dgx-1", ONE, 8, "U0REQUESTER", START),
        ("lab-1", TWO, 2, "U0REQUESTER", START),
    ]
    assert found.notes == (
        "dgx-3 may not be leased: repair",
        "GPU 0, 1, 2, 3, 4, 5, 6, 7 of dgx-1 is booked for gpu-00000003 from 2026-11-30 09:00 UTC to "
        "2026-11-30 10:15 UTC",
    )


def test_a_machine_that_is_somebodys_counts_as_theirs_whatever_is_wrong_with_it(pool: PoolWorld) -> None:
    """It is not unhealthy besides, nor does it shrink under them."""
    create(pool, ONE)
    pool.ill["dgx-1"] = "a GPU fell off the bus"
    pool.advance(timedelta(minutes=6))
    pool.provider().conditions(PLACE)
    for gpus in (8, 4):
        pool.machines[0] = replace(pool.machines[0], gpus=gpus)
        found = pool.provider().census(PLACE)
        count = found.pools[0]
        assert (count.total, count.held, count.free, count.unhealthy, count.reserved) == (24, 8, 16, 0, 0)
        assert [one.flag for one in found.holders] == ["failed its health check"]


def test_what_is_cleaned_up_or_booked_for_right_away_is_reserved(pool: PoolWorld) -> None:
    create(pool, ONE, L4)
    pool.provider().delete(ONE, PLACE, (), silent)
    soon = a_pool_lease(pool, TWO, start=START + timedelta(minutes=5), duration=HOUR)
    assert pool.provider().book(soon, START)
    counts = {p.model: (p.total, p.free, p.held, p.reserved) for p in pool.provider().census(PLACE).pools}
    assert counts == {"A100-80GB": (24, 16, 0, 8), "L4": (4, 2, 0, 2), "V100-16GB": (2, 2, 0, 0)}
    pool.advance(timedelta(minutes=11))
    counts = {p.model: (p.free, p.promised, p.reserved) for p in pool.provider().census(PLACE).pools}
    assert counts["L4"] == (4, 0, 0)
    assert counts["A100-80GB"] == (16, 8, 0), "its time has come: it is the lease's from now on"


def test_a_machine_of_which_nobody_knows_whether_it_is_fit_is_neither_free_nor_unhealthy(pool: PoolWorld) -> None:
    """Law 1."""
    pool.broken["health"] = Ran(None, problem="health cannot be started: no", started=False)
    pool.provider().conditions(PLACE)
    found = pool.provider().census(PLACE)
    assert {p.model: (p.total, p.free, p.unhealthy) for p in found.pools}["L4"] == (4, 0, 0)
    assert "whether lab-1 is fit for use could not be seen: health cannot be started: no" in found.notes


def test_a_census_that_cannot_be_read_has_no_numbers(pool: PoolWorld) -> None:
    pool.book.refuse = 1
    found = pool.provider().census(PLACE)
    assert (found.complete, found.pools) == (False, ())
    assert "cannot be read or stored now" in found.problem
