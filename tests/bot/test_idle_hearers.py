"""Who hears that a lease does nothing: its owner alone, and somebody else where the owner cannot be reached."""

from __future__ import annotations

from dataclasses import replace

from lessor.contracts import Notice
from lessor.domain import idling
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.sandbox.slack import visible_text
from tests.bot.doing_nothing import HOUR, seen_idle, warned
from tests.bot.world import ADMIN, MANAGER, MANAGER_2, REQUESTER, World


async def test_E23_ten_leases_of_three_owners_are_ten_messages_to_their_owners_alone(world: World) -> None:
    owners = {"requester": REQUESTER.id, "manager": MANAGER.id, "admin": ADMIN.id}
    world.directory.people[-1] = replace(ADMIN, teams=("research",))
    ids: dict[str, list[str]] = {who: [] for who in owners}
    leases = []
    for number in range(10):
        who = list(owners)[number % 3]
        lease = await world.ask(requester=owners[who], purpose=f"purpose {number}")
        ids[who].append(lease.id)
        leases.append(await world.running(lease, by=MANAGER_2.id))
    world.clock.moved += 2 * HOUR
    now = world.clock()
    for lease in leases:
        evidence = Evidence(Verdict.IDLE, now - HOUR, now, 2, 2, 1.0, 0.0)
        await world.move(lease, idling.metered, evidence, IdleTerms(), now)
        world.engine.tell(lease.id, Notice.IDLE_WARNING)
    await world.settled()
    seen: set[str] = set()
    for who, own in ids.items():
        warnings = [visible_text(m) for m in await world.slack.person(who).dms() if "does nothing" in visible_text(m)]
        assert len(warnings) == len(own)
        found = {one for one in (lease.id for lease in leases) if any(one in text for text in warnings)}
        assert found == set(own)
        seen |= found
    assert len(seen) == 10


async def test_E24_without_the_owner_the_lead_hears_it_and_it_is_no_owner_who_was_reached(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    world.directory.people[0] = replace(REQUESTER, active=False)
    world.forget_profiles()
    _, delivery = await warned(world, lease)
    assert (delivery.delivered, delivery.owner) == (True, False)
    told = await world.slack.person("manager").wait_for_message("does nothing")
    assert "You get this because <@U0REQUESTER>, who owns it, cannot be reached." in visible_text(told)


async def test_E24_with_nobody_left_the_team_channel_then_administrators_hear_it(world: World) -> None:
    lease = await seen_idle(world, await world.running(await world.ask()))
    people = world.directory.people
    people[:] = [replace(one, active=False) for one in people]
    world.forget_profiles()
    await world.slack.change_channel("team-research", app_in=True)
    _, delivery = await warned(world, lease)
    assert (delivery.delivered, delivery.via, delivery.owner) == (True, "slack:channel", False)
