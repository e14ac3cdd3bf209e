"""The ways into deletion: the end of grace, a loss, an operator's order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import life
from lessor.domain.billing import Span
from lessor.domain.lease import FINAL, IN_USE, Event, Lease, State, describe
from lessor.domain.resource import Condition, Sighting
from tests.builders import (
    ENDS,
    GONE,
    HOURLY,
    LAUNCHED,
    READY,
    a_lease,
    a_sighting,
    a_volume,
    an_instance,
)
from tests.refusing import refusal

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HALF = timedelta(seconds=30)
DELETED = ENDS + 7 * DAY


# --- the way into deletion


def test_grace_is_kept_to_the_second() -> None:
    lease = a_lease(State.STOPPED)
    assert refusal(life.start_deleting, lease, DELETED - timedelta(seconds=1)) == (
        "not-due",
        "gpu-7k3qxa2m is kept until 2026-12-04 17:15 UTC",
    )
    change = life.start_deleting(lease, DELETED, "grace is over")
    assert (change.lease.state, change.lease.deleting_at) == (State.DELETING, DELETED)
    assert change.lease.ending_reason == "grace is over"
    assert change.events == (Event("deleting", DELETED, "lessor", {"why": "grace is over"}),)


def test_what_cannot_be_stopped_is_deleted_when_it_ends() -> None:
    change = life.start_deleting(a_lease(State.ENDING, stoppable=False), ENDS)
    assert (change.lease.state, change.lease.ending_reason) == (State.DELETING, "its end date")


@pytest.mark.parametrize("state", [s for s in State if s not in (State.ENDING, State.STOPPED)])
def test_nothing_in_use_is_deleted_straight_away(state: State) -> None:
    assert refusal(life.start_deleting, a_lease(state), DELETED)[0] == "wrong-state"


# --- taken away from outside


@pytest.mark.parametrize("state", [State.ACTIVE, State.ENDING, State.STOPPED])
def test_what_is_gone_is_cleaned_up_after(state: State) -> None:
    lease = replace(a_lease(state), next_try=DELETED, clean_passes=1, left=("volume:old",))
    seen = ENDS + MINUTE
    change = life.lost(lease, "spot interruption", seen, ENDS + HOUR)
    got = change.lease
    assert (got.state, got.outcome, got.deleting_at) == (State.DELETING, State.CLOSED, ENDS + HOUR)
    assert (got.next_try, got.clean_passes, got.left) == (None, 0, ())
    assert got.ending_reason == "interrupted: spot interruption"
    assert got.spans == (Span(LAUNCHED, ENDS if state is State.STOPPED else seen, HOURLY),)
    data = {"reason": "spot interruption", "at": seen.isoformat()}
    assert change.events == (Event("interrupted", ENDS + HOUR, "lessor", data),)


def test_what_was_only_stopped_from_outside_goes_to_grace() -> None:
    lease = life.warning_undelivered(a_lease(), "slack is down", ENDS, READY).lease
    got = life.lost(lease, "stopped from inside", READY + HOUR, READY + 2 * HOUR, gone=False).lease
    assert (got.state, got.stopped_at, got.next_try) == (State.STOPPED, READY + 2 * HOUR, None)
    assert got.spans == (Span(LAUNCHED, READY + HOUR, HOURLY),)
    assert life.restore(got, ENDS, "U0REQUESTER", READY + 3 * HOUR).lease.restoring


def test_a_loss_seen_after_now_is_a_wrong_clock() -> None:
    assert life.lost(a_lease(), "x", READY + DAY, READY + HOUR).lease.spans[0].end == READY + HOUR


@pytest.mark.parametrize("state", [s for s in State if s not in (*IN_USE, State.ENDING, State.STOPPED)])
def test_what_is_not_there_cannot_be_lost(state: State) -> None:
    assert refusal(life.lost, a_lease(state), "x", ENDS, ENDS)[0] == "wrong-state"


def instances(*conditions: Condition | None) -> tuple[Lease, Sighting]:
    """A lease with an instance for each condition, and a look that shows them so; `None` is not in the look."""
    known = tuple(an_instance(f"i-{n}") for n in range(len(conditions)))
    seen = [replace(r, condition=c) for r, c in zip(known, conditions, strict=True) if c]
    return replace(a_lease(), resources=(*known, a_volume())), a_sighting(*seen, a_volume())


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ((Condition.GONE,), State.DELETING),
        ((Condition.DELETING,), State.DELETING),
        ((None,), State.DELETING),
        ((Condition.STOPPED,), State.STOPPED),
        ((Condition.STOPPED, Condition.GONE), State.STOPPED),
        ((Condition.STOPPED, Condition.GONE, Condition.DELETING), State.STOPPED),
        ((Condition.GONE, None, Condition.DELETING), State.DELETING),
        ((Condition.RUNNING,), State.ACTIVE),
        ((Condition.UNKNOWN,), State.ACTIVE),
        ((Condition.PENDING,), State.ACTIVE),
        ((Condition.STOPPING,), State.ACTIVE),
        ((Condition.GONE, Condition.RUNNING), State.ACTIVE),
        ((Condition.GONE, Condition.UNKNOWN), State.ACTIVE),
        ((), State.ACTIVE),
    ],
)
def test_a_report_is_believed_only_when_nothing_can_still_run(
    conditions: tuple[Condition | None, ...], state: State
) -> None:
    lease, sighting = instances(*conditions)
    change = life.observed(lease, sighting, "spot interruption", READY + HOUR, READY + 2 * HOUR)
    assert change.lease.state is state
    assert len(change.events) == (state is not State.ACTIVE)


def test_an_incomplete_look_proves_nothing() -> None:
    lease, sighting = instances(Condition.GONE)
    unread = replace(sighting, complete=False)
    assert life.observed(lease, unread, "x", READY + HOUR, READY + 2 * HOUR).lease is lease


def test_a_fresh_machine_may_be_missing_for_a_while() -> None:
    lease, sighting = instances(None)
    assert life.observed(lease, sighting, "x", READY, READY + 9 * MINUTE).lease is lease
    assert life.observed(lease, sighting, "x", READY, READY + 10 * MINUTE).lease.state is State.DELETING


@pytest.mark.parametrize("state", [s for s in State if s not in (*IN_USE, State.STOPPED)])
def test_a_report_on_what_neither_runs_nor_rests_changes_nothing(state: State) -> None:
    lease = a_lease(state)
    assert life.observed(lease, a_sighting(), "x", DELETED, DELETED).lease is lease


# --- an operator's order


@pytest.mark.parametrize("state", [State.REQUESTED, State.AWAITING_APPROVAL, State.APPROVED])
def test_cancelling_before_anything_was_tried_is_final_at_once(state: State) -> None:
    change = life.cancel(a_lease(state), "operator", READY, "maintenance")
    lease = change.lease
    assert (lease.state, lease.closed_at, lease.cancelled_by) == (State.WITHDRAWN, READY, "operator")
    assert lease.ending_reason == "cancelled by operator: maintenance"
    assert describe(lease) == "cancelled by operator at 2026-11-27 09:15 UTC"
    data = {"reason": "maintenance", "state": state.value}
    assert change.events == (Event("cancelled", READY, "operator", data),)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (State.PROVISIONING, State.WITHDRAWN),
        (State.WAITING_FOR_CAPACITY, State.WITHDRAWN),
        (State.ACTIVE, State.CLOSED),
        (State.ENDING, State.CLOSED),
        (State.STOPPED, State.CLOSED),
    ],
)
def test_cancelling_what_may_exist_takes_it_down_first(state: State, outcome: State) -> None:
    lease = replace(a_lease(state), next_try=DELETED)
    change = life.cancel(lease, "operator", ENDS)
    got = change.lease
    assert (got.state, got.outcome, got.cancelled_by) == (State.DELETING, outcome, "operator")
    assert (got.deleting_at, got.next_try, got.ending_reason) == (ENDS, None, "cancelled by operator")
    for at in (ENDS, ENDS + HALF):
        got = life.looked(got, a_sighting(*GONE), at).lease
    assert (got.state, describe(got)) == (outcome, "cancelled by operator at 2026-11-27 17:15 UTC")


def test_cancelling_a_restore_takes_it_down_too() -> None:
    lease = life.restore(a_lease(State.STOPPED), ENDS + DAY, "U0REQUESTER", ENDS + HOUR).lease
    got = life.cancel(lease, "operator", ENDS + HOUR).lease
    assert (got.state, got.outcome) == (State.DELETING, State.CLOSED)


@pytest.mark.parametrize("state", [State.DELETING, State.BLOCKED])
def test_cancelling_never_cuts_a_clean_up_short(state: State) -> None:
    lease = a_lease(state)
    change = life.cancel(lease, "operator", DELETED)
    assert change.lease == replace(lease, revision=lease.revision + 1)
    assert [e.type for e in change.events] == ["cancelled"]


@pytest.mark.parametrize("state", sorted(FINAL))
def test_what_is_over_is_not_cancelled(state: State) -> None:
    assert refusal(life.cancel, a_lease(state), "operator", DELETED)[0] == "wrong-state"
