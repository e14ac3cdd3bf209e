"""What an operator, a deploy or a long life may do to a lease: nothing is lost and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from lessor.contracts import Act, Answer, Verb
from lessor.domain.lease import State
from tests.world import MANAGER, REQUESTER, World


async def test_withdrawing_during_provisioning_undoes_what_was_created(world: World) -> None:
    reached, go = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        assert go.wait(10)

    world.cloud.before["await_usable"] = wait
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    await asyncio.to_thread(reached.wait, 10)
    assert len(world.cloud.alive(handle.id)) == 1
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    go.set()
    outcome = await handle.result()
    assert outcome.state == "withdrawn"
    assert world.cloud.alive(handle.id) == []
    assert len(world.cloud.machines) == 1
    assert world.ledger.held("research") == ()


async def test_many_acts_at_once_are_all_answered(world: World) -> None:
    handle = await world.active()
    ends_at = (await world.lease(handle)).ends_at

    async def extend(number: int) -> Answer:
        act = Act(f"many-{number}", Verb.EXTEND, REQUESTER.id, until=ends_at + timedelta(minutes=number + 1))
        return await handle.execute_update("extend", act, id=act.id, result_type=Answer)

    for start in range(0, 24, 8):
        answers = await asyncio.gather(*(extend(n) for n in range(start, start + 8)))
        assert all(a.code in ("extend", "end-not-later") for a in answers)
    assert (await world.lease(handle)).ends_at == ends_at + timedelta(minutes=24)


def test_no_thread_is_struck_by_an_exception_while_it_holds_a_lock() -> None:
    """Temporal can throw a cancellation into a running thread; one that hit a ledger's lock kept it for ever."""
    classes = (AssessmentActivities, MessageActivities, ProvisioningActivities, RecordActivities, SweepActivities)
    methods = [(f"{kind.__name__}.{name}", method) for kind in classes for name, method in vars(kind).items()]
    declared = [(name, getattr(method, "__temporal_activity_definition", None)) for name, method in methods]
    blocking = [(name, found) for name, found in declared if found is not None and not found.is_async]
    assert len(blocking) >= 9
    assert [name for name, found in blocking if not found.no_thread_cancel_exception] == []
