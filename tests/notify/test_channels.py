"""Slack first, then mail, person by person; besides Slack where that is wanted; events beside all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from lessor.contracts import Alarm, Delivery, Notice, PageInput
from lessor.domain.pending import CoOwner
from lessor.notify import Hook, Webhook
from lessor.notify.webhook import Tries
from lessor.ports import Team
from lessor.sandbox.mail import MailServer as Sink
from lessor.sandbox.slack import visible_text
from tests.bot.fixtures import slack, world
from tests.bot.world import World
from tests.notify.receiving import Receiver
from tests.notify.scene import Scene, running

__all__ = ["slack", "world"]


@pytest.fixture(autouse=True)
def everybody_has_mail(world: World) -> Iterator[None]:
    people = world.directory.people
    world.directory.people = [
        replace(p, email=f"{p.id[2:].lower()}@example.com", name=p.id[2:].title()) for p in people
    ]
    yield
    world.directory.people = people


@pytest.fixture
def scene(world: World, sink: Sink) -> Scene:
    return Scene(world, sink)


async def test_while_slack_delivers_nothing_is_mailed(scene: Scene) -> None:
    lease = await running(scene.world)
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    assert scene.mailed() == []


async def test_somebody_whom_slack_refuses_gets_mail_and_the_chain_ends_there(scene: Scene) -> None:
    lease = await running(scene.world)
    await scene.world.slack.add_fault("error", "chat.postMessage", times=None, error="messages_tab_disabled")
    delivery = await scene.warn(lease)
    assert delivery == Delivery(True, "email", "U0REQUESTER: messages_tab_disabled", owner=True)
    assert scene.mailed() == [("requester@example.com", f"{lease.id} ends in 30 min")]
    assert "mails you this because Slack did not deliver it to you." in scene.sink.postbox.mails[0].body("plain")


async def test_while_there_is_patience_slack_is_waited_for(scene: Scene) -> None:
    lease = await running(scene.world)
    await scene.slack_is_down()
    with pytest.raises(SlackApiError):
        await scene.warn(lease)
    assert scene.mailed() == []


async def test_without_patience_mail_goes_out_once_and_slack_has_its_message_later(scene: Scene) -> None:
    lease = await running(scene.world)
    await scene.slack_is_down()
    for _ in range(2):
        delivery = await scene.warn(lease, patient=False)
        assert delivery == Delivery(True, "email", "U0REQUESTER: internal_error", owner=True)
    assert scene.mailed() == [("requester@example.com", f"{lease.id} ends in 30 min")]
    await scene.world.slack.clear_faults()
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    assert len(scene.mailed()) == 1


async def test_without_patience_and_without_an_address_the_next_person_is_told(scene: Scene) -> None:
    lease = await running(scene.world)
    people = scene.world.directory.people
    scene.world.directory.people = [replace(p, email="") if p.id == "U0REQUESTER" else p for p in people]
    await scene.slack_is_down()
    delivery = await scene.warn(lease, patient=False)
    assert (delivery.delivered, delivery.via) == (True, "email")
    assert scene.mailed() == [("manager@example.com", f"{lease.id} ends in 30 min")]
    assert "The lease belongs to Requester." in scene.sink.postbox.mails[0].body("plain")


@pytest.mark.parametrize("fault", [{"greeting": "421 closed"}, {"data": "452 full"}, {"recipient": "550 nobody"}])
async def test_when_nothing_works_it_is_tried_again(scene: Scene, fault: dict[str, str]) -> None:
    lease = await running(scene.world)
    await scene.slack_is_down()
    scene.sink.postbox.switch(**fault)
    with pytest.raises(SlackApiError):
        await scene.warn(lease, patient=False)


async def test_a_mailbox_that_is_refused_passes_it_on_to_the_lead_s_slack(scene: Scene) -> None:
    lease = await running(scene.world)
    direct = await scene.world.client.conversations_open(users="U0REQUESTER")
    await scene.gone("requester")
    scene.sink.postbox.switch(recipient="550 5.1.1 no such mailbox", whom="requester@")
    delivery = await scene.warn(lease)
    assert direct["ok"]
    assert delivery == Delivery(True, "slack:dm", "U0REQUESTER is deactivated")
    assert scene.mailed() == []


async def test_mail_to_a_deactivated_account_is_sent_and_does_not_count(scene: Scene) -> None:
    lease = await running(scene.world)
    await scene.gone("requester")
    delivery = await scene.warn(lease)
    assert delivery == Delivery(True, "slack:dm", "U0REQUESTER is deactivated; mailed besides, which does not count")
    assert scene.mailed() == [("requester@example.com", f"{lease.id} ends in 30 min")]
    told = await scene.world.slack.person("manager").wait_for_message("ends in 30 min")
    assert "cannot be reached" in visible_text(told)


async def test_who_is_inactive_in_the_configuration_is_told_nothing(scene: Scene) -> None:
    lease = await running(scene.world)
    people = scene.world.directory.people
    left = [replace(p, active=False, listed=False) if p.id == "U0REQUESTER" else p for p in people]
    scene.world.directory.people = left
    delivery = await scene.warn(lease)
    assert delivery == Delivery(True, "slack:dm", "U0REQUESTER is deactivated")
    assert scene.mailed() == []


def with_delegate(world: World, person_id: str, delegate: str, away_until: datetime | None = None) -> None:
    world.directory.people = [
        replace(p, delegate=delegate, away_until=away_until) if p.id == person_id else p for p in world.directory.people
    ]


async def test_the_chain_is_owner_delegate_lead_lead_s_delegate_team_delegate_channel_admins(scene: Scene) -> None:
    world = scene.world
    lease = await running(world)
    with_delegate(world, "U0REQUESTER", "U0FINANCE")
    with_delegate(world, "U0MANAGER", "U0MANAGER2")
    world.directory.teams["research"] = Team(
        "research", "Research", lead="U0MANAGER", channel="team-research", delegate="U0ADMIN"
    )
    heard: list[str] = []
    for name, before in (("requester", 29), ("finance", 28), ("manager", 27), ("manager-2", 26), ("admin", 25)):
        scene.sink.postbox.switch(recipient="550 nobody", whom="@")
        delivery = await scene.warn(lease, timedelta(minutes=before))
        assert delivery.via == "slack:dm"
        told = await world.slack.person(name).wait_for_message(f"ends in {before} min")
        heard.append(name)
        assert f"ends in {before} min" in visible_text(told)
        await scene.gone(name)
    delivery = await scene.warn(lease, timedelta(minutes=24))
    assert (delivery.delivered, delivery.via) == (True, "slack:channel")
    assert heard == ["requester", "finance", "manager", "manager-2", "admin"]


async def test_while_the_owner_is_away_the_delegate_hears_it_too(scene: Scene) -> None:
    world = scene.world
    lease = await running(world)
    until = world.clock() + timedelta(days=3)
    with_delegate(world, "U0REQUESTER", "U0FINANCE", until)
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    await world.slack.person("requester").wait_for_message("ends in 30 min")
    told = visible_text(await world.slack.person("finance").wait_for_message("ends in 30 min"))
    assert "You get this because <@U0REQUESTER>, who owns it, is away until " in told
    with_delegate(world, "U0REQUESTER", "U0FINANCE", world.clock() - timedelta(seconds=1))
    await scene.warn(lease, timedelta(minutes=15))
    finance = [visible_text(m) for m in await world.slack.person("finance").dms()]
    assert [text for text in finance if "ends in 15 min" in text] == []


async def test_co_owners_are_warned_and_the_owner_s_hearing_decides(scene: Scene) -> None:
    world = scene.world
    lease = replace(await running(world), co_owners=(CoOwner("U0FINANCE", ("U0FINANCE",)), CoOwner("U0ADMIN")))
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    for name in ("requester", "finance", "admin"):
        told = visible_text(await world.slack.person(name).wait_for_message("ends in 30 min"))
        assert "You get this because" not in told
    await scene.slack_is_down()
    scene.sink.postbox.switch(recipient="550 nobody", whom="requester@")
    with pytest.raises(SlackApiError):
        await scene.warn(lease, timedelta(minutes=15))


async def test_a_co_owner_whom_nothing_reaches_spoils_nothing(scene: Scene) -> None:
    world = scene.world
    lease = replace(await running(world), co_owners=(CoOwner("U0FINANCE"), CoOwner("U0ADMIN")))
    await scene.gone("finance")
    scene.sink.postbox.switch(recipient="550 5.1.1 nobody", whom="finance@")
    delivery = await scene.warn(lease)
    assert delivery == Delivery(True, "slack:dm", "U0FINANCE is deactivated", owner=True)
    await world.slack.person("admin").wait_for_message("ends in 30 min")


async def test_notices_that_are_always_mailed_are_mailed_besides(world: World, sink: Sink) -> None:
    scene = Scene(world, sink, always=frozenset({Notice.WARNING}))
    lease = await running(world)
    for _ in range(2):
        assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    await scene.channels.notify(lease, Notice.READY, timedelta(), world.clock(), revision=lease.revision)
    assert scene.mailed() == [("requester@example.com", f"{lease.id} ends in 30 min")]
    assert "mails you this besides its message in Slack." in sink.postbox.mails[0].body("plain")


async def test_mail_besides_that_fails_is_on_record_and_changes_nothing(world: World, sink: Sink) -> None:
    scene = Scene(world, sink, always=frozenset({Notice.WARNING}))
    lease = await running(world)
    sink.postbox.switch(data="452 4.2.2 mailbox full")
    delivery = await scene.warn(lease)
    assert delivery == Delivery(
        True,
        "slack:dm",
        f"U0REQUESTER by mail: mail server 127.0.0.1:{sink.port} answered 452 4.2.2 mailbox full",
        owner=True,
    )
    sink.postbox.switch(data="")
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    assert len(scene.mailed()) == 1


async def test_mail_besides_goes_out_although_slack_is_waited_for(world: World, sink: Sink) -> None:
    scene = Scene(world, sink, always=frozenset({Notice.WARNING}))
    lease = await running(world)
    await scene.slack_is_down()
    for _ in range(2):
        with pytest.raises(SlackApiError):
            await scene.warn(lease)
    assert scene.mailed() == [("requester@example.com", f"{lease.id} ends in 30 min")]
    assert (await scene.warn(lease, patient=False)).via == "email"
    assert len(scene.mailed()) == 1


async def test_approvers_whom_slack_cannot_reach_are_mailed_the_request(scene: Scene) -> None:
    world = scene.world
    lease = await world.ask()
    await scene.slack_is_down()
    lease = replace(lease, id="gpu-00000001")
    delivery = await scene.channels.notify(lease, Notice.REQUEST, timedelta(), world.clock(), revision=1, patient=False)
    assert (delivery.delivered, delivery.via) == (True, "email")
    subjects = dict(scene.mailed())
    assert subjects["manager@example.com"] == "GPU request gpu-00000001 from Requester waits for you"
    assert subjects["requester@example.com"] == "Your GPU request waits: gpu-00000001"


async def test_administrators_are_paged_by_mail_when_slack_is_down(scene: Scene) -> None:
    wanted = PageInput(Alarm.BRAKE, "research-us", "9 of 10 machines vanished")
    await scene.slack_is_down()
    with pytest.raises(SlackApiError):
        await scene.channels.page(wanted, scene.world.clock())
    for _ in range(2):
        delivery = await scene.channels.page(wanted, scene.world.clock(), patient=False)
        assert (delivery.delivered, delivery.via) == (True, "email")
    assert scene.mailed() == [("admin@example.com", "Needs a look: brake (research-us)")]


async def test_an_event_is_posted_beside_and_its_failure_repeats_nothing(
    world: World, sink: Sink, receiver: Receiver, session: aiohttp.ClientSession
) -> None:
    hook = Hook(receiver.url, "secret")
    webhook = Webhook(hook, session, world.ledger, Tries(pauses=()))
    scene = Scene(world, sink, webhook)
    lease = await running(world)
    receiver.statuses = [500]
    delivery = await scene.warn(lease)
    assert delivery == Delivery(True, "slack:dm", "webhook 127.0.0.1 answered 500", owner=True)
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    assert await scene.warn(lease) == Delivery(True, "slack:dm", owner=True)
    assert len(receiver.got) == 2
    messages = [visible_text(m) for m in await world.slack.person("requester").dms()]
    assert len([text for text in messages if "ends in 30 min" in text]) == 1


async def test_an_event_is_posted_although_slack_is_down(
    world: World, sink: Sink, receiver: Receiver, session: aiohttp.ClientSession
) -> None:
    scene = Scene(world, sink, Webhook(Hook(receiver.url, "secret"), session, world.ledger))
    lease = await running(world)
    await scene.slack_is_down()
    for _ in range(3):
        with pytest.raises(SlackApiError):
            await scene.warn(lease)
    assert len(receiver.got) == 1
