"""What a reading of a place means for the leases that are on record there."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lessor.domain import life, sweep
from lessor.domain.lease import FINAL, IN_USE, NOTHING_YET, Event, Lease, State, describe
from lessor.domain.resource import Condition, Resource, Tagged
from lessor.domain.sweep import Away, Comparison, compare
from tests.builders import ENDS, LEASE_ID, READY, a_lease, a_sighting, an_instance

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LATER = READY + HOUR
REF, OTHER = "instance:i-0aaa", "instance:i-0bbb"


def tagged(
    condition: Condition, *, of: Resource | None = None, lease: str = LEASE_ID, since: datetime | None = None
) -> Tagged:
    return Tagged(
        **vars(replace(of or an_instance(), condition=condition, reason="why")), lease=lease, changed_at=since
    )


def two_machines() -> Lease:
    lease = a_lease()
    return replace(lease, resources=(*lease.resources, an_instance("i-0bbb")))


def many(count: int) -> list[Lease]:
    lease = a_lease()
    return [replace(lease, id=f"gpu-{n:08d}", resources=(an_instance(f"i-{n:04x}"),)) for n in range(count)]


@pytest.mark.parametrize("condition", [Condition.GONE, Condition.DELETING, Condition.STOPPED])
def test_a_machine_seen_away_is_told_with_the_providers_own_time(condition: Condition) -> None:
    since = LATER - 3 * MINUTE
    seen = compare([a_lease()], [tagged(condition, since=since)], {}, LATER)
    assert seen == Comparison((Away(LEASE_ID, "i-0aaa", condition, "why", since),), {}, "")
    assert compare([a_lease()], [tagged(condition)], {}, LATER).away[0].at == LATER
    assert compare([a_lease()], [tagged(condition, since=LATER + HOUR)], {}, LATER).away[0].at == LATER


@pytest.mark.parametrize("condition", [Condition.PENDING, Condition.RUNNING, Condition.STOPPING, Condition.UNKNOWN])
def test_a_machine_that_runs_or_is_not_known_to_be_away_is_left_alone(condition: Condition) -> None:
    assert compare([a_lease()], [tagged(condition)], {REF: 2}, LATER) == Comparison()


@pytest.mark.parametrize("state", [s for s in State if s not in (*IN_USE, State.STOPPED)])
def test_only_leases_that_run_or_rest_are_judged(state: State) -> None:
    assert compare([a_lease(state)], [tagged(Condition.GONE)], {}, LATER) == Comparison()
    assert compare([a_lease(state)], [tagged(Condition.RUNNING)], {}, LATER) == Comparison()


def test_one_that_is_only_being_stopped_is_not_judged() -> None:
    stopping = replace(a_lease(), state=State.SUSPENDED, suspended_at=None)
    assert compare([stopping], [tagged(Condition.GONE)], {}, LATER) == Comparison()
    assert compare([stopping], [tagged(Condition.RUNNING)], {}, LATER) == Comparison()


def resting() -> list[Lease]:
    paused = replace(a_lease(), state=State.SUSPENDED, suspended_at=READY + 10 * MINUTE)
    return [paused, replace(a_lease(), state=State.STOPPED, stopped_at=READY + 10 * MINUTE)]


@pytest.mark.parametrize("lease", resting(), ids=["suspended", "in grace"])
def test_a_resting_machine_that_runs_was_started_by_somebody_else(lease: Lease) -> None:
    since = READY + 20 * MINUTE
    awake = Away(LEASE_ID, "i-0aaa", Condition.RUNNING, "why", since)
    assert compare([lease], [tagged(Condition.RUNNING, since=since)], {}, LATER) == Comparison(awake=(awake,))
    before = tagged(Condition.RUNNING, since=READY)
    assert compare([lease], [before], {}, LATER) == Comparison(), "what ran before the stop is an old picture of it"
    assert compare([lease], [tagged(Condition.RUNNING)], {}, LATER).awake[0].at == LATER


@pytest.mark.parametrize("lease", resting(), ids=["suspended", "in grace"])
def test_a_resting_machine_is_stopped_by_intention_and_gone_by_somebody_else(lease: Lease) -> None:
    for condition in (Condition.STOPPED, Condition.STOPPING, Condition.PENDING, Condition.UNKNOWN):
        assert compare([lease], [tagged(condition, since=LATER)], {}, LATER) == Comparison()
    gone = Away(LEASE_ID, "i-0aaa", Condition.GONE, "why", LATER)
    assert compare([lease], [tagged(Condition.GONE, since=LATER)], {}, LATER) == Comparison((gone,))


def test_a_lease_with_a_machine_left_goes_on() -> None:
    lost = [tagged(Condition.GONE), tagged(Condition.RUNNING, of=an_instance("i-0bbb"))]
    assert compare([two_machines()], lost, {}, LATER).away == ()
    both = [tagged(Condition.GONE, since=LATER - HOUR), tagged(Condition.STOPPED, of=an_instance("i-0bbb"))]
    assert compare([two_machines()], both, {}, LATER).away == (
        Away(LEASE_ID, "i-0bbb", Condition.STOPPED, "why", LATER),
    )


def test_the_same_machine_with_the_tag_of_another_lease_is_not_this_lease() -> None:
    assert compare([a_lease()], [tagged(Condition.GONE, lease="gpu-00000001")], {}, LATER).missing == {REF: 1}


def test_missing_is_believed_in_the_third_reading_in_a_row_only() -> None:
    missing: dict[str, int] = {}
    for count in (1, 2):
        seen = compare([a_lease()], [], missing, LATER)
        missing = dict(seen.missing)
        assert seen == Comparison((), {REF: count}, "")
    shown = compare([a_lease()], [tagged(Condition.RUNNING)], missing, LATER)
    assert shown.missing == {}
    third = compare([a_lease()], [], missing, LATER)
    why = "not shown by aws in 3 readings in a row"
    assert third == Comparison((Away(LEASE_ID, "i-0aaa", Condition.GONE, why, LATER),), {REF: 3}, "")


def test_missing_is_not_believed_of_a_machine_of_the_last_ten_minutes() -> None:
    assert compare([a_lease()], [], {REF: 9}, READY + 10 * MINUTE - MINUTE / 60).away == ()
    assert len(compare([a_lease()], [], {REF: 9}, READY + 10 * MINUTE).away) == 1
    young = replace(a_lease(), resources=(an_instance(created_at=LATER - 9 * MINUTE),))
    assert compare([young], [], {REF: 9}, LATER).away == ()


def test_the_brake_holds_when_most_leases_vanish_at_once() -> None:
    leases = many(9)
    missing = {lease.resources[0].ref: 2 for lease in leases}
    there = [tagged(Condition.RUNNING, of=one.resources[0], lease=one.id) for one in leases[5:]]
    seen = compare(leases, there, missing, LATER)
    assert seen.away == ()
    assert seen.brake == (
        "5 of 9 leases are not shown at all any more; nothing was done about them, an administrator has to look at this"
    )
    assert set(seen.missing.values()) == {3}
    fewer = compare(
        leases, [*there, tagged(Condition.RUNNING, of=leases[4].resources[0], lease=leases[4].id)], missing, LATER
    )
    assert ([one.lease_id for one in fewer.away], fewer.brake) == ([lease.id for lease in leases[:4]], "")


def test_the_brake_does_not_hold_back_what_was_seen() -> None:
    leases = many(9)
    missing = {lease.resources[0].ref: 2 for lease in leases}
    seen = compare(leases, [tagged(Condition.GONE, of=leases[0].resources[0], lease=leases[0].id)], missing, LATER)
    assert [one.lease_id for one in seen.away] == [leases[0].id]
    assert seen.brake.startswith("8 of 9 leases")


@pytest.mark.parametrize("state", sorted(FINAL))
def test_left_over_is_ours_by_tag_and_by_record_and_not_from_a_moment_ago(state: State) -> None:
    lease = a_lease(state)
    assert lease.closed_at is not None
    at, known = lease.closed_at + 10 * MINUTE, [an_instance()]
    there = tagged(Condition.RUNNING)
    assert sweep.left_over(lease, [there], known, (), at) == (there,)
    assert sweep.left_over(lease, [there], known, (), at - MINUTE) == ()
    assert sweep.left_over(lease, [there], (), (), at) == ()
    assert sweep.left_over(lease, [replace(there, token="t1")], (), ("t1",), at) == (replace(there, token="t1"),)
    assert sweep.left_over(lease, [there], (), ("",), at) == ()
    assert sweep.left_over(lease, [replace(there, lease="gpu-00000001")], known, (), at) == ()
    for condition in (Condition.GONE, Condition.DELETING, Condition.UNKNOWN):
        assert sweep.left_over(lease, [tagged(condition)], known, (), at) == ()


@pytest.mark.parametrize("state", [s for s in State if s not in FINAL])
def test_nothing_of_an_open_lease_is_left_over(state: State) -> None:
    assert sweep.left_over(a_lease(state), [tagged(Condition.RUNNING)], [an_instance()], (), ENDS + 100 * HOUR) == ()


def test_a_lease_is_ripe_ten_minutes_after_it_was_asked_for() -> None:
    lease = a_lease(State.REQUESTED)
    assert not sweep.ripe(lease, lease.requested_at + 10 * MINUTE - MINUTE / 60)
    assert sweep.ripe(lease, lease.requested_at + 10 * MINUTE)
    assert not sweep.ripe(a_lease(State.CLOSED), ENDS + 1000 * HOUR)


@pytest.mark.parametrize("state", sorted(NOTHING_YET))
def test_a_terminated_request_is_closed_at_once(state: State) -> None:
    change = life.resumed(a_lease(state), "an administrator ended its workflow", LATER)
    got = change.lease
    assert (got.state, got.closed_at, describe(got)) == (State.CLOSED, LATER, "ended (terminated)")
    assert got.ending_reason == "terminated: an administrator ended its workflow"
    data = {"why": "an administrator ended its workflow", "state": state.value}
    assert change.events == (Event("terminated", LATER, "lessor", data),)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (State.PROVISIONING, State.CLOSED),
        (State.WAITING_FOR_CAPACITY, State.CLOSED),
        (State.ACTIVE, State.CLOSED),
        (State.ENDING, State.CLOSED),
        (State.STOPPED, State.CLOSED),
        (State.DELETING, State.CLOSED),
        (State.BLOCKED, State.CLOSED),
    ],
)
def test_a_terminated_lease_is_taken_down_first(state: State, outcome: State) -> None:
    got = life.resumed(a_lease(state), "lost", LATER).lease
    assert (got.state, got.outcome, got.deleting_at, got.next_try) == (State.DELETING, outcome, LATER, None)
    for minutes in (1, 2):
        at = LATER + minutes * MINUTE
        got = life.looked(got, a_sighting(at=at), at).lease
    assert (got.state, got.ending_reason, describe(got)) == (outcome, "terminated: lost", "ended (terminated)")


def test_a_failed_request_stays_failed_when_its_clean_up_was_terminated() -> None:
    failing = life.fail(a_lease(State.PROVISIONING), "access denied", LATER).lease
    assert life.resumed(failing, "lost", LATER).lease.outcome is State.FAILED


@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_lease_that_left_something_is_deleted_again_and_ends_as_it_had(state: State) -> None:
    before = a_lease(state)
    change = life.resumed(before, "something is still there", LATER)
    got = change.lease
    assert (got.state, got.closed_at, got.proof, got.ending_reason) == (
        State.DELETING,
        None,
        "",
        before.ending_reason,
    )
    assert change.events == (
        Event("left-over-found", LATER, "lessor", {"why": "something is still there", "state": state.value}),
    )
    for minutes in (1, 2):
        at = LATER + minutes * MINUTE
        got = life.looked(got, a_sighting(at=at), at).lease
    assert got.state is state
