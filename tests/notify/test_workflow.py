"""Through the workflow and its activity, with a Slack that is down: who is told by mail has been warned (law 4)."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

import aiohttp
import pytest
import pytest_asyncio
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment

from activities.messages import PATIENT_ATTEMPTS, MessageActivities
from bot.channels import Channels
from bot.directory import SlackDirectory
from bot.notifier import SlackNotifier
from bot.settings import SlackSettings
from bot.slack_client import SlackClient
from lessor.contracts import Alarm, Delivery, Notice, NotifyInput, PageInput, Verb
from lessor.domain.lease import State
from lessor.ledger import SqlLedger
from lessor.notify import Hook, LetterWriter, Mailer, SmtpSender, Webhook
from lessor.sandbox.mail import MailServer as Sink
from tests.builders import ENDS, LEASE_ID, PEOPLE, READY, a_story
from tests.fakes import FakeDirectory, FakeNotifier
from tests.notify.receiving import Receiver
from tests.notify.sending import to
from tests.workflows.conftest import server
from tests.world import MANAGER, REQUESTER, World, idle_world

__all__ = ["server"]

HALF_AN_HOUR = timedelta(minutes=30)
SETTINGS = SlackSettings("Example", "gpu-approvals", "", "gpu-admins")


@dataclass
class Down:
    """A Slack that nobody answers for, with what lies behind it."""

    client: SlackClient
    session: aiohttp.ClientSession

    def channels(self, sink: Sink, directory: FakeDirectory, book: SqlLedger, hook: Hook | None = None) -> Channels:
        mail = Mailer(SmtpSender(to(sink)), LetterWriter("Example"), book)
        people = SlackDirectory(directory, self.client)
        by_slack = SlackNotifier(self.client, people, book, SETTINGS, None, mail)
        return Channels(by_slack, Webhook(hook, self.session, book) if hook else None)


@pytest_asyncio.fixture
async def down() -> AsyncIterator[Down]:
    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with aiohttp.ClientSession() as session:
        yield Down(
            SlackClient("xoxb-x", base_url=f"http://127.0.0.1:{port}/api/", session=session, sleep=at_once), session
        )


@pytest_asyncio.fixture
async def world(server: WorkflowEnvironment) -> AsyncIterator[World]:
    async with idle_world(server) as made:
        yield made


async def test_a_lease_is_warned_by_mail_and_stopped_at_its_end(
    world: World, down: Down, sink: Sink, receiver: Receiver
) -> None:
    hook = Hook(receiver.url, "secret")
    world.notifier = cast(FakeNotifier, down.channels(sink, world.directory, world.ledger, hook))
    async with world.working():
        handle = await world.ask()
        await world.until(handle, State.AWAITING_APPROVAL)
        await world.sleep(timedelta(minutes=1))
        await world.eventually(lambda: bool(sink.postbox.mails), "the request in the manager's mail")
        assert (await world.act(handle, Verb.APPROVE, MANAGER)).ok
        ends_at = (await world.until(handle, State.ACTIVE)).ends_at
        outcome = await handle.result()
    assert outcome.state == "closed"
    warned = [one.event for one in world.ledger.events(handle.id) if one.event.type == "warned"]
    assert [event.data["via"] for event in warned] == ["email"] * 3
    stopped = next(one.event.at for one in world.ledger.events(handle.id) if one.event.type == "stopped")
    assert ends_at is not None
    assert stopped >= ends_at
    subjects: defaultdict[str, list[str]] = defaultdict(list)
    for mail in reversed(sink.postbox.mails):
        subjects[mail.recipients[0]].append(str(mail.message["Subject"]))
    mine = subjects[REQUESTER.email]
    for words in ("ends in 30 min", "ends in 15 min", "ends in 5 min"):
        assert mine.count(f"{handle.id} {words}") == 1
    assert subjects["manager@example.com"] == [f"GPU request {handle.id} from U0REQUESTER waits for you"]
    posted = [headers["webhook-id"] for headers, _ in receiver.got]
    assert len(posted) == len(set(posted))
    assert {name.split("/")[1].split("-")[0] for name in posted} >= {"request", "ready", "warning", "stopped", "closed"}


async def test_without_mail_a_lease_that_nobody_could_be_warned_of_is_not_stopped(
    world: World, down: Down, sink: Sink
) -> None:
    world.notifier = cast(FakeNotifier, down.channels(sink, world.directory, world.ledger))
    sink.postbox.switch(greeting="421 closed")
    async with world.working():
        handle = await world.active()
        ends_at = (await world.lease(handle)).ends_at
        assert ends_at is not None
        await world.sleep(timedelta(hours=8, minutes=20))
        late = await world.lease(handle)
        assert (late.state, late.warned) == (State.ACTIVE, ())
        sink.postbox.switch(greeting="")
        assert (await handle.result()).state == "closed"
    warned = [one.event for one in world.ledger.events(handle.id) if one.event.type == "warned"]
    assert warned[0].at > ends_at
    assert {event.data["via"] for event in warned} == {"email"}


async def attempts(told: MessageActivities, wanted: NotifyInput, most: int = 8) -> tuple[int, Delivery]:
    """The activity as Temporal runs it: again and again until it answers; the number of the attempt that did."""
    for attempt in range(1, most + 1):
        environment = ActivityEnvironment()
        environment.info = replace(environment.info, attempt=attempt)
        try:
            return attempt, await environment.run(told.notify, wanted)
        except aiohttp.ClientError:
            continue
    raise AssertionError("it never answered")


async def test_the_first_attempts_wait_for_slack_and_the_next_one_mails_once(
    down: Down, sink: Sink, book: SqlLedger
) -> None:
    lease, events = a_story(State.ACTIVE)
    book.record(lease, events)
    channels = down.channels(sink, FakeDirectory(PEOPLE), book)
    told = MessageActivities(channels, book, lambda: ENDS - HALF_AN_HOUR)
    wanted = NotifyInput(LEASE_ID, Notice.WARNING, lease.revision, HALF_AN_HOUR)
    attempt, delivery = await attempts(told, wanted)
    assert (attempt, delivery.delivered, delivery.via) == (PATIENT_ATTEMPTS + 1, True, "email")
    assert delivery.problem == "U0REQUESTER: Slack: ClientConnectorError"
    await attempts(told, wanted)
    assert [mail.recipients for mail in sink.postbox.mails] == [("requester@example.test",)]


async def test_pages_are_mailed_after_the_same_patience(down: Down, sink: Sink, book: SqlLedger) -> None:
    people = [replace(p, email=f"{p.id}@example.com".lower()) for p in PEOPLE]
    told = MessageActivities(down.channels(sink, FakeDirectory(people), book), book, lambda: READY)
    environment = ActivityEnvironment()
    wanted = PageInput(Alarm.UNREAD, "research-us", "access denied")
    with pytest.raises(aiohttp.ClientError):
        await environment.run(told.page, wanted)
    environment.info = replace(environment.info, attempt=PATIENT_ATTEMPTS + 1)
    assert (await environment.run(told.page, wanted)).via == "email"
    assert [mail.recipients for mail in sink.postbox.mails] == [("u0admin@example.com",)]
