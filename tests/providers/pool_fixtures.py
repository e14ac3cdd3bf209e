"""Leases of machines for tests: the pool as a fixture, and the ways to a lease in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.domain.lease import Lease, State
from lessor.domain.provisioning import Order, Provisioned
from lessor.domain.request import Market, Need
from lessor.domain.resource import Condition
from lessor.ledger import open_ledger
from tests.builders import a_lease, a_request
from tests.providers.attempts import silent
from tests.providers.pool_world import PLACE, PoolWorld

ONE, TWO, THREE, FOUR = (f"gpu-0000000{n}" for n in range(1, 5))
HOUR = timedelta(hours=1)
FULL = Need("A100-80GB", 8)
L4 = Need("L4", 2)
GRACE = timedelta(hours=1)


@pytest.fixture
def pool(sqlite_url: str, tmp_path: Path) -> Iterator[PoolWorld]:
    """A pool in which nothing is leased yet."""
    ledger = open_ledger(sqlite_url)
    yield PoolWorld(tmp_path, ledger)
    ledger.close()


def create(pool: PoolWorld, lease_id: str, need: Need = FULL, **changes: object) -> Provisioned:
    return begun(pool, pool.order(lease_id, need, **changes))


def begun(pool: PoolWorld, order: Order) -> Provisioned:
    provider = pool.provider()
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    return provider.await_usable(order, launched, silent)


def a_pool_lease(pool: PoolWorld, lease_id: str, need: Need = FULL, **changes: object) -> Lease:
    request = a_request(need=need, place=PLACE, **changes)
    quote = pool.provider().quote(need, PLACE, Market.ON_DEMAND, pool.now())
    approved = replace(a_lease(State.APPROVED), id=lease_id, request=request, quote=quote)
    return replace(approved, terms=replace(approved.terms, grace=GRACE))


def conditions(pool: PoolWorld, lease_id: str) -> list[tuple[str, Condition]]:
    return [(one.id, one.condition) for one in pool.provider().look(lease_id, PLACE).resources]
