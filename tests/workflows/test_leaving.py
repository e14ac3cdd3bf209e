"""Accounts are closed: leases are offered to those who are left, and steps are asked of others."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Notice, Verb
from lessor.domain.lease import State
from lessor.domain.people import Person
from lessor.domain.terms import Terms
from tests.workflows.test_owning import MEMBER, OTHER, gone, populated
from tests.world import MANAGER, REQUESTER, SECOND, World


async def test_f01_a_lease_whose_owner_has_left_is_offered_to_the_lead_who_takes_it(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(days=20))
    ends_at = (await world.lease(handle)).ends_at
    gone(world, REQUESTER)
    report = await world.sweep_people()
    assert (report.leases, report.owners, report.left) == (1, 1, (handle.id,))
    lease = await world.when(handle, lambda found: found.transfer is not None, "an offer to the lead")
    assert lease.transfer is not None
    assert (lease.transfer.by, lease.transfer.to) == ("lessor", (f"person:{MANAGER.id}",))
    assert (lease.state, lease.ends_at, lease.owner) == (State.ACTIVE, ends_at, REQUESTER.id)
    assert len(world.cloud.alive(handle.id)) == 1
    assert (await world.sweep_people()).left == ()
    assert (await world.act(handle, Verb.TAKE, MANAGER)).ok
    lease = await world.lease(handle)
    assert (lease.owner, lease.former_owners, lease.transfer) == (MANAGER.id, (REQUESTER.id,), None)
    assert world.events(handle).count("owner-left") == 1
    assert world.notifier.kinds(handle.id).count(Notice.OWNER_LEFT.value) == 1


async def test_f01_a_lease_that_nobody_takes_ends_by_the_normal_way_with_its_warnings(world: World) -> None:
    populated(world)
    world.terms = Terms(offer_after=timedelta(hours=24))
    handle = await world.active(duration=timedelta(days=20))
    gone(world, REQUESTER)
    await world.sweep_people()
    await world.when(handle, lambda found: found.transfer is not None, "an offer to the lead")
    await world.sleep(timedelta(hours=25))
    lease = await world.when(
        handle, lambda found: found.transfer is not None and found.transfer.circle == 1, "the team"
    )
    assert lease.transfer is not None
    assert lease.transfer.to == ("team:research",)
    await world.sleep(timedelta(hours=24))
    lease = await world.when(handle, lambda found: found.transfer is not None and found.transfer.circle == 2, "admins")
    assert lease.transfer is not None
    assert lease.transfer.to == ("admins",)
    assert lease.state is State.ACTIVE
    outcome = await handle.result()
    assert outcome.state == "closed"
    events = world.events(handle)
    ended = events[events.index("shortened") :]
    assert "warned" in ended[: ended.index("ended")]
    assert timedelta(days=4) <= timedelta(hours=outcome.hours) < timedelta(days=4, hours=2)


async def test_a_member_of_the_team_takes_what_its_lead_does_not_want(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(days=20))
    gone(world, REQUESTER)
    await world.sweep_people()
    await world.when(handle, lambda found: found.transfer is not None, "an offer to the lead")
    passed = await world.act(handle, Verb.DECLINE, MANAGER)
    assert (passed.ok, passed.message) == (True, f"{handle.id}: not taken; others are asked")
    assert (await world.act(handle, Verb.DECLINE, MEMBER)).code == "others-may"
    assert (await world.act(handle, Verb.TAKE, OTHER)).code == "not-offered"
    assert (await world.act(handle, Verb.TAKE, MEMBER)).ok
    assert (await world.lease(handle)).owner == MEMBER.id


async def test_a_shared_lease_outlives_the_account_of_its_owner(world: World) -> None:
    populated(world)
    handle = await world.active(duration=timedelta(days=12))
    await world.act(handle, Verb.SHARE, REQUESTER, to="team")
    ends_at = (await world.lease(handle)).ends_at
    gone(world, REQUESTER)
    await world.sweep_people()
    lease = await world.when(handle, lambda found: found.transfer is not None, "an offer")
    assert lease.transfer is not None
    assert lease.transfer.expires is None
    await world.sleep(timedelta(days=8))
    lease = await world.lease(handle)
    assert (lease.state, lease.ends_at) == (State.ACTIVE, ends_at)
    assert (await world.act(handle, Verb.KEEP, MEMBER)).ok
    assert (await world.sweep_people()).left == ()
    for person in (MEMBER, MANAGER):
        gone(world, person)
    assert (await world.sweep_people()).left == (handle.id,)
    lease = await world.when(
        handle, lambda found: bool(found.transfer and found.transfer.expires), "an offer that ends"
    )
    assert lease.transfer is not None
    assert (lease.transfer.to, lease.transfer.held) == (("admins",), False)


async def test_many_accounts_that_look_closed_at_once_are_a_mistake_and_admins_are_paged(world: World) -> None:
    people = [Person(f"U0OWNER{n}", teams=("research",)) for n in range(4)]
    populated(world, *people)
    handles = [await world.active(requester=person.id) for person in people]
    for person in people:
        gone(world, person)
    report = await world.sweep_people()
    assert report.left == ()
    assert report.brake.startswith("4 of 4 owners look deactivated at once")
    assert [(page.alarm.value, page.subject) for page in world.notifier.paged] == [("brake", "people")]
    for handle in handles:
        assert (await world.lease(handle)).transfer is None


async def test_an_owner_of_whom_nothing_is_known_has_not_left(world: World) -> None:
    populated(world)
    handle = await world.active()
    world.directory.people = [p for p in world.directory.people if p.id != REQUESTER.id]
    report = await world.sweep_people()
    assert (report.owners, report.unknown, report.left) == (1, 1, ())
    assert (await world.lease(handle)).transfer is None


async def test_a_step_that_waits_for_somebody_who_left_is_staffed_anew(world: World) -> None:
    populated(world)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.sweep_people()).restaffed == ()
    gone(world, SECOND)
    assert (await world.sweep_people()).restaffed == (handle.id,)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
