"""A lease changes hands: offered, taken, declined, shared; and who may do what with it afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.pending import CoOwner
from lessor.domain.people import Person
from lessor.ports import Team
from tests.builders import a_quota
from tests.world import MANAGER, REQUESTER, World

MEMBER = Person("U0MEMBER", teams=("research",))
OTHER = Person("U0OTHER", teams=("vision",))
VISION = Team("vision", lead="U0VISIONLEAD", cost_center="cc-vision")


def populated(world: World, *people: Person) -> World:
    """The world with more people, a second team, and ceilings for both teams."""
    world.directory.people += [MEMBER, OTHER, *people]
    world.directory.teams["vision"] = VISION
    world.allow(a_quota("research", 16), a_quota("vision", 1))
    return world


def gone(world: World, person: Person) -> None:
    world.directory.closed.add(person.id)


async def test_a_lease_moves_when_its_receiver_accepts_and_not_before(world: World) -> None:
    populated(world)
    handle = await world.active(cost_center="cc-research", lead=MANAGER.id)
    offered = await world.act(handle, Verb.TRANSFER, REQUESTER, to=OTHER.id, via="cli")
    assert (offered.ok, offered.code) == (True, "transfer")
    assert "offered to U0OTHER, who can accept it until" in offered.message
    lease = await world.lease(handle)
    assert (lease.owner, lease.transfer and lease.transfer.team) == (REQUESTER.id, "vision")

    refused = await world.act(handle, Verb.TAKE, MEMBER)
    assert (refused.ok, refused.code) == (False, "not-offered")

    warned_before = await world.lease(handle)
    taken = await world.act(handle, Verb.TAKE, OTHER)
    assert taken.ok, taken.message
    lease = await world.lease(handle)
    assert (lease.owner, lease.owner_ids, lease.former_owners) == (OTHER.id, (OTHER.id,), (REQUESTER.id,))
    assert (lease.request.team, lease.request.cost_center, lease.request.lead) == (
        "vision",
        "cc-vision",
        "U0VISIONLEAD",
    )
    assert (lease.transfer, lease.warned, lease.ends_at) == (None, (), warned_before.ends_at)
    assert lease.request.requester == REQUESTER.id
    [held] = world.ledger.held("vision")
    assert (held.lease_id, held.gpus, held.person) == (handle.id, 1, OTHER.id)
    assert world.ledger.held("research") == ()
    assert await attributes(handle) == (OTHER.id, "vision")
    await world.when(handle, lambda _: handle.id in world.cloud.owned, "tags with the new owner")
    assert world.cloud.owned[handle.id] == (OTHER.id, "vision", "cc-vision")
    assert [n for n in world.notifier.kinds(handle.id) if n.startswith("transfer")] == [
        "transfer-offered",
        "transferred",
    ]


async def test_a_reservation_is_made_for_whoever_owns_it_by_then(world: World) -> None:
    """Also when the former owner's account is closed meanwhile, and the price is looked at again before it starts."""
    populated(world)
    start = (await world.env.get_current_time()) + timedelta(days=2)
    handle = await world.ask(start=start)
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.APPROVED)
    assert (await world.act(handle, Verb.TRANSFER, REQUESTER, to=MEMBER.id)).ok
    assert (await world.act(handle, Verb.TAKE, MEMBER)).ok
    gone(world, REQUESTER)
    await world.sleep(timedelta(days=2, minutes=5))
    lease = await world.until(handle, State.ACTIVE)
    assert (lease.owner, lease.owner_ids, lease.former_owners) == (MEMBER.id, (MEMBER.id,), (REQUESTER.id,))
    assert [(r.team, r.person) for r in world.ledger.held()] == [("research", MEMBER.id)]
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).code == "inactive"


async def test_the_former_owner_has_no_rights_and_still_cannot_decide_on_it(world: World) -> None:
    populated(world)
    handle = await world.active()
    await world.act(handle, Verb.TRANSFER, REQUESTER, to=OTHER.id)
    await world.act(handle, Verb.TAKE, OTHER)
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).code == "not-owner"
    lease = await world.lease(handle)
    assert REQUESTER.id in lease.requester_ids
    assert OTHER.id in lease.requester_ids
    assert (await world.act(handle, Verb.KEEP, OTHER)).ok


