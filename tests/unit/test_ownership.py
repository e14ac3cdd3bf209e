"""Whose a lease is: offered, taken, declined, shared; and who may do what with it afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.domain import changes, ownership, transitions
from lessor.domain.approval import Step, Vote, check
from lessor.domain.authority import require_member, require_steward
from lessor.domain.deadlines import Due, next_deadline, warning_distances
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, State, Warned
from lessor.domain.ownership import LESSOR, MOST_CO_OWNERS, MOVABLE, OFFER_STANDS
from lessor.domain.pending import Changes, CoOwner, Payer, Transfer, Wish
from lessor.domain.people import Person
from tests.builders import ADMIN, ENDS, MANAGER, READY, REQUESTER, STRANGER, a_lease, a_person, a_request
from tests.refusing import refusal_code

NOW = READY + timedelta(hours=1)
MEMBER = a_person("U0MEMBER")
BOTH = a_person("U0BOTH", teams=("vision", "speech"))
LEFT = a_person("U0LEFT", active=False)
VISION = Payer("vision", "cc-vision", "U0VISIONLEAD")


def offered(to: Person = MEMBER, team: str = "", lease: Lease | None = None) -> Lease:
    return ownership.offer(lease or a_lease(), to, team, REQUESTER.id, NOW).lease


def test_an_offer_moves_nothing_and_says_who_pays() -> None:
    lease = a_lease()
    change = ownership.offer(lease, STRANGER, "", REQUESTER.id, NOW)
    expires = NOW + OFFER_STANDS
    assert change.lease.transfer == Transfer(("person:U0STRANGER",), "vision", REQUESTER.id, NOW, expires)
    assert change.lease.offers == 1
    assert replace(change.lease, transfer=None, offers=0, revision=lease.revision) == lease
    [event] = change.events
    assert (event.type, event.actor, event.data) == (
        "transfer-offered",
        REQUESTER.id,
        {"to": "U0STRANGER", "team": "vision", "expires": expires.isoformat()},
    )


@pytest.mark.parametrize(
    ("to", "team", "payer"),
    [(MEMBER, "", "ml"), (MEMBER, "ml", "ml"), (STRANGER, "", "vision"), (BOTH, "speech", "speech")],
)
def test_the_team_that_pays_is_one_of_the_receivers(to: Person, team: str, payer: str) -> None:
    transfer = offered(to, team).transfer
    assert transfer is not None
    assert transfer.team == payer


@pytest.mark.parametrize(
    ("to", "team", "refusal"),
    [
        (LEFT, "", "inactive-receiver"),
        (Person("U0NOBODY", active=False), "", "inactive-receiver"),
        (REQUESTER, "", "already-owner"),
        (a_person("W0REQUESTER"), "", "already-owner"),
        (a_person("U0X", email="requester@example.test"), "", "already-owner"),
        (MEMBER, "vision", "not-in-team"),
        (a_person("U0ALONE", teams=()), "", "not-in-team"),
        (BOTH, "", "which-team"),
    ],
)
def test_what_cannot_be_offered(to: Person, team: str, refusal: str) -> None:
    assert refusal_code(lambda: ownership.offer(a_lease(), to, team, REQUESTER.id, NOW)) == refusal


@pytest.mark.parametrize("state", list(State))
def test_a_lease_moves_only_between_its_approval_and_its_end(state: State) -> None:
    """While people decide on a request, nobody may come to own what they decide on."""
    lease = replace(a_lease(), state=state)
    if state in MOVABLE:
        assert ownership.offer(lease, MEMBER, "", REQUESTER.id, NOW).lease.transfer is not None
    else:
        assert refusal_code(lambda: ownership.offer(lease, MEMBER, "", REQUESTER.id, NOW)) == "wrong-state"
        assert refusal_code(lambda: ownership.take(replace(offered(), state=state), MEMBER, None, NOW)) == "wrong-state"


def test_taking_makes_an_owner_under_every_id_and_a_fresh_sequence_of_warnings() -> None:
    receiver = a_person("U0STRANGER", ids=("W0STRANGER",), email="Stranger@Example.test", teams=("vision",))
    lease = replace(
        offered(receiver),
        warned=(Warned(timedelta(minutes=30), NOW),),
        next_try=NOW,
        co_owners=(CoOwner("W0STRANGER", ("W0STRANGER",)), CoOwner("team:ml"), CoOwner("U0MEMBER", ("U0MEMBER",))),
    )
    change = ownership.take(lease, receiver, VISION, NOW + timedelta(hours=1))
    taken = change.lease
    assert (taken.owner, taken.owner_ids) == ("U0STRANGER", ("U0STRANGER", "W0STRANGER", "stranger@example.test"))
    assert (taken.former_owners, taken.transfer) == ((REQUESTER.id,), None)
    assert (taken.request.team, taken.request.cost_center, taken.request.lead) == (
        "vision",
        "cc-vision",
        "U0VISIONLEAD",
    )
    assert taken.request.requester == REQUESTER.id
    assert (taken.ends_at, taken.end_set_at, taken.warned, taken.next_try) == (
        ENDS,
        NOW + timedelta(hours=1),
        (),
        None,
    )
    assert warning_distances(taken) == tuple(timedelta(minutes=m) for m in (30, 15, 5))
    assert taken.co_owners == (CoOwner("U0MEMBER", ("U0MEMBER",)),)
    [event] = change.events
    assert (event.type, event.actor) == ("transferred", "U0STRANGER")
    assert event.data == {"from": REQUESTER.id, "to": "U0STRANGER", "from_team": "ml", "team": "vision"}


def test_within_the_team_who_pays_and_whom_to_ask_stay_as_they_were_copied() -> None:
    lease = a_lease(request=a_request(cost_center="4711", lead="U0OLDLEAD"))
    taken = ownership.take(offered(MEMBER, lease=lease), MEMBER, None, NOW).lease
    assert taken.request == lease.request


@pytest.mark.parametrize(
    ("person", "at", "refusal"),
    [
        (STRANGER, NOW, "not-offered"),
        (REQUESTER, NOW, "not-offered"),
        (ADMIN, NOW, "not-offered"),
        (replace(MEMBER, active=False), NOW, "inactive"),
        (replace(MEMBER, teams=()), NOW, "not-in-team"),
        (MEMBER, NOW + OFFER_STANDS, "offer-expired"),
    ],
)
def test_who_cannot_take(person: Person, at: object, refusal: str) -> None:
    assert refusal_code(lambda: ownership.take(offered(), person, None, at)) == refusal  # type: ignore[arg-type]


OUTSIDER = a_person("U0STRANGER", teams=("vision",))


@pytest.mark.parametrize(
    ("person", "team", "paying"),
    [
        (MEMBER, "", "ml"),
        (ADMIN, "", "ml"),
        (MANAGER, "", "ml"),
        (OUTSIDER, "", "vision"),
        (BOTH, "speech", "speech"),
        (replace(MEMBER, teams=("ml", "vision")), "vision", "vision"),
    ],
)
def test_who_takes_the_lease_of_somebody_who_left_pays_from_a_team_of_their_own(
    person: Person, team: str, paying: str
) -> None:
    """Else they would own what they may not make longer (case F04)."""
    left = replace(a_lease(), transfer=Transfer((f"person:{person.id}",), "ml", LESSOR, NOW))
    assert ownership.pays(left, person, team) == paying
    taken = ownership.take(left, person, Payer(paying, "cc", "U0L"), NOW, team).lease
    assert (taken.owner, taken.request.team) == (person.id, paying)
    require_member(taken, person)


@pytest.mark.parametrize(
    ("person", "team", "refusal"),
    [(BOTH, "", "which-team"), (BOTH, "ml", "not-in-team"), (a_person("U0ALONE", teams=()), "", "not-in-team")],
)
def test_who_belongs_elsewhere_says_who_pays(person: Person, team: str, refusal: str) -> None:
    left = replace(a_lease(), transfer=Transfer((f"person:{person.id}",), "ml", LESSOR, NOW))
    assert refusal_code(lambda: ownership.take(left, person, None, NOW, team)) == refusal


def test_an_offer_that_changed_meanwhile_is_not_the_one_that_was_looked_at() -> None:
    assert refusal_code(lambda: ownership.take(offered(STRANGER), STRANGER, Payer("ml"), NOW)) == "offer-changed"


def test_nothing_is_taken_that_nobody_offered() -> None:
    assert refusal_code(lambda: ownership.take(a_lease(), MEMBER, None, NOW)) == "no-offer"


def test_the_receiver_may_decline_and_a_holder_take_the_offer_back() -> None:
    for person in (MEMBER, REQUESTER, a_person("W0REQUESTER")):
        change = ownership.decline(offered(), person, NOW)
        assert (change.lease.transfer, change.lease.owner) == (None, REQUESTER.id)
        assert [(e.type, e.actor) for e in change.events] == [("transfer-declined", person.id)]
    assert refusal_code(lambda: ownership.decline(offered(), STRANGER, NOW)) == "not-offered"
    assert refusal_code(lambda: ownership.decline(a_lease(), MEMBER, NOW)) == "no-offer"


def test_an_offer_ends_by_itself_in_every_state_in_which_it_can_be_taken() -> None:
    lease = offered(lease=a_lease(request=a_request(duration=timedelta(days=20))))
    at = NOW + OFFER_STANDS
    due = next_deadline(replace(lease, warned=()), NOW)
    assert due is not None
    assert (due.due, due.at) == (Due.OFFER, at)
    stopped = next_deadline(replace(offered(), state=State.STOPPED, stopped_at=NOW + timedelta(days=2)), NOW)
    assert stopped is not None
    assert stopped.due is Due.OFFER
    assert refusal_code(lambda: ownership.expire(lease, at - timedelta(seconds=1))) == "not-due"
    change = ownership.expire(lease, at)
    assert (change.lease.transfer, [e.type for e in change.events]) == (None, ["transfer-expired"])


def test_sharing_gives_the_owners_rights_to_a_person_under_every_id() -> None:
    friend = a_person("U0FRIEND", ids=("W0FRIEND",), teams=("vision",))
    shared = ownership.share(a_lease(), friend, REQUESTER.id, NOW)
    assert shared.lease.co_owners == (CoOwner("U0FRIEND", ("U0FRIEND", "W0FRIEND"), member=False),)
    assert [(e.type, e.data) for e in shared.events] == [("shared", {"with": "U0FRIEND"})]
    require_steward(shared.lease, a_person("W0FRIEND", teams=()))
    assert refusal_code(lambda: ownership.share(shared.lease, friend, REQUESTER.id, NOW)) == "already-shared"
    back = ownership.unshare(shared.lease, a_person("W0FRIEND"), REQUESTER.id, NOW).lease
    assert back.co_owners == ()
    with pytest.raises(Refused, match="belongs to somebody else"):
        require_steward(back, friend)


def test_a_share_that_changes_nothing_says_why_by_name() -> None:
    friend = a_person("U0FRIEND", name="friend")
    shared = ownership.share(a_lease(), friend, REQUESTER.id, NOW).lease
    shared = ownership.share(shared, None, REQUESTER.id, NOW).lease
    told = f"{shared.id} is shared with %s already; nothing was changed"
    owns = f"{shared.id} belongs to requester, who needs no share; nothing was changed"
    for to, expected in (
        (friend, told % "friend"),
        (None, told % "team ml"),
        (replace(REQUESTER, name="requester"), owns),
    ):
        with pytest.raises(Refused) as refusal:
            ownership.share(shared, to, REQUESTER.id, NOW)
        assert (refusal.value.code, str(refusal.value)) == ("already-shared", expected)


def test_who_cannot_take_what_is_offered_is_told_without_anybodys_id() -> None:
    lease = offered()
    assert lease.transfer is not None
    whole_team = replace(lease, transfer=replace(lease.transfer, to=("team:ml",)))
    for one, whom in ((lease, "somebody else"), (whole_team, "everybody of team ml")):
        with pytest.raises(Refused) as refusal:
            ownership.take(one, STRANGER, None, NOW)
        assert str(refusal.value) == f"{one.id} is offered to {whom}, not to you; nothing was changed"


def test_what_cannot_be_shared() -> None:
    lease = a_lease()
    assert refusal_code(lambda: ownership.share(lease, LEFT, REQUESTER.id, NOW)) == "inactive-receiver"
    assert refusal_code(lambda: ownership.share(lease, REQUESTER, REQUESTER.id, NOW)) == "already-shared"
    assert refusal_code(lambda: ownership.unshare(lease, MEMBER, REQUESTER.id, NOW)) == "not-shared"
    assert refusal_code(lambda: ownership.unshare(lease, None, REQUESTER.id, NOW)) == "not-shared"
    full = replace(lease, co_owners=tuple(CoOwner(f"U0{n}", (f"U0{n}",)) for n in range(MOST_CO_OWNERS)))
    assert refusal_code(lambda: ownership.share(full, MEMBER, REQUESTER.id, NOW)) == "too-many"
    asked = a_lease(State.AWAITING_APPROVAL)
    assert refusal_code(lambda: ownership.share(asked, MANAGER, REQUESTER.id, NOW)) == "wrong-state"


def test_f03_a_lease_of_the_team_is_every_members_and_no_strangers() -> None:
    lease = ownership.share(a_lease(), None, REQUESTER.id, NOW).lease
    assert lease.co_owners == (CoOwner("team:ml"),)
    require_steward(lease, MEMBER)
    require_member(lease, MEMBER)
    for outsider in (STRANGER, replace(MEMBER, teams=()), replace(MEMBER, active=False)):
        with pytest.raises(Refused):
            require_steward(lease, outsider)
    assert ownership.unshare(lease, None, MEMBER.id, NOW).lease.co_owners == ()


def test_after_a_transfer_the_former_owner_has_neither_rights_nor_a_vote() -> None:
    """Law 6: whoever asked for it first never decides on it, and neither does whoever owns it now, or shares it."""
    lease = ownership.share(offered(), STRANGER, REQUESTER.id, NOW).lease
    lease = ownership.take(lease, MEMBER, None, NOW).lease
    require_steward(lease, MEMBER)
    require_steward(lease, STRANGER)
    with pytest.raises(Refused, match="belongs to somebody else"):
        require_steward(lease, REQUESTER)
    steps = (Step("anybody", tuple(f"person:{p.id}" for p in (REQUESTER, MEMBER, STRANGER, MANAGER))),)
    for person in (REQUESTER, MEMBER, STRANGER):
        with pytest.raises(Refused) as refused:
            check(steps, person, lease.requester_ids)
        assert refused.value.code == "own-request"
    assert check(steps, MANAGER, lease.requester_ids) == steps[0]


def test_whoever_comes_to_own_a_lease_has_not_approved_its_extension() -> None:
    votes = (Vote("W0MEMBER", NOW, ("W0MEMBER", "U0MEMBER")), Vote("U0MANAGER", NOW))
    wish = Wish(ENDS, REQUESTER.id, NOW, steps=(Step("two", ("group:any",), 2, votes),))
    taken = ownership.take(replace(offered(), wish=wish), MEMBER, None, NOW).lease
    shared = ownership.share(replace(a_lease(), wish=wish), MEMBER, REQUESTER.id, NOW).lease
    for lease in (taken, shared):
        assert lease.wish is not None
        assert lease.wish.steps[0].votes == (votes[1],)


def test_what_was_reserved_is_taken_back_and_changed_by_whose_it_is_now() -> None:
    waiting = ownership.take(offered(lease=a_lease(State.WAITING_FOR_CAPACITY)), MEMBER, None, NOW).lease
    assert refusal_code(lambda: transitions.withdraw(waiting, REQUESTER.id, NOW)) == "not-owner"
    assert refusal_code(lambda: changes.revise(waiting, REQUESTER, Changes(count=4), NOW)) == "not-owner"
    assert transitions.withdraw(waiting, MEMBER.id, NOW).lease.outcome is State.WITHDRAWN
    assert changes.revise(waiting, MEMBER, Changes(count=4), NOW).lease.owner == MEMBER.id
