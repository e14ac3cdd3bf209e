"""Machines that several workers want at the same moment, on each kind of database: nobody gets what another has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lessor.domain.bookings import Phase
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.request import Need
from lessor.ledger import open_ledger
from lessor.ports import NoCapacityError
from tests.providers.attempts import silent
from tests.providers.aws_world import together
from tests.providers.pool_fixtures import FOUR, GRACE, HOUR, ONE, THREE, TWO, a_pool_lease, create
from tests.providers.pool_world import PLACE, START, PoolWorld

DGX = Need(instance_type="dgx-1", count=8)
EIGHT_HOURS = 8 * HOUR


@pytest.fixture
def workers(ledger_url: str, tmp_path: Path) -> Iterator[list[PoolWorld]]:
    """Three workers with a connection each to one ledger, and one pool of machines."""
    ledgers = [open_ledger(ledger_url) for _ in range(3)]
    first = PoolWorld(tmp_path, ledgers[0], quick=True)
    others = [_beside(first, ledger) for ledger in ledgers[1:]]
    yield [first, *others]
    for ledger in ledgers:
        ledger.close()


def _beside(first: PoolWorld, ledger: object) -> PoolWorld:
    (made := object.__new__(PoolWorld)).__dict__.update(first.__dict__)
    made.ledger = ledger  # type: ignore[assignment]
    made.book = replace(first.book, ledger=ledger)  # type: ignore[arg-type]
    return made


def launched(worker: PoolWorld, lease_id: str, need: Need = DGX) -> object:
    order, provider = worker.order(lease_id, need), worker.provider()
    return provider.launch(order, provider.candidates(order)[0], silent)


def holders(worker: PoolWorld, machine: str = "dgx-1") -> list[tuple[str, Phase]]:
    found = worker.ledger.bookings(PLACE.name, worker.now())
    return [(one.lease_id, one.phase) for one in found if one.machine == machine and one.phase is not Phase.ENDED]


def test_a_stopped_lease_that_starts_keeps_its_machine_from_all_that_are_launched_then(
    workers: list[PoolWorld],
) -> None:
    create(workers[0], ONE, DGX)
    workers[0].provider().stop(ONE, PLACE, silent)
    found = together(
        lambda: workers[0].provider().start(ONE, PLACE, silent),
        lambda: launched(workers[1], TWO),
        lambda: launched(workers[2], THREE),
    )
    assert [type(one) for one in found[1:]] == [NoCapacityError] * 2
    assert found[0] == START
    assert holders(workers[0]) == [(ONE, Phase.HELD)]


def test_after_its_end_and_grace_a_stopped_lease_still_has_its_machine_until_it_is_given_back(
    workers: list[PoolWorld],
) -> None:
    """What is not proven to be over is taken by nobody, also when its start and their launches come together."""
    create(workers[0], ONE, DGX)
    workers[0].provider().stop(ONE, PLACE, silent)
    for worker in workers:
        worker.advance(EIGHT_HOURS + 2 * GRACE + HOUR)
    found = together(
        lambda: workers[0].provider().start(ONE, PLACE, silent),
        lambda: launched(workers[1], TWO),
        lambda: launched(workers[2], THREE),
    )
    assert [type(one) for one in found[1:]] == [NoCapacityError] * 2
    assert holders(workers[0]) == [(ONE, Phase.HELD)]


def test_of_a_start_and_a_deletion_at_the_same_time_nobody_is_left_inside(workers: list[PoolWorld]) -> None:
    create(workers[0], ONE, DGX)
    workers[0].provider().stop(ONE, PLACE, silent)
    together(
        lambda: workers[0].provider().start(ONE, PLACE, silent),
        lambda: workers[1].provider().delete(ONE, PLACE, (), silent),
    )
    workers[2].provider().delete(ONE, PLACE, (), silent)
    assert (workers[0].open_to("dgx-1"), holders(workers[0])) == ({}, [])


def test_the_time_of_a_lease_that_is_asked_back_goes_to_it_or_to_a_reservation(workers: list[PoolWorld]) -> None:
    """Asked back until later than it was kept, while others reserve that time."""
    create(workers[0], ONE, DGX)
    back = replace(a_pool_lease(workers[0], ONE, DGX), state=State.STOPPED, ready_at=START)
    longer = replace(back, ends_at=START + 3 * EIGHT_HOURS)
    later = START + 2 * EIGHT_HOURS

    def reserve(worker: PoolWorld, lease_id: str) -> object:
        lease = a_pool_lease(worker, lease_id, DGX, start=later, duration=HOUR)
        return worker.provider().book(lease, START)

    found = together(
        lambda: workers[0].provider().prolong(longer, START),
        lambda: reserve(workers[1], TWO),
        lambda: reserve(workers[2], FOUR),
    )
    refused = [one for one in found if isinstance(one, Refused)]
    assert [one.code for one in refused] == ["booked"] * 2
    (mine,) = workers[0].bookings(ONE)
    others = [lease for lease, phase in holders(workers[0]) if phase is Phase.BOOKED]
    assert (mine.ends == longer.ends_at, len(others)) in ((True, 0), (False, 1))
