"""What an operator, a deploy or a long life may do to a lease: nothing is lost and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading

from activities.assessment import AssessmentActivities
from activities.messages import MessageActivities
from activities.people import PeopleActivities
from activities.provisioning import ProvisioningActivities
from activities.record import RecordActivities
from activities.sweep import SweepActivities
from lessor.contracts import Verb
from lessor.domain.lease import State
from tests.world import MANAGER, REQUESTER, World


async def test_withdrawing_during_provisioning_undoes_what_was_created(world: World) -> None:
    reached, go = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        assert go.wait(60)

    world.cloud.before["await_usable"] = wait
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    await world.act(handle, Verb.APPROVE, MANAGER)
    await asyncio.to_thread(reached.wait, 60)
    assert len(world.cloud.alive(handle.id)) == 1
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    go.set()
    outcome = await handle.result()
    assert outcome.state == "withdrawn"
    assert world.cloud.alive(handle.id) == []
    assert len(world.cloud.machines) == 1
    assert world.ledger.held("research") == ()


def test_no_thread_is_struck_by_an_exception_while_it_holds_a_lock() -> None:
    """Temporal can throw a cancellation into a running thread; one that hit a ledger's lock kept it for ever."""
    classes = (AssessmentActivities, MessageActivities, PeopleActivities, ProvisioningActivities, RecordActivities)
    classes += (SweepActivities,)
    methods = [(f"{kind.__name__}.{name}", method) for kind in classes for name, method in vars(kind).items()]
    declared = [(name, getattr(method, "__temporal_activity_definition", None)) for name, method in methods]
    blocking = [(name, found) for name, found in declared if found is not None and not found.is_async]
    assert len(blocking) >= 9
    assert [name for name, found in blocking if not found.no_thread_cancel_exception] == []
