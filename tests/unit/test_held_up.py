"""A deletion that something holds up is told to its owner at the first look, once, and seen by everybody who looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Notice
from lessor.domain import takedown
from lessor.domain.lease import Change, Lease, State
from lessor.domain.resource import Condition, Kind, Sighting
from tests.builders import READY, a_lease, a_request, a_sighting, a_volume
from workflows.notices import notices

NOW = READY + timedelta(days=8)
MINUTE = timedelta(minutes=1)
WORDS = "namespace gpu-7k3qxa2m is held by its finalizers example.com/hold. Nothing was forced"


def going() -> Lease:
    return replace(a_lease(State.DELETING), deleting_at=NOW)


def stuck(words: str = WORDS) -> Sighting:
    return replace(a_sighting(a_volume()), problem=words)


def look(lease: Lease, sighting: Sighting, after: timedelta = MINUTE) -> Change:
    return takedown.looked(lease, sighting, NOW + after)


def test_what_holds_it_is_told_at_the_first_look_and_tried_again_as_before() -> None:
    change = look(going(), stuck())
    (event,) = change.events
    left = change.lease.left
    assert (event.type, event.at, event.data) == ("held-up", NOW + MINUTE, {"left": left[0], "problem": WORDS})
    assert (change.lease.state, change.lease.held) == (State.DELETING, WORDS)
    assert change.lease.next_try == NOW + MINUTE + change.lease.terms.verify_interval
    assert notices(change.lease, change.events) == (Notice.HELD_UP,)


def test_it_is_told_once_however_often_the_words_change() -> None:
    held = look(going(), stuck()).lease
    again = look(held, stuck("2 pods are left"), 2 * MINUTE)
    assert (again.events, again.lease.held) == ((), "2 pods are left")


@pytest.mark.parametrize(
    "sighting",
    [
        replace(stuck(), problem=""),
        replace(stuck(), complete=False),
        replace(stuck(), kept_until=NOW + timedelta(days=1)),
    ],
)
def test_what_only_takes_its_time_is_unread_or_kept_on_purpose_is_not_held_up(sighting: Sighting) -> None:
    assert "held-up" not in [event.type for event in look(going(), sighting).events]


def test_administrators_are_called_for_when_it_stays() -> None:
    held = look(going(), stuck()).lease
    late = look(held, stuck(), held.terms.cleanup_limit)
    assert [event.type for event in late.events] == ["blocked"]
    assert (late.lease.problem, late.lease.held) == (WORDS, "")


def test_nothing_of_it_is_left_to_read_once_it_is_gone() -> None:
    held = look(going(), stuck()).lease
    for passed in range(1, held.terms.verify_passes + 1):
        held = look(held, a_sighting(), (1 + passed) * MINUTE).lease
    assert (held.state, held.held) == (State.CLOSED, "")


def test_why_it_could_not_be_created_is_not_lost_behind_what_holds_it() -> None:
    failed = replace(going(), outcome=State.FAILED, problem="the image is not there")
    change = look(failed, stuck())
    assert (change.lease.problem, change.lease.held) == ("the image is not there", WORDS)


def test_what_was_proven_gone_is_not_shown_as_it_was_before() -> None:
    kept = replace(a_volume(), kind=Kind.SNAPSHOT, id="snap-1", condition=Condition.RUNNING)
    lease = replace(going(), request=a_request(snapshot=True), resources=(*going().resources, kept))
    assert Condition.GONE not in {one.condition for one in lease.resources}
    for passed in range(1, lease.terms.verify_passes + 1):
        lease = look(lease, a_sighting(), passed * MINUTE).lease
    assert lease.state is State.CLOSED
    assert {one.kind: one.condition for one in lease.resources if one.kind is Kind.SNAPSHOT} == {
        Kind.SNAPSHOT: Condition.RUNNING
    }
    assert {one.condition for one in lease.resources if one.kind is not Kind.SNAPSHOT} == {Condition.GONE}
