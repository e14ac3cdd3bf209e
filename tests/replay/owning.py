"""Stories of leases that change hands, are shared, or are left behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.people import Person
from lessor.domain.terms import Terms
from lessor.ports import PermanentError
from tests.builders import tiny_terms
from tests.replay.moves import HOUR, Runs, do, every_run, finished, run, used_and_released
from tests.workflows.test_extending import asked as asked_for_longer
from tests.workflows.test_owning import MEMBER, OTHER, gone, populated
from tests.world import MANAGER, REQUESTER, SECOND, Handle, World

DAY = timedelta(days=1)


async def handed_over(world: World) -> Runs:
    """One person does not want it, another of another team takes it; their name cannot be written on the machine."""
    populated(world)
    handle = await world.active()
    await do(world, handle, Verb.TRANSFER, to=MEMBER.id)
    await do(world, handle, Verb.DECLINE, MEMBER)
    await do(world, handle, Verb.TRANSFER, to=OTHER.id, team="vision")
    world.cloud.fail["set_owner"] = [PermanentError("not authorized to perform CreateTags", "UnauthorizedOperation")]
    await do(world, handle, Verb.TAKE, OTHER)
    await world.eventually(lambda: "owner-unwritten" in world.events(handle), "an owner that could not be written")
    assert not (await world.act(handle, Verb.KEEP, REQUESTER)).ok
    return await used_and_released(world, handle, OTHER)


async def offered_in_vain(world: World) -> Runs:
    """Nobody answers the offer of a lease that is reserved for later; it stays with its owner, who takes it back."""
    populated(world)
    handle = await world.ask(start=await world.env.get_current_time() + 10 * DAY)
    await world.until(handle, State.AWAITING_APPROVAL)
    await do(world, handle, Verb.APPROVE, MANAGER)
    await world.until(handle, State.APPROVED)
    await do(world, handle, Verb.TRANSFER, to=MEMBER.id)
    await world.sleep(7 * DAY + HOUR)
    await world.told(handle, "transfer-ended")
    await do(world, handle, Verb.WITHDRAW)
    return await finished(handle, "withdrawn")


async def shared(world: World) -> Runs:
    """Shared with the whole team, whose member also shares it with a guest for a while, and ends it."""
    populated(world)
    handle = await world.active()
    await do(world, handle, Verb.SHARE, to="team")
    await do(world, handle, Verb.SHARE, MEMBER, to=OTHER.id)
    await do(world, handle, Verb.KEEP, OTHER)
    await do(world, handle, Verb.UNSHARE, to=OTHER.id)
    return await used_and_released(world, handle, MEMBER)


async def left_and_taken(world: World) -> Runs:
    """The owner leaves; the lead passes it on to the team, and a member takes it."""
    handle = await _left(world)
    await do(world, handle, Verb.DECLINE, MANAGER)
    await do(world, handle, Verb.TAKE, MEMBER)
    return [run(world, "people-1"), *await used_and_released(world, handle, MEMBER)]


async def left_and_ended(world: World) -> Runs:
    """The owner leaves, and nobody takes it: one circle is asked after the other, then it ends with its warnings."""
    world.terms = Terms(offer_after=2 * HOUR)
    handle = await _left(world)
    runs = await finished(handle, "closed")
    events = world.events(handle)
    assert events.index("transfer-expired") < events.index("shortened") < events.index("warned") < events.index("ended")
    return runs


async def looks_wrong(world: World) -> Runs:
    """Everybody seems to have left at once: nothing is done but to page the administrators."""
    people = [Person(f"U0OWNER{n}", teams=("research",)) for n in range(3)]
    populated(world, *people)
    for person in people:
        await world.active(requester=person.id)
        gone(world, person)
    report = await world.sweep_people()
    assert (report.left, len(world.notifier.paged)) == ((), 1)
    return [run(world, "people-1")]


async def carried_over(world: World) -> Runs:
    """A later end and an offer wait for their answers while the run is renewed; both are given to the next run."""
    world.terms = replace(tiny_terms(), grace=timedelta(milliseconds=50))
    handle = await asked_for_longer(populated(world))
    await do(world, handle, Verb.TRANSFER, to=OTHER.id)
    first = await run(world, handle.id).describe()
    for _ in range(10):
        if (await run(world, handle.id).describe()).run_id != first.run_id:
            break
        await do(world, handle, Verb.KEEP)
    await do(world, handle, Verb.TAKE, OTHER)
    await do(world, handle, Verb.GRANT, SECOND)
    await world.eventually(lambda: handle.id in world.cloud.owned, "the new owner on the machine")
    await do(world, handle, Verb.RELEASE, OTHER)
    await finished(handle, "closed")
    return await every_run(world, handle.id, first.run_id)


async def _left(world: World) -> Handle:
    """A lease of some days whose owner has just left, as the daily look has found."""
    populated(world)
    handle = await world.active(duration=5 * DAY)
    gone(world, REQUESTER)
    report = await world.sweep_people()
    assert report.left == (handle.id,)
    await world.told(handle, "owner-left")
    return handle