async def test_what_does_not_fit_into_the_quota_of_the_new_team_stays_where_it_is(world: World) -> None:
    populated(world)
    world.allow(a_quota("research", 16), a_quota("vision", 0))
    handle = await world.active()
    await world.act(handle, Verb.TRANSFER, REQUESTER, to=OTHER.id)
    refused = await world.act(handle, Verb.TAKE, OTHER)
    assert (refused.ok, refused.code) == (False, "quota")
    assert "team vision may hold 0 GPUs" in refused.message
    lease = await world.lease(handle)
    assert (lease.owner, lease.request.team) == (REQUESTER.id, "research")
    assert [(r.team, r.gpus) for r in world.ledger.held()] == [("research", 1)]
    assert "refused" in world.events(handle)


async def test_a_declined_offer_and_one_that_nobody_answers_leave_the_lease_with_its_owner(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(days=20))
    await world.act(handle, Verb.TRANSFER, REQUESTER, to=MEMBER.id)
    declined = await world.act(handle, Verb.DECLINE, MEMBER)
    assert declined.ok, declined.message
    assert (await world.lease(handle)).transfer is None
    await world.act(handle, Verb.TRANSFER, REQUESTER, to=MEMBER.id)
    await world.sleep(timedelta(days=8))
    lease = await world.when(handle, lambda found: found.transfer is None, "an offer that has ended")
    assert (lease.owner, lease.state) == (REQUESTER.id, State.ACTIVE)
    assert (await world.act(handle, Verb.TAKE, MEMBER)).code == "no-offer"
    kinds = [e for e in world.events(handle) if e.startswith("transfer")]
    assert kinds == ["transfer-offered", "transfer-declined", "transfer-offered", "transfer-expired"]
    told = [kind for kind in world.notifier.kinds(handle.id) if kind.startswith("transfer")]
    assert told == ["transfer-offered", "transfer-ended"] * 2


async def test_the_new_owner_gets_the_whole_sequence_of_warnings(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(hours=4))
    await world.sleep(timedelta(hours=3, minutes=46))
    lease = await world.when(handle, lambda found: len(found.warned) == 2, "two warnings")
    await world.act(handle, Verb.TRANSFER, REQUESTER, to=MEMBER.id)
    assert (await world.act(handle, Verb.TAKE, MEMBER)).ok
    lease = await world.lease(handle)
    assert lease.warned == ()
    outcome = await handle.result()
    assert outcome.state == "closed"
    events = world.events(handle)
    after = events[events.index("transferred") :]
    assert after.count("warned") >= 1


async def test_a_shared_lease_is_everybodys_of_its_team_and_nobody_elses(world: World) -> None:
    """F03: any member may extend or end; a non-member is refused; one who leaves does not end it."""
    populated(world)
    handle = await world.active()
    assert (await world.act(handle, Verb.KEEP, MEMBER)).code == "not-owner"
    shared = await world.act(handle, Verb.SHARE, REQUESTER, to="team")
    assert (shared.ok, shared.message) == (True, f"{handle.id}: shared with everybody of team research")
    assert (await world.lease(handle)).co_owners == (CoOwner("team:research"),)
    assert (await world.act(handle, Verb.KEEP, MEMBER)).ok
    assert (await world.act(handle, Verb.KEEP, OTHER)).code == "not-owner"
    assert (await world.act(handle, Verb.SHARE, MEMBER, to=OTHER.id)).ok
    assert (await world.act(handle, Verb.KEEP, OTHER)).ok
    assert (await world.act(handle, Verb.UNSHARE, MEMBER, to=OTHER.id)).ok
    assert (await world.act(handle, Verb.KEEP, OTHER)).code == "not-owner"
    assert (await world.act(handle, Verb.RELEASE, MEMBER)).ok
    assert "shared" in world.notifier.kinds(handle.id)


async def test_f04_who_was_removed_from_the_team_does_not_extend_and_the_end_stays(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(hours=20))
    before = await world.lease(handle)
    world.directory.people = [replace(p, teams=()) if p.id == REQUESTER.id else p for p in world.directory.people]
    until = before.ends_at and before.ends_at + timedelta(hours=1)
    refused = await world.act(handle, Verb.EXTEND, REQUESTER, until=until)
    assert (refused.ok, refused.code) == (False, "not-in-team")
    lease = await world.lease(handle)
    assert (lease.ends_at, lease.state, lease.request.team) == (before.ends_at, State.ACTIVE, "research")
    assert (await world.act(handle, Verb.EXTEND, MANAGER, until=until)).ok
    assert (await world.act(handle, Verb.RELEASE, REQUESTER)).ok


async def attributes(handle: object) -> tuple[str, str]:
    """What Temporal's own list shows of owner and team."""
    found = await handle.describe()  # type: ignore[attr-defined]
    shown = {pair.key.name: pair.value for pair in found.typed_search_attributes}
    return shown["GpuOwner"], shown["GpuTeam"]
