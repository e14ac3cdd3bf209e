"""A pool in the view over all places: whatever happens to machines, each GPU is counted once, and all of them are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.fleet import Record, place_fleet
from lessor.domain.lease import Lease, State
from tests.builders import a_lease, a_quote, a_request, an_offer
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import HOUR, L4, ONE, THREE, TWO, a_pool_lease, create
from tests.providers.pool_world import PLACE, START, PoolWorld

MINUTES = timedelta(minutes=1)


def unfit(pool: PoolWorld) -> None:
    pool.ill["dgx-1"] = "a fan stands still"
    pool.advance(6 * MINUTES)
    pool.provider().conditions(PLACE)


def cleaned_up(pool: PoolWorld) -> None:
    pool.provider().delete(TWO, PLACE, (), silent)


def booked_for_right_away(pool: PoolWorld) -> None:
    pool.provider().book(a_pool_lease(pool, THREE, start=START + 5 * MINUTES, duration=HOUR), START)


def out_of_the_inventory(pool: PoolWorld) -> None:
    pool.machines = [one for one in pool.machines if one.name != "dgx-1"]


def smaller(pool: PoolWorld) -> None:
    pool.machines = [replace(one, gpus=4) if one.name == "dgx-1" else one for one in pool.machines]


def of_another_model(pool: PoolWorld) -> None:
    pool.machines = [replace(one, model="H100") if one.name == "dgx-1" else one for one in pool.machines]


def withdrawn(pool: PoolWorld) -> None:
    pool.withdraw_all()


def leased(lease_id: str, gpus: int, model: str, state: State = State.ACTIVE) -> Lease:
    quote = a_quote(offer=an_offer(gpu_count=gpus, gpu_model=model))
    return a_lease(state, id=lease_id, request=a_request(place=PLACE), quote=quote)


@pytest.mark.parametrize("state", [State.ACTIVE, State.STOPPED, State.DELETING])
@pytest.mark.parametrize(
    ("happens", "a100", "more"),
    [
        (unfit, (24, 8, 0, 16, 0, 0, 0), {}),
        (cleaned_up, (24, 8, 0, 16, 0, 0, 0), {"L4": (4, 0, 0, 2, 0, 0, 2)}),
        (booked_for_right_away, (24, 8, 0, 8, 0, 0, 8), {}),
        (out_of_the_inventory, (24, 8, 0, 16, 0, 0, 0), {}),
        (smaller, (24, 8, 0, 16, 0, 0, 0), {}),
        (of_another_model, (16, 0, 0, 16, 0, 0, 0), {"H100": (8, 8, 0, 0, 0, 0, 0)}),
        (withdrawn, (24, 8, 0, 0, 16, 0, 0), {"L4": (4, 2, 0, 0, 2, 0, 0)}),
    ],
)
def test_each_gpu_is_counted_once_whatever_happens(
    pool: PoolWorld,
    happens: Callable[[PoolWorld], None],
    a100: tuple[int, ...],
    more: dict[str, tuple[int, ...]],
    state: State,
) -> None:
    """Total, leased, ownerless, free, unhealthy, unknown, reserved."""
    create(pool, ONE), create(pool, TWO, L4)
    happens(pool)
    leases = [leased(ONE, 8, "A100-80GB", state)]
    leases += [leased(TWO, 2, "L4")] if happens is not cleaned_up else []
    seen = place_fleet(pool.provider().census(PLACE), Record(leases, {}, None, pool.now()))
    counts = {
        one.model: (one.total, one.leased, one.ownerless, one.free, one.unhealthy, one.unknown, one.reserved)
        for one in seen.lines
    }
    assert {model: counts[model] for model in ("A100-80GB", *more)} == {"A100-80GB": a100, **more}
    assert all(total == sum(number or 0 for number in parts) for total, *parts in counts.values())
