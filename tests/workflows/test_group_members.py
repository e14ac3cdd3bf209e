"""Machines that a group would replace are not touched one by one (case C21): an idle lease of them runs on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.contracts import GROUP_MEMBER, NOT_STOPPABLE, Verb
from lessor.domain import pausing, rungs
from lessor.domain.errors import Refused
from lessor.domain.ladder import Rung, Spared, Why
from lessor.domain.lease import State
from lessor.domain.resource import Condition
from lessor.ports import PermanentError
from tests.idleness import DAY, HOUR, after, twice_warned
from tests.steering import Script
from tests.workflows.test_idle import at, idle, told
from tests.world import REQUESTER, World

MINUTE = timedelta(minutes=1)
WHY = "i-0aaa belongs to the auto scaling group train, which would replace it; it was not stopped"


async def test_an_idle_lease_of_group_members_runs_on_and_is_tried_again_a_day_later(world: World) -> None:
    world.script = Script()
    world.cloud.fail["stop"] = [PermanentError(WHY, GROUP_MEMBER)]
    handle, since = await idle(world)
    await at(world, since + 105 * MINUTE)
    await told(world, handle, Rung.WARN, Rung.FINAL)
    await at(world, since + 120 * MINUTE)
    await world.told(handle, "stop-failed")
    lease = await told(world, handle, Rung.WARN)
    assert (lease.state, lease.pause, lease.problem) == (State.ACTIVE, None, WHY)
    assert lease.spared
    assert lease.idle
    assert lease.idle.told[0].barred
    assert [machine.condition for machine in world.cloud.alive(handle.id)] == [Condition.RUNNING]
    assert lease.spans[-1].end is None
    assert world.cloud.times("stop") == 1
    await at(world, since + 20 * HOUR)
    assert world.cloud.times("stop") == 1
    assert lease.spared.until
    await at(world, lease.spared.until + 61 * MINUTE)
    stopped = await world.when(handle, lambda found: found.suspended_at is not None, "a stop, out of the group")
    assert stopped.pause
    assert stopped.pause.why is Why.IDLE


@pytest.mark.parametrize("code", [GROUP_MEMBER, NOT_STOPPABLE])
async def test_who_asks_for_a_stop_that_cannot_be_hears_why_not(world: World, code: str) -> None:
    world.cloud.fail["stop"] = [PermanentError(WHY, code)]
    handle = await world.active()
    assert (await world.act(handle, Verb.STOP, REQUESTER)).ok
    await world.told(handle, "stop-failed")
    lease = await world.lease(handle)
    assert (lease.state, lease.pause, lease.spared) == (State.ACTIVE, None, None)


def test_what_runs_on_says_why_and_until_when() -> None:
    ladder = twice_warned()
    lease = pausing.pause(ladder, Why.IDLE, "lessor", "idle", after(2 * HOUR)).lease
    change = pausing.runs_on(lease, WHY, after(2 * HOUR))
    assert [(event.type, event.data) for event in change.events] == [("stop-failed", {"problem": WHY})]
    assert change.lease.spared == Spared("lessor", after(2 * HOUR), WHY, after(2 * HOUR) + DAY)
    assert rungs.barred(change.lease, after(3 * HOUR)) == f"it is not tried again until 2026-11-28 12:15 UTC: {WHY}"
    assert rungs.barred(change.lease, after(26 * HOUR)) == ""
    with pytest.raises(Refused, match="is active"):
        pausing.runs_on(ladder, WHY, after(2 * HOUR))
