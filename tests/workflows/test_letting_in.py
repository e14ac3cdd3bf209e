"""With whom a lease is shared stands on its resources, since some places let people in by name."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

from lessor.contracts import Verb
from lessor.domain.lease import State
from lessor.domain.people import Person
from tests.world import MANAGER, REQUESTER, World

OTHER = Person("U0OTHER", email="other@example.com", teams=("research",))


async def test_who_shares_a_lease_is_let_in_and_locked_out_again(world: World) -> None:
    world.directory.people.append(OTHER)
    handle = await world.active()
    for verb, to, inside in (
        (Verb.SHARE, OTHER.id, (REQUESTER.id, OTHER.id)),
        (Verb.SHARE, "team", (REQUESTER.id, OTHER.id, "team:research")),
        (Verb.UNSHARE, OTHER.id, (REQUESTER.id, "team:research")),
        (Verb.UNSHARE, "team", (REQUESTER.id,)),
    ):
        assert (await world.act(handle, verb, REQUESTER, to=to)).ok
        await let_in(world, handle.id, inside)


async def test_who_shares_it_while_it_is_made_is_let_in_once_it_is_there(world: World, monkeypatch: Any) -> None:
    """What is made carries those whose it was when that began."""
    world.directory.people.append(OTHER)
    made, launch, orders = threading.Event(), world.cloud.launch, []

    def slow(order: Any, *rest: Any) -> Any:
        orders.append(order.co_owners)
        assert made.wait(30)
        return launch(order, *rest)

    monkeypatch.setattr(world.cloud, "launch", slow)
    handle = await world.ask()
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.PROVISIONING)
    await world.eventually(lambda: bool(orders), "a launch")
    assert (await world.act(handle, Verb.SHARE, REQUESTER, to=OTHER.id)).ok
    made.set()
    await world.until(handle, State.ACTIVE)
    await let_in(world, handle.id, (REQUESTER.id, OTHER.id))
    assert orders == [()]


async def test_who_shares_it_before_is_let_in_from_the_start(world: World, monkeypatch: Any) -> None:
    world.directory.people.append(OTHER)
    launch, orders = world.cloud.launch, []

    def seen(order: Any, *rest: Any) -> Any:
        orders.append(order.co_owners)
        return launch(order, *rest)

    monkeypatch.setattr(world.cloud, "launch", seen)
    now = await world.env.get_current_time()
    handle = await world.ask(start=now + timedelta(hours=2))
    await world.until(handle, State.AWAITING_APPROVAL)
    assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
    await world.until(handle, State.APPROVED)
    assert (await world.act(handle, Verb.SHARE, REQUESTER, to=OTHER.id)).ok
    await world.sleep(timedelta(hours=2))
    await world.until(handle, State.ACTIVE)
    assert orders == [(OTHER.id,)]
    assert handle.id not in world.cloud.let_in


async def let_in(world: World, lease_id: str, inside: tuple[str, ...]) -> None:
    await world.eventually(lambda: world.cloud.let_in.get(lease_id) == inside, f"{inside} let in")
