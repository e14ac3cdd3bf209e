"""The book of machines: one decides at a time, over threads and processes, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from lessor.domain.bookings import Booking, Calendar, Phase, Span
from lessor.domain.errors import Refused
from lessor.domain.machines import Fitness, Health, Machine
from lessor.ledger import SqlLedger, open_ledger

NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
DGX = Machine("dgx-1", "A100-80GB", 8)
LAB = Machine("lab-1", "L4", 4, whole=False)


def a_booking(lease_id: str = "gpu-00000001", machine: str = "dgx-1", **changes: object) -> Booking:
    whole = Booking(lease_id, machine, DGX.numbers, NOW, NOW + 8 * HOUR, HOUR, since=NOW, owner="U0REQUESTER")
    return replace(whole, **changes)  # type: ignore[arg-type]


def put(ledger: SqlLedger, *bookings: Booking, place: str = "pool") -> None:
    ledger.settle(place, NOW, lambda _: bookings)


def take(ledger: SqlLedger, lease_id: str, machine: Machine, count: int) -> tuple[Booking, ...]:
    """As a launch does: what is free at that moment, or nothing."""

    def decide(bookings: tuple[Booking, ...]) -> Sequence[Booking]:
        span = Span(NOW, NOW + HOUR)
        fit = Calendar(bookings, NOW).fit([machine], count, span)
        held = fit and Booking(lease_id, machine.name, fit.gpus, NOW, span.until, phase=Phase.HELD, fresh_at=NOW)
        return (held,) if held else ()

    return ledger.settle("pool", NOW, decide)


def test_what_is_stored_comes_back_as_it_was(ledger: SqlLedger) -> None:
    whole = a_booking(
        phase=Phase.STOPPED,
        token="t",
        address="10.0.0.1",
        team="ml",
        cost_center="4711",
        fresh_at=NOW,
        granted_at=NOW + HOUR,
        open_until=NOW + 2 * HOUR,
    )
    put(ledger, whole, a_booking("gpu-00000002", "lab-1", gpus=(1, 3)))
    put(ledger, a_booking("gpu-00000003"), place="elsewhere")
    assert ledger.bookings("pool", NOW) == (whole, a_booking("gpu-00000002", "lab-1", gpus=(1, 3)))


def test_what_ended_before_is_left_out_unless_the_lease_is_asked_for(ledger: SqlLedger) -> None:
    over = a_booking(phase=Phase.ENDED, since=NOW + HOUR, fresh_at=NOW)
    put(ledger, over)
    assert ledger.bookings("pool", NOW + HOUR) == (over,)
    assert ledger.bookings("pool", NOW + 2 * HOUR) == ()
    assert ledger.bookings("pool", NOW + 2 * HOUR, "gpu-00000001") == (over,)


def test_what_was_given_up_before_anything_was_taken_is_dropped(ledger: SqlLedger) -> None:
    put(ledger, a_booking(), a_booking("gpu-00000002", "lab-1"))
    put(ledger, a_booking(phase=Phase.ENDED))
    assert [one.lease_id for one in ledger.bookings("pool", NOW, "gpu-00000001")] == ["gpu-00000002"]


def test_giving_up_a_reservation_leaves_what_is_held(ledger: SqlLedger) -> None:
    held = a_booking(machine="dgx-2", phase=Phase.HELD, fresh_at=NOW)
    put(ledger, a_booking(), held, a_booking("gpu-00000002", "dgx-3"))
    for _ in range(2):
        ledger.unbook("gpu-00000001")
    assert [(one.lease_id, one.machine) for one in ledger.bookings("pool", NOW)] == [
        ("gpu-00000001", "dgx-2"),
        ("gpu-00000002", "dgx-3"),
    ]


def test_what_a_decision_raises_leaves_all_as_it_was(ledger: SqlLedger) -> None:
    put(ledger, a_booking())

    def refuse(bookings: tuple[Booking, ...]) -> Sequence[Booking]:
        assert bookings == (a_booking(),)
        raise Refused("booked", "no")

    with pytest.raises(Refused):
        ledger.settle("pool", NOW, refuse)
    assert ledger.bookings("pool", NOW) == (a_booking(),)


def test_the_last_machine_goes_to_one_of_many_workers(ledger_url: str) -> None:
    workers = [open_ledger(ledger_url) for _ in range(4)]
    start = Barrier(8)

    def race(number: int) -> int:
        start.wait()
        return len(take(workers[number % 4], f"gpu-{number:08d}", DGX, 8))

    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(race, range(8)))
    assert sum(won) == 1
    assert len(workers[0].bookings("pool", NOW)) == 1
    for worker in workers:
        worker.close()


def test_gpus_of_one_machine_are_each_taken_once(ledger_url: str) -> None:
    workers = [open_ledger(ledger_url) for _ in range(4)]
    start = Barrier(8)

    def race(number: int) -> int:
        start.wait()
        return len(take(workers[number % 4], f"gpu-{number:08d}", LAB, 1))

    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(race, range(8)))
    assert sum(won) == 4
    assert sorted(gpu for one in workers[0].bookings("pool", NOW) for gpu in one.gpus) == [0, 1, 2, 3]
    for worker in workers:
        worker.close()


def test_the_latest_check_of_each_machine_is_kept(ledger: SqlLedger) -> None:
    first = Health("dgx-1", Fitness.FIT, NOW, NOW)
    later = Health("dgx-1", Fitness.UNFIT, NOW + HOUR, NOW + HOUR, "off").after(first)
    still = Health("dgx-1", Fitness.UNFIT, NOW + 2 * HOUR, NOW + 2 * HOUR, "off").after(later)
    other = Health("lab-1", Fitness.UNKNOWN, NOW, NOW, "cannot be started")
    ledger.checked("pool", [first, other])
    ledger.checked("pool", [later])
    ledger.checked("pool", [still])
    assert ledger.health("pool") == (Health("dgx-1", Fitness.UNFIT, NOW + 2 * HOUR, NOW + HOUR, "off"), other)
    assert ledger.health("elsewhere") == ()
