"""Machines that are booked for later, later ends, machines that are unfit, and what a census counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain.bookings import SLACK, Phase
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from lessor.domain.machines import PASSED_ONCE, Fitness
from lessor.domain.request import Need
from lessor.domain.resource import Condition
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.machines.running import Ran
from tests.providers.attempts import silent
from tests.providers.pool_fixtures import FOUR, GRACE, HOUR, L4, ONE, THREE, TWO, a_pool_lease, create
from tests.providers.pool_world import MACHINES, PLACE, START, PoolWorld


def test_an_unfit_machine_is_given_to_nobody_until_it_is_well(pool: PoolWorld) -> None:
    pool.ill["dgx-1"] = "a fan stands still"
    assert [one.id for one in create(pool, ONE).resources] == ["dgx-2"]
    pool.ill |= {"dgx-2": "x", "dgx-3": "x"}
    with pytest.raises(NoCapacityError, match="dgx-1, dgx-3 did not pass the health check"):
        create(pool, TWO)
    pool.ill.clear()
    with pytest.raises(NoCapacityError):
        create(pool, TWO)
    checked_again(pool)
    with pytest.raises(NoCapacityError, match="dgx-1, dgx-3 did not pass the health check"):
        create(pool, TWO)
    checked_again(pool)
    assert [one.id for one in create(pool, TWO).resources] == ["dgx-1"]


def checked_again(pool: PoolWorld) -> str:
    """What is wrong with dgx-1 by its next check."""
    pool.advance(timedelta(minutes=5))
    return next((one.fault for one in pool.provider().conditions(PLACE) if one.id == "dgx-1"), "")


def test_a_machine_that_comes_and_goes_stays_unfit_until_it_has_passed_twice(pool: PoolWorld) -> None:
    create(pool, ONE)
    found = []
    for words in ("a fan stands still", None, "a fan stands still", None, None):
        pool.ill = {"dgx-1": words} if words else {}
        found.append(checked_again(pool))
        assert pool.provider().look(ONE, PLACE).resources[0].fault == found[-1], "the lease sees the same"
    assert found == ["a fan stands still", PASSED_ONCE, "a fan stands still", PASSED_ONCE, ""]


def test_a_machine_that_left_the_inventory_is_not_told_of_for_ever(pool: PoolWorld) -> None:
    pool.ill["old-1"] = "off"
    assert [one.id for one in pool.provider().conditions(PLACE)] == ["old-1"]
    pool.broken["health"] = Ran(None, problem="health cannot be started: no", started=False)
    pool.advance(timedelta(minutes=5))
    pool.provider().conditions(PLACE)
    pool.machines = [one for one in pool.machines if one.name not in ("old-1", "dgx-3")]
    assert pool.provider().conditions(PLACE) == ()
    assert not [note for note in pool.provider().census(PLACE).notes if "dgx-3" in note]
    assert [note for note in pool.provider().census(PLACE).notes if "dgx-2" in note]


def test_a_check_that_cannot_be_made_does_not_say_that_a_machine_is_well(pool: PoolWorld) -> None:
    """Law 1."""
    create(pool, ONE)
    pool.ill["dgx-1"] = "a fan stands still"
    assert checked_again(pool) == "a fan stands still"
    pool.broken["health"] = Ran(None, problem="health cannot be started: no", started=False)
    assert checked_again(pool) == "a fan stands still"
    assert {one.fitness for one in pool.ledger.health(PLACE.name) if one.machine != "dgx-1"} == {Fitness.UNKNOWN}


def test_each_machine_is_looked_at_once_in_its_time_and_the_lease_on_it_is_seen_with_it(pool: PoolWorld) -> None:
    create(pool, ONE, Need(instance_type="dgx-2", count=8))
    pool.ill["dgx-2"] = "uncorrected memory errors on GPU 3"
    pool.ill["old-1"] = "off"
    pool.advance(timedelta(minutes=5))
    seen = {one.id: (one.lease, one.condition, one.fault) for one in pool.provider().conditions(PLACE)}
    assert seen == {
        "dgx-2": (ONE, Condition.RUNNING, "uncorrected memory errors on GPU 3"),
        "old-1": ("", Condition.STOPPED, "off"),
    }
    assert pool.provider().look(ONE, PLACE).resources[0].fault == seen["dgx-2"][2]
    pool.calls.clear()
    pool.provider().conditions(PLACE)
    assert [call for call in pool.calls if call.startswith("health")] == []
    pool.advance(timedelta(minutes=5))
    pool.provider().conditions(PLACE)
    assert len([call for call in pool.calls if call.startswith("health")]) == len(MACHINES)


def test_since_when_a_machine_is_unfit_is_kept_and_a_check_that_cannot_start_says_nothing(pool: PoolWorld) -> None:
    pool.ill["old-1"] = "off"
    pool.provider().conditions(PLACE)
    pool.advance(HOUR)
    pool.provider().conditions(PLACE)
    found = {one.machine: one for one in pool.ledger.health(PLACE.name)}
    assert (found["old-1"].fitness, found["old-1"].since, found["old-1"].at) == (Fitness.UNFIT, START, START + HOUR)
    pool.broken["health"] = Ran(None, problem="health cannot be started: no", started=False)
    pool.advance(HOUR)
    assert [one.id for one in pool.provider().conditions(PLACE)] == ["old-1"]
    found = {one.machine: one for one in pool.ledger.health(PLACE.name)}
    assert {one.fitness for one in found.values() if one.machine != "old-1"} == {Fitness.UNKNOWN}
    assert (found["old-1"].fitness, found["old-1"].since) == (Fitness.UNFIT, START)
    with pytest.raises(NoCapacityError):
        create(pool, ONE)


def test_a_reservation_keeps_its_machine_from_the_approval_on(pool: PoolWorld) -> None:
    start = START + 24 * HOUR
    named = Need(instance_type="dgx-1", count=8)
    lease = a_pool_lease(pool, ONE, named, start=start, duration=4 * HOUR)
    assert pool.provider().book(lease, START) is True
    assert pool.provider().book(lease, START) is False
    (booked,) = pool.bookings(ONE)
    assert (booked.begins, booked.ends, booked.keep) == (start, start + 4 * HOUR + SLACK, GRACE)
    assert pool.provider().look(ONE, PLACE).clean
    with pytest.raises(Refused) as refusal:
        pool.provider().book(a_pool_lease(pool, TWO, named, start=start + HOUR, duration=HOUR), START)
    assert refusal.value.code == "booked"
    assert "dgx-1 by gpu-00000001 until 2026-11-29 14:15 UTC. It is free from 2026-11-29 14:25 UTC on" in str(
        refusal.value
    )
    assert pool.bookings(TWO) == []


def test_what_is_booked_is_what_is_launched_and_nobody_gets_it_before(pool: PoolWorld) -> None:
    named = Need(instance_type="dgx-1", count=8)
    pool.provider().book(a_pool_lease(pool, ONE, named, start=START + 2 * HOUR, duration=HOUR), START)
    with pytest.raises(NoCapacityError):
        create(pool, TWO, named, duration=HOUR)
    made = create(pool, TWO, named, duration=timedelta(minutes=30))
    pool.provider().delete(TWO, PLACE, made.resources, silent)
    pool.advance(2 * HOUR)
    create(pool, ONE, named, start=START + 2 * HOUR, duration=HOUR)
    (held,) = pool.bookings(ONE)
    assert (held.phase, held.begins, held.keep) == (Phase.HELD, START + 2 * HOUR, GRACE)


def test_a_reservation_right_before_another_gets_its_machine_though_it_begins_a_moment_late(pool: PoolWorld) -> None:
    named = Need(instance_type="dgx-1", count=8)
    first = a_pool_lease(pool, ONE, named, start=START + HOUR, duration=HOUR)
    pool.provider().book(first, START)
    next_start = START + 2 * HOUR + SLACK + GRACE + timedelta(minutes=10)
    pool.provider().book(a_pool_lease(pool, TWO, named, start=next_start, duration=HOUR), START)
    pool.advance(HOUR + timedelta(seconds=5))
    order = pool.order(ONE, named, start=START + HOUR, duration=HOUR)
    provider = pool.provider()
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    pool.advance(timedelta(minutes=3))
    provider.await_usable(order, launched, silent)
    assert [(one.machine, one.ends) for one in pool.bookings(ONE)] == [("dgx-1", START + 2 * HOUR + SLACK)]


def test_a_reservation_gets_another_machine_when_its_own_is_unfit_then(pool: PoolWorld) -> None:
    lease = a_pool_lease(pool, ONE, start=START + HOUR, duration=HOUR)
    pool.provider().book(lease, START)
    assert [one.machine for one in pool.bookings(ONE)] == ["dgx-1"]
    pool.ill["dgx-1"] = "off"
    pool.advance(HOUR)
    create(pool, ONE, start=START + HOUR, duration=HOUR)
    assert [(one.machine, one.phase) for one in pool.bookings(ONE)] == [("dgx-2", Phase.HELD)]


def test_gpus_that_are_not_there_any_more_are_not_given_out(pool: PoolWorld) -> None:
    """Two GPUs were taken out of a shared machine between the approval and the begin."""
    create(pool, ONE, L4, duration=HOUR)
    start = START + 24 * HOUR
    two = Need("L4", 2)
    for lease_id in (TWO, THREE):
        assert pool.provider().book(a_pool_lease(pool, lease_id, two, start=start, duration=HOUR), START)
    assert [one.gpus for one in pool.bookings(THREE)] == [(2, 3)]
    order = pool.order(THREE, two, start=start, duration=HOUR)
    pool.provider().delete(ONE, PLACE, (), silent)
    pool.provider().delete(TWO, PLACE, (), silent)
    pool.machines = [replace(one, gpus=2) if one.name == "lab-1" else one for one in pool.machines]
    pool.now_at = start
    pool.provider().launch(order, pool.provider().candidates(order)[0], silent)
    assert [(one.machine, one.gpus) for one in pool.bookings(THREE)] == [("lab-1", (0, 1))]


def test_a_reservation_waits_for_whoever_is_not_out_in_time(pool: PoolWorld) -> None:
    named = Need(instance_type="dgx-1", count=8)
    create(pool, ONE, named, duration=HOUR)
    pool.provider().book(a_pool_lease(pool, TWO, named, start=START + 4 * HOUR, duration=HOUR), START)
    pool.broken["revoke"] = Ran(1)
    pool.advance(4 * HOUR)
    with pytest.raises(RetryableError):
        pool.provider().delete(ONE, PLACE, (), silent)
    with pytest.raises(NoCapacityError):
        create(pool, TWO, named, start=START + 4 * HOUR, duration=HOUR)
    pool.broken.clear()
    pool.provider().delete(ONE, PLACE, (), silent)
    pool.advance(timedelta(minutes=10))
    assert create(pool, TWO, named, start=START + 4 * HOUR, duration=HOUR).resources[0].id == "dgx-1"


def test_a_request_without_a_start_waits_where_a_reservation_is_refused(pool: PoolWorld) -> None:
    for lease_id in (ONE, TWO, THREE):
        create(pool, lease_id)
    assert pool.provider().book(a_pool_lease(pool, FOUR), START) is False
    assert pool.bookings(FOUR) == []


def test_a_later_end_is_taken_or_refused_with_words_before_it_is_granted(pool: PoolWorld) -> None:
    named = Need(instance_type="dgx-1", count=8)
    create(pool, ONE, named, duration=HOUR)
    pool.provider().book(a_pool_lease(pool, TWO, named, start=START + 6 * HOUR, duration=HOUR), START)
    lease = replace(a_pool_lease(pool, ONE, named), state=State.ACTIVE, ready_at=START)
    latest = START + 6 * HOUR - timedelta(minutes=10) - GRACE
    with pytest.raises(Refused, match="dgx-1 is booked for gpu-00000002 from 2026-11-28 15:00 UTC on"):
        pool.provider().prolong(replace(lease, ends_at=latest + timedelta(minutes=1)), START)
    pool.provider().prolong(replace(lease, ends_at=latest), START)
    assert [one.ends for one in pool.bookings(ONE)] == [latest]
    with pytest.raises(PermanentError, match="dgx-1 is booked for gpu-00000002"):
        pool.provider().set_end(ONE, PLACE, latest + timedelta(minutes=1))


def test_a_booking_follows_its_lease_back_and_is_given_up_with_it(pool: PoolWorld) -> None:
    create(pool, ONE)
    lease = replace(a_pool_lease(pool, ONE), state=State.ACTIVE, ready_at=START, ends_at=START + 2 * HOUR)
    pool.provider().follow(lease, START)
    assert [(one.ends, one.keep) for one in pool.bookings(ONE)] == [(START + 2 * HOUR, GRACE)]
    waiting = a_pool_lease(pool, TWO, start=START + HOUR, duration=HOUR)
    pool.provider().book(waiting, START)
    pool.provider().follow(replace(waiting, state=State.WITHDRAWN), START)
    assert pool.bookings(TWO) == []


def test_a_lease_that_becomes_usable_too_late_for_the_next_booking_is_undone(pool: PoolWorld) -> None:
    named = Need(instance_type="dgx-1", count=8)
    order = pool.order(ONE, named, duration=HOUR)
    provider = pool.provider()
    launched = provider.launch(order, provider.candidates(order)[0], silent)
    pool.provider().book(a_pool_lease(pool, TWO, named, start=START + 3 * HOUR, duration=HOUR), START)
    pool.advance(HOUR)
    with pytest.raises(NoCapacityError, match="too early for what was asked for"):
        provider.await_usable(order, launched, silent)
    assert pool.existing(ONE) == []
