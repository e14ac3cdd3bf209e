"""Governance cases of whose a lease is, as people meet them: owners who are gone, teams, people in many spellings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import Verb
from lessor.domain import ownership
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.ports import Team
from lessor.sandbox.slack import visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import MANAGER, REQUESTER, World

__all__ = ["slack", "world"]

HALF_AN_HOUR = timedelta(minutes=30)


async def test_F01_a_closed_account_gets_no_message_and_the_team_hears_in_its_place(world: World) -> None:
    """Blocked counts as gone, although Slack would still take a message that nobody reads."""
    lease = await world.running(await world.ask())
    await world.slack.change_person("requester", deleted=True)
    world.forget_profiles()
    before = len(world.slack.core.store.posts["D0REQUESTER"])
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert delivery.delivered
    assert len(world.slack.core.store.posts["D0REQUESTER"]) == before
    assert lease.id in visible_text(await world.slack.person("manager").wait_for_message("ends in 30 min"))
    assert world.engine.leases[lease.id].ends_at == lease.ends_at


async def test_F02_what_was_copied_at_the_request_holds_when_owner_and_team_are_gone(world: World) -> None:
    """The directory forgets the owner and the team has another lead: the lease still knows whom to ask and to bill."""
    world.directory.teams["research"] = replace(world.directory.teams["research"], cost_center="4711")
    lease = await world.running(await world.ask())
    assert (lease.request.lead, lease.request.cost_center) == (MANAGER.id, "4711")
    world.directory.people = [one for one in world.directory.people if one.id != REQUESTER.id]
    world.directory.teams["research"] = Team("research", "Research", lead="U0NOBODY", cost_center="0815")
    delivery = await world.warn(lease, HALF_AN_HOUR)
    assert (delivery.delivered, delivery.via) == (True, "slack:dm")
    assert lease.id in visible_text(await world.slack.person("manager").wait_for_message("ends in 30 min"))
    kept = world.ledger.lease(lease.id)
    assert kept is not None
    assert (kept.owner, kept.request.team, kept.request.cost_center) == (REQUESTER.id, "research", "4711")


async def test_F03_a_lease_of_the_team_warns_its_channel_once_and_every_member_may_act(world: World) -> None:
    member, stranger = Person("U0MEMBER", teams=("research",)), Person("U0STRANGER", teams=("vision",))
    world.directory.people += [member, stranger]
    lease = await world.running(await world.ask())
    lease = await world.move(lease, ownership.share, None, REQUESTER.id, world.clock())
    for _ in range(2):
        await world.warn(lease, HALF_AN_HOUR)
    channel = await world.slack.person("manager").messages("team-research")
    assert len([one for one in channel if "ends in 30 min" in visible_text(one)]) == 1
    world.directory.closed.add(REQUESTER.id)
    assert (await world.act(lease, Verb.KEEP, stranger.id)).code == "not-owner"
    assert (await world.act(lease, Verb.EXTEND, member.id, until=lease.ends_at + HALF_AN_HOUR)).ok
    assert (await world.act(lease, Verb.RELEASE, member.id)).ok
    assert world.engine.leases[lease.id].request.team == "research"


async def test_F36_every_spelling_of_a_person_is_the_same_one_or_nobody(world: World) -> None:
    """An owner is one person whatever they are called; a name that two have is nobody's until it is said exactly."""
    ana = Person("U0AAA1111", email="ana.diaz@x.test", name="Ana Diaz", teams=("research",))
    world.directory.people.append(ana)
    spellings = ("Ana.Diaz@X.test", "ana.diaz@x.test", "U0AAA1111", "u0aaa1111", "ana.diaz")
    assert [(await world.gateway.named(one)).id for one in spellings] == [ana.id] * 5
    world.directory.people[-1] = replace(ana, ids=("W0AAA1111", "a.diaz@old.test"))
    assert (await world.gateway.named("a.diaz@old.test")).id == ana.id
    world.directory.people.append(Person("U0BBB2222", email="ana.diaz@y.test"))
    assert (await world.gateway.named("U0AAA1111")).id == ana.id
    with pytest.raises(Refused) as two:
        await world.gateway.named("ana.diaz")
    assert two.value.code == "unresolved"
