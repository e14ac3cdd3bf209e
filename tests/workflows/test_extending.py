"""Extensions that people decide on: asked, reminded, granted, rejected, lapsed, while the lease runs on for a while."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.terms import Terms
from tests.world import ADMIN, MANAGER, REQUESTER, SECOND, Handle, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FREE = Decision(Outcome.APPROVE, (Reason("small", "at most 8 hours"),), policy_version="v1")
ASKS = Decision(
    Outcome.REQUIRE, (Reason("long", "more than a day"),), (StepSpec("managers", ("group:managers",)),), "v1"
)


async def asked(world: World, length: timedelta = 2 * DAY) -> Handle:
    """A lease that nobody had to approve, and whose owner has just asked for a later end that people decide on."""
    world.decision = FREE
    handle = await world.ask()
    lease = await world.until(handle, State.ACTIVE)
    world.decision = ASKS
    answer = await world.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + length, reason="one more epoch")
    assert (answer.ok, answer.ends_at) == (True, lease.ends_at)
    assert answer.message.startswith(
        f"{handle.id}: not extended yet: managers (group:managers) is asked to approve it, "
        "because of long: more than a day. It keeps its end, and runs until "
    )
    return handle


async def test_an_extension_is_asked_for_and_granted(world: World) -> None:
    handle = await asked(world)
    before = await world.lease(handle)
    await world.told(handle, "extension-asked")
    for person in (REQUESTER, MANAGER, ADMIN):
        refused = await world.act(handle, Verb.GRANT, person)
        assert (refused.ok, refused.code) == (False, "own-request" if person is REQUESTER else "not-approver")
    granted = await world.act(handle, Verb.GRANT, SECOND)
    assert (granted.ok, granted.ends_at) == (True, before.ends_at + 2 * DAY)
    after = await world.lease(handle)
    assert (after.wish, after.extensions) == (None, 1)
    await world.when(handle, lambda _: world.cloud.ends.get(handle.id) == granted.ends_at, "the end on the machine")
    await world.told(handle, "extension-decided")
    assert world.events(handle)[-2:] == ["extension-granted", "extended"]


async def test_a_lease_does_not_die_while_its_approver_sleeps_but_not_for_ever(world: World) -> None:
    handle = await asked(world)
    lease = await world.lease(handle)
    await world.when(handle, lambda _: world.cloud.ends.get(handle.id) == lease.runs_until, "the end put off")
    await world.sleep(8 * HOUR + MINUTE)
    assert (await world.lease(handle)).state is State.ACTIVE
    assert "reminded" in world.events(handle)
    await world.sleep(DAY)
    stopped = await world.until(handle, State.STOPPED)
    events = world.events(handle)
    assert events.index("extension-lapsed") < events.index("ended") < events.index("stopped")
    assert stopped.warned
    assert stopped.stopped_at <= lease.ends_at + DAY + HOUR


async def test_a_rejection_ends_it_as_it_was(world: World) -> None:
    handle = await asked(world)
    lease = await world.lease(handle)
    silent = await world.act(handle, Verb.REJECT, SECOND)
    assert (silent.ok, silent.code) == (False, "no-reason")
    assert (await world.act(handle, Verb.REJECT, SECOND, reason="too dear")).ok
    assert (await world.lease(handle)).runs_until == lease.ends_at
    await world.told(handle, "extension-decided")
    await world.sleep(lease.ends_at - await world.env.get_current_time() + MINUTE)
    assert (await world.until(handle, State.STOPPED)).ends_at == lease.ends_at


async def test_so_many_extensions_are_free_and_later_ones_are_approved(world: World) -> None:
    handle = await world.active()
    world.decision = FREE
    for _ in range(2):
        lease = await world.lease(handle)
        assert (await world.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + HOUR)).ok
    lease = await world.lease(handle)
    assert (lease.extensions, lease.wish) == (2, None)
    third = await world.act(handle, Verb.EXTEND, REQUESTER, until=lease.ends_at + HOUR)
    assert (third.ok, third.ends_at) == (True, lease.ends_at)
    wish = (await world.lease(handle)).wish
    assert [step.approvers for step in wish.steps] == [("lead:research",)]
    assert (await world.act(handle, Verb.GRANT, MANAGER)).ends_at == lease.ends_at + HOUR
    assert (await world.act(handle, Verb.EXTEND, MANAGER, until=lease.ends_at + 2 * HOUR)).ends_at > lease.ends_at


async def test_what_the_policy_denies_meanwhile_is_not_granted(world: World) -> None:
    handle = await asked(world)
    world.decision = Decision(Outcome.DENY, (Reason("freeze", "nothing runs over new year"),), policy_version="v2")
    refused = await world.act(handle, Verb.GRANT, SECOND)
    assert (refused.ok, refused.code) == (False, "policy")
    assert "freeze: nothing runs over new year" in refused.message
    assert (await world.lease(handle)).wish is not None


async def test_a_wish_that_nobody_can_decide_escalates_and_is_never_granted_by_silence(world: World) -> None:
    handle = await asked(world, 5 * DAY)
    await world.sleep(4 * HOUR + 5 * MINUTE)
    await world.when(handle, lambda _: "escalated" in world.events(handle), "the next level")
    escalated = await world.lease(handle)
    assert escalated.wish.steps[0].approvers != ("group:managers",)
    await world.sleep(3 * DAY)
    assert "extended" not in world.events(handle)


async def test_a_shorter_lease_is_warned_anew(world: World) -> None:
    handle = await world.active()
    lease = await world.lease(handle)
    until = lease.ready_at + 2 * HOUR
    answer = await world.act(handle, Verb.SHORTEN, REQUESTER, until=until, reason="done")
    assert (answer.ok, answer.ends_at) == (True, until)
    await world.told(handle, "shortened")
    await world.sleep(2 * HOUR + MINUTE)
    stopped = await world.until(handle, State.STOPPED)
    assert (stopped.ends_at, len(stopped.warned)) == (until, 3)
    longer = await world.act(handle, Verb.SHORTEN, REQUESTER, until=until)
    assert (longer.ok, longer.code) == (False, "wrong-state")


async def test_coming_back_from_grace_is_no_way_around_the_number_of_extensions(world: World) -> None:
    world.terms = Terms(auto_extensions=0)
    handle = await world.active()
    await world.act(handle, Verb.RELEASE, REQUESTER)
    stopped = await world.until(handle, State.STOPPED)
    world.decision = FREE
    until = stopped.stopped_at + 6 * HOUR
    refused = await world.act(handle, Verb.RESTORE, REQUESTER, until=until)
    assert (refused.ok, refused.code) == (False, "needs-approval")
    assert (await world.act(handle, Verb.RESTORE, MANAGER, until=until)).ok
