"""What becomes of leases whose owner has left: circle after circle, and nothing stopped because of it alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import offboarding, ownership
from lessor.domain.deadlines import Due, next_deadline, warning_distances
from lessor.domain.lease import Lease, State
from lessor.domain.offboarding import NOT_TAKEN
from lessor.domain.ownership import LESSOR, MOVABLE
from lessor.domain.pending import CoOwner, Transfer
from tests.builders import ADMIN, MANAGER, READY, REQUESTER, STRANGER, a_lease, a_person, a_request
from tests.refusing import refusal_code

NOW = READY + timedelta(hours=1)
DAY = timedelta(days=1)
CIRCLES = (("person:U0MANAGER",), ("team:ml",), ("admins",))
MEMBER = a_person("U0MEMBER")


def long_lease(**changes: object) -> Lease:
    return replace(a_lease(request=a_request(duration=timedelta(days=20))), **changes)  # type: ignore[arg-type]


def left(lease: Lease | None = None, circles: offboarding.Circles = CIRCLES, *, held: bool = False) -> Lease:
    return offboarding.owner_left(lease or long_lease(), REQUESTER.id, circles, NOW, held=held).lease


@pytest.mark.parametrize("state", [s for s in State if s in MOVABLE])
def test_nothing_changes_but_the_offer(state: State) -> None:
    lease = replace(long_lease(), state=state)
    change = offboarding.owner_left(lease, REQUESTER.id, CIRCLES, NOW)
    assert change.lease.transfer == Transfer(
        ("person:U0MANAGER",), "ml", LESSOR, NOW, NOW + DAY, later=(("team:ml",), ("admins",))
    )
    assert replace(change.lease, transfer=None, revision=lease.revision) == lease
    assert [(e.type, e.actor, e.data["owner"]) for e in change.events] == [("owner-left", LESSOR, REQUESTER.id)]


def test_it_is_offered_once_and_only_while_it_is_still_theirs() -> None:
    offered = left()
    assert offboarding.owner_left(offered, REQUESTER.id, CIRCLES, NOW + DAY).events == ()
    assert offboarding.owner_left(long_lease(owner="U0OTHER"), REQUESTER.id, CIRCLES, NOW).events == ()
    for state in set(State) - set(MOVABLE):
        assert offboarding.owner_left(long_lease(state=state), REQUESTER.id, CIRCLES, NOW).events == ()


def test_an_offer_of_the_owner_gives_way_to_those_who_are_left() -> None:
    own = ownership.offer(long_lease(), MEMBER, "", REQUESTER.id, NOW).lease
    transfer = left(own).transfer
    assert transfer is not None
    assert (transfer.by, transfer.to) == (LESSOR, ("person:U0MANAGER",))


def test_circle_after_circle_is_asked_and_everybody_asked_may_take_it_meanwhile() -> None:
    lease = left()
    for number, (person, outsider) in enumerate([(MANAGER, MEMBER), (MEMBER, STRANGER), (ADMIN, STRANGER)]):
        assert lease.transfer is not None
        assert lease.transfer.circle == number
        assert refusal_code(lambda lease=lease, who=outsider: ownership.take(lease, who, None, NOW)) == "not-offered"
        taken = ownership.take(lease, person, None, NOW + number * DAY).lease
        assert (taken.owner, taken.request.team, taken.former_owners) == (person.id, "ml", (REQUESTER.id,))
        due = next_deadline(replace(lease, warned=()), NOW)
        assert due is not None
        assert (due.due, due.at) == (Due.OFFER, NOW + (number + 1) * DAY)
        assert refusal_code(lambda lease=lease, at=due.at: offboarding.offer_ended(lease, at - DAY / 2)) == "not-due"
        change = offboarding.offer_ended(lease, due.at)
        lease = change.lease
    assert [e.type for e in change.events] == ["transfer-expired", "shortened"]


def test_what_nobody_took_ends_a_day_later_with_all_its_warnings_and_can_be_taken_until_then() -> None:
    lease = left(circles=(("admins",),))
    change = offboarding.offer_ended(lease, NOW + DAY)
    ending = change.lease
    assert (ending.state, ending.ends_at, ending.end_set_at, ending.warned) == (
        State.ACTIVE,
        NOW + 2 * DAY,
        NOW + DAY,
        (),
    )
    assert warning_distances(ending) == (timedelta(hours=2), timedelta(minutes=30))
    assert change.events[1].data["reason"] == NOT_TAKEN
    taken = ownership.take(ending, ADMIN, None, NOW + DAY)
    assert taken.lease.owner == ADMIN.id
    assert taken.lease.ends_at == NOW + 2 * DAY


def test_an_end_that_comes_sooner_stays() -> None:
    soon = replace(a_lease(), ends_at=NOW + DAY + timedelta(hours=3))
    change = offboarding.offer_ended(left(soon, (("admins",),)), NOW + DAY)
    assert (change.lease.ends_at, [e.type for e in change.events]) == (soon.ends_at, ["transfer-expired"])


def test_what_was_never_used_is_cancelled_and_what_is_stopped_keeps_its_grace() -> None:
    reserved = replace(a_lease(State.APPROVED))
    gone = offboarding.offer_ended(left(reserved, (("admins",),)), NOW + DAY).lease
    assert (gone.state, gone.cancelled_by) == (State.WITHDRAWN, LESSOR)
    stopped = a_lease(State.STOPPED)
    kept = offboarding.offer_ended(left(stopped, (("admins",),)), NOW + DAY).lease
    assert (kept.state, kept.stopped_at) == (State.STOPPED, stopped.stopped_at)


def test_with_nobody_to_ask_it_ends_by_the_normal_way_at_once() -> None:
    lease = left(circles=())
    due = next_deadline(replace(lease, warned=()), NOW)
    assert due is not None
    assert (due.due, due.at) == (Due.OFFER, NOW)
    assert offboarding.offer_ended(lease, NOW).lease.ends_at == NOW + DAY


def test_f03_a_lease_that_others_hold_too_does_not_end_for_want_of_an_owner() -> None:
    shared = long_lease(co_owners=(CoOwner("team:ml"),))
    transfer = left(shared, held=True).transfer
    assert transfer is not None
    assert (transfer.to, transfer.expires, transfer.later, transfer.held) == (("person:U0MANAGER",), None, (), True)


def test_when_those_who_held_it_too_have_left_circle_after_circle_is_asked() -> None:
    held = left(long_lease(co_owners=(CoOwner("U0MEMBER", ("U0MEMBER",)),)), held=True)
    assert offboarding.owner_left(held, REQUESTER.id, CIRCLES, NOW + DAY, held=True).events == ()
    alone = offboarding.owner_left(held, REQUESTER.id, CIRCLES, NOW + DAY).lease
    assert alone.transfer is not None
    assert (alone.transfer.expires, alone.transfer.later, alone.transfer.held) == (NOW + 2 * DAY, CIRCLES[1:], False)
    assert offboarding.owner_left(alone, REQUESTER.id, CIRCLES, NOW + DAY).events == ()


def test_the_lead_may_pass_it_on_and_whoever_is_asked_among_others_need_not_answer() -> None:
    change = offboarding.pass_on(left(), MANAGER, NOW + timedelta(hours=1))
    assert [e.type for e in change.events] == ["transfer-declined", "transfer-offered"]
    assert change.lease.transfer is not None
    assert (change.lease.transfer.to, change.lease.transfer.expires) == (
        ("team:ml",),
        NOW + timedelta(hours=1) + DAY,
    )
    assert refusal_code(lambda: offboarding.pass_on(change.lease, MEMBER, NOW)) == "others-may"
    assert refusal_code(lambda: offboarding.pass_on(left(), STRANGER, NOW)) == "not-offered"
    assert (
        refusal_code(lambda: offboarding.pass_on(left(circles=(("person:U0MANAGER",),)), MANAGER, NOW)) == "others-may"
    )


def test_circles_of_nobody_are_left_out_and_nobody_is_asked_twice() -> None:
    lease = long_lease()
    assert offboarding.circles(lease, (), (MANAGER,), True, True) == CIRCLES
    assert offboarding.circles(lease, (), (), True, False) == (("team:ml",),)
    assert offboarding.circles(lease, (), (), False, False) == ()
    near = offboarding.circles(lease, (MEMBER, MANAGER), (MANAGER,), False, True)
    assert near == (("person:U0MEMBER", "person:U0MANAGER"), ("admins",))


@pytest.mark.parametrize(
    ("gone", "owners", "stops"),
    [(0, 0, False), (1, 1, False), (2, 2, False), (3, 3, True), (3, 5, True), (3, 6, False), (50, 100, False)],
)
def test_law_5_many_at_once_look_like_a_mistake(gone: int, owners: int, stops: bool) -> None:
    assert bool(offboarding.braked(gone, owners)) is stops
