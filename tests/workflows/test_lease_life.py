"""The whole life of a lease, thirty days in milliseconds, on a real Temporal server with the clock skipped."""

from __future__ import annotations

from datetime import timedelta

from lessor.contracts import Verb
from lessor.domain.lease import State
from tests.world import MANAGER, REQUESTER, World


async def test_a_lease_lives_from_request_to_proven_deletion(world: World) -> None:
    handle = await world.ask()
    waiting = await world.until(handle, State.AWAITING_APPROVAL)
    assert waiting.quote is not None
    answer = await world.act(handle, Verb.APPROVE, MANAGER)
    assert (answer.ok, answer.code) == (True, "approve")
    active = await world.until(handle, State.ACTIVE)
    assert active.ends_at == active.ready_at + timedelta(hours=8)
    assert [m.id for m in world.cloud.alive(handle.id)] == [r.id for r in active.resources]
    outcome = await handle.result()
    assert outcome.state == "closed"
    assert world.cloud.alive(handle.id) == []
    assert world.events(handle) == [
        "requested",
        "assessed",
        "asked",
        "approval-given",
        "approved",
        "provisioning",
        "ready",
        "warned",
        "warned",
        "warned",
        "ended",
        "stopped",
        "deleting",
        "closed",
    ]
    assert world.notifier.kinds(handle.id) == [
        "request",
        "decided",
        "ready",
        "warning",
        "warning",
        "warning",
        "stopped",
        "closed",
    ]
    assert "gone" in outcome.proof
    assert world.ledger.held("research") == ()


async def test_the_requester_cannot_approve(world: World) -> None:
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    answer = await world.act(handle, Verb.APPROVE, REQUESTER)
    assert (answer.ok, answer.code) == (False, "own-request")
    assert world.events(handle)[-1] == "refused"
    assert (await world.act(handle, Verb.WITHDRAW, REQUESTER)).ok
    assert (await handle.result()).state == "withdrawn"
