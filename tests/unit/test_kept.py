"""What people stored in their namespace: told when it is stopped, kept for its time, and never called stuck before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import Notice
from lessor.domain import life
from lessor.domain.billing import Span
from lessor.domain.lease import Event, State
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from tests.builders import ENDS, HOURLY, LAUNCHED, a_lease, a_sighting
from workflows.notices import notices

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SPACE = Resource(Kind.NAMESPACE, "gpu-7k3qxa2m@1", Condition.STOPPED)
CLAIM = Resource(Kind.CLAIM, "gpu-7k3qxa2m/data@2", Condition.STOPPED, type="100 GiB fast", reason="10.00 USD a month")
WORDS = "kept until then: claim gpu-7k3qxa2m/data, 100 GiB of class fast, 10.00 USD a month"
BEGUN = ENDS + 7 * DAY
UNTIL = BEGUN + 3 * DAY


def kept(*resources: Resource, **changes: object) -> Sighting:
    return replace(a_sighting(*(resources or (SPACE, CLAIM)), problem=WORDS), kept_until=UNTIL, **changes)  # type: ignore[arg-type]


def test_what_is_kept_on_purpose_is_told_once_and_waited_for_without_alarm() -> None:
    change = life.looked(a_lease(State.DELETING), kept(), BEGUN)
    left = ("namespace:gpu-7k3qxa2m@1", "claim:gpu-7k3qxa2m/data@2")
    told = {"left": ", ".join(left), "until": UNTIL.isoformat(), "what": WORDS}
    assert change.events == (Event("kept", BEGUN, "lessor", told),)
    assert notices(change.lease, change.events) == (Notice.KEPT,)
    lease = change.lease
    assert (lease.state, lease.problem, lease.left) == (State.DELETING, WORDS, left)
    assert lease.next_try == BEGUN + 6 * HOUR
    later = life.looked(lease, kept(), UNTIL - HOUR)
    assert (later.events, later.lease.state, later.lease.next_try) == ((), State.DELETING, UNTIL)
    closing = life.looked(later.lease, a_sighting(at=UNTIL), UNTIL).lease
    assert closing.clean_passes == 1


def test_after_its_time_it_is_stuck_like_anything_else() -> None:
    lease = life.looked(a_lease(State.DELETING), kept(), BEGUN).lease
    change = life.looked(lease, kept(), UNTIL)
    assert (change.lease.state, [e.type for e in change.events]) == (State.BLOCKED, ["blocked"])


def test_what_else_is_left_is_not_excused_by_what_is_kept() -> None:
    late = BEGUN + HOUR
    foreign = life.looked(a_lease(State.DELETING), kept(foreign=("claim:x@9",)), late)
    assert foreign.lease.state is State.BLOCKED
    unread = life.looked(a_lease(State.DELETING), kept(complete=False), late)
    assert unread.lease.state is State.BLOCKED


def test_a_blocked_lease_of_which_only_that_is_left_needs_no_hands_any_more() -> None:
    change = life.looked(a_lease(State.BLOCKED), kept(), BEGUN + HOUR)
    assert (change.lease.state, change.lease.problem) == (State.DELETING, WORDS)


def test_the_bill_of_the_gpus_ends_while_that_of_the_disks_goes_on() -> None:
    lease = replace(a_lease(State.DELETING), spans=(Span(LAUNCHED, None, HOURLY),))
    lease = life.looked(lease, kept(), BEGUN).lease
    assert lease.spans == (Span(LAUNCHED, BEGUN, HOURLY),)


def test_others_things_with_our_mark_are_not_on_the_bill() -> None:
    lease = replace(a_lease(State.DELETING), spans=(Span(LAUNCHED, None, HOURLY),))
    foreign = replace(SPACE, condition=Condition.RUNNING)
    seen = replace(a_sighting(foreign), foreign=(foreign.ref,))
    assert life.looked(lease, seen, BEGUN).lease.spans == (Span(LAUNCHED, BEGUN, HOURLY),)
    assert life.looked(lease, a_sighting(foreign), BEGUN).lease.spans == (Span(LAUNCHED, None, HOURLY),)


def test_the_stop_names_what_is_stored_with_size_class_and_cost() -> None:
    lease = a_lease(State.ENDING)
    change = life.stopped(lease, ENDS, ENDS, (CLAIM,))
    assert change.events[0].data["disks"] == "claim gpu-7k3qxa2m/data, 100 GiB fast, 10.00 USD a month"
    assert change.lease.resources[-1] == CLAIM
    again = life.stopped(replace(change.lease, state=State.ENDING), ENDS, ENDS, (CLAIM,)).lease
    assert again.resources == change.lease.resources
    assert "disks" not in life.stopped(lease, ENDS, ENDS).events[0].data
