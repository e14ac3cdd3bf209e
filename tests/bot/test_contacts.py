"""Whom lessor turns to when the owner is not the one to ask any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.sandbox.slack import visible_text
from tests.bot.world import REQUESTER, World


async def test_F04_who_was_removed_from_the_team_is_not_the_contact_any_more_but_its_lead_is(world: World) -> None:
    """The lease keeps its end and its team; nobody has to be reached who could not extend it anyway."""
    lease = await world.running(await world.ask())
    world.directory.people = [replace(p, teams=()) if p.id == REQUESTER.id else p for p in world.directory.people]
    before = len(world.slack.core.store.posts["D0REQUESTER"])
    delivery = await world.warn(lease, timedelta(minutes=30))
    assert (delivery.delivered, delivery.via) == (True, "slack:dm")
    assert lease.id in visible_text(await world.slack.person("manager").wait_for_message("ends in 30 min"))
    assert len(world.slack.core.store.posts["D0REQUESTER"]) == before
    kept = world.engine.leases[lease.id]
    assert (kept.ends_at, kept.request.team, kept.owner) == (lease.ends_at, "research", REQUESTER.id)


async def test_F04_the_former_member_hears_it_when_nobody_else_of_the_team_can(world: World) -> None:
    lease = await world.running(await world.ask())
    world.directory.people = [replace(p, teams=()) if p.id == REQUESTER.id else p for p in world.directory.people]
    world.directory.closed.add("U0MANAGER")
    delivery = await world.warn(lease, timedelta(minutes=30))
    assert delivery.delivered
    assert lease.id in visible_text(await world.slack.person("requester").wait_for_message("ends in 30 min"))
