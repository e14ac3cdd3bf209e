"""What only a pool shows the guard: bookings, and nothing at all while the ledger is down."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.resource import Condition
from lessor.ports import RetryableError
from lessor.providers.machines.running import Ran
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import L4, ONE, TWO, create, pool
from tests.providers.pool_world import PLACE, PoolWorld

__all__ = ["pool"]


def test_the_end_until_which_people_are_let_in_counts(pool: PoolWorld) -> None:
    create(pool, ONE)
    sooner = pool.now() + timedelta(hours=1)
    pool.provider().set_end(ONE, PLACE, sooner)
    (one,) = pool.provider().dated(PLACE).dated
    assert (one.ends, one.what) == (sooner, "GPU 0, 1, 2, 3, 4, 5, 6, 7 of dgx-1")


def test_people_are_locked_out_and_the_machine_stays_the_leases(pool: PoolWorld) -> None:
    create(pool, ONE)
    create(pool, TWO, L4)
    pool.provider().stop(ONE, PLACE, silent)
    assert pool.open_to("dgx-1") == {}
    assert {one.lease: one.condition for one in pool.provider().dated(PLACE).dated} == {
        ONE: Condition.STOPPED,
        TWO: Condition.RUNNING,
    }


def test_people_who_may_be_in_again_are_not_taken_for_locked_out(pool: PoolWorld) -> None:
    """Law 1: a start that died after its grant has let people in, whatever phase is on record."""
    create(pool, ONE)
    pool.provider().stop(ONE, PLACE, silent)
    pool.broken["verify"] = Ran(1)
    with pytest.raises(RetryableError):
        pool.provider().start(ONE, PLACE, silent)
    (one,) = pool.provider().dated(PLACE).dated
    assert (one.condition, one.awake) == (Condition.PENDING, True)
    pool.broken.clear()
    pool.provider().stop(ONE, PLACE, silent)
    assert (pool.open_to("dgx-1"), pool.provider().dated(PLACE).dated[0].condition) == ({}, Condition.STOPPED)


def test_an_end_that_was_not_seen_through_is_unknown(pool: PoolWorld) -> None:
    made = create(pool, ONE)
    pool.broken["revoke"] = Ran(1)
    with pytest.raises(RetryableError):
        pool.provider().delete(ONE, PLACE, made.resources, silent)
    (one,) = pool.provider().dated(PLACE).dated
    assert (one.condition, pool.open_to("dgx-1") != {}) == (Condition.UNKNOWN, True)


def test_without_the_ledger_nothing_is_known_and_that_is_said(pool: PoolWorld) -> None:
    create(pool, ONE)
    pool.book.refuse = 9
    roll = pool.provider().dated(PLACE)
    assert roll.dated == ()
    assert roll.problems[0].startswith("who has which machine cannot be read or stored now")
    assert roll.problems[0].endswith(
        "which lease has which machine and until when stands in the ledger only; the hooks know each end too"
    )


def test_where_lessor_lets_nobody_in_it_locks_nobody_out(pool: PoolWorld) -> None:
    pool.hooks = False
    create(pool, ONE)
    (one,) = pool.provider().dated(PLACE).dated
    assert one.awake
    assert one.fixed == "lessor.yaml has no hooks of pool that could lock people out"
