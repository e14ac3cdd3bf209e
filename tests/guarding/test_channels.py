"""What people read of the guard, by each channel; each one alone, with the others down, and each once."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from lessor.config import loads
from lessor.guarding.channels import Audience, HookChannel, MailChannel, SlackChannel, tell_all
from lessor.guarding.notebook import Notebook
from lessor.guarding.telling import audience
from lessor.guarding.tidings import Kind, Tiding
from lessor.guarding.words import SlackWords
from lessor.notify import Hook, LetterWriter, Mailer, SmtpSender
from lessor.notify.signature import is_genuine
from lessor.sandbox.mail import MailServer as Sink
from lessor.sandbox.mail import Postbox
from lessor.sandbox.slack import RunningSandbox, running_slack_sandbox
from tests.config.sample import VALID
from tests.guarding.scene import HOUR, LEASE, MINUTE, NOW
from tests.notify.receiving import Receiver, receiver
from tests.notify.sending import to

__all__ = ["receiver"]

LATE = Tiding(
    Kind.LATE,
    LEASE,
    "late-1-2",
    NOW,
    place="research",
    owner="U0REQUESTER",
    team="research",
    what="g5.xlarge in us-east-1",
    why="its end has passed by 3 h",
    ends=NOW - 3 * HOUR,
    stops_at=NOW + 30 * MINUTE,
)
ACROSS = Tiding(
    Kind.UNLEASED,
    "research",
    "unleased-2026-11-28",
    NOW,
    "research",
    lines=tuple(f"i-{n}: <!channel>" for n in range(40)),
)
CONCERNED = audience(lambda: loads(VALID))


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path / "guard.json", lambda: NOW)


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[RunningSandbox]:
    async with running_slack_sandbox() as running:
        yield running


@pytest_asyncio.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink(Postbox()) as running:
        yield running


def by_slack(slack: RunningSandbox, book: Notebook, channel: str = "gpu-admins") -> SlackChannel:
    return SlackChannel(slack.bot_token, slack.api_url, channel, SlackWords(), book)


def by_mail(sink: Sink, book: Notebook) -> MailChannel:
    return MailChannel(Mailer(SmtpSender(to(sink)), LetterWriter("Example"), book))


def texts(slack: RunningSandbox, channel: str) -> list[str]:
    place = slack.core.workspace.channel(channel)
    where = place.id if place else slack.core.store.direct(channel, slack.core.workspace.app.bot_user_id).id
    return [post.text for post in slack.core.store.posts.get(where, [])]


# -- whom it concerns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "team", "owners"),
    [
        ("U0REQUESTER", "research", ["U0REQUESTER"]),
        ("U0GONE", "research", ["U0MANAGER"]),
        ("", "research", ["U0MANAGER"]),
        ("U0GONE", "unheard-of", []),
        ("", "", []),
    ],
)
def test_owners_and_administrators_are_told_and_the_lead_where_nobody_knows_the_owner(
    owner: str, team: str, owners: list[str]
) -> None:
    found = CONCERNED(Tiding(Kind.LATE, LEASE, "x", NOW, owner=owner, team=team))
    assert [one.id for one in found.owners] == owners
    assert [one.id for one in found.admins] == ["U0ADMIN"]


def test_somebody_who_has_left_is_not_counted_on() -> None:
    left = loads(VALID.replace("tz: Europe/Berlin}", "tz: Europe/Berlin, active: false}"))
    found = audience(lambda: left)(LATE)
    assert [one.id for one in found.owners] == ["U0MANAGER"]


# -- Slack ------------------------------------------------------------------------------------------------------------


async def test_slack_tells_the_owner_and_the_administrators_channel_once(slack: RunningSandbox, book: Notebook) -> None:
    channel = by_slack(slack, book)
    for _ in range(2):
        heard = await channel.tell(LATE, CONCERNED(LATE), NOW)
        assert heard.via == ("slack:U0REQUESTER", "slack:gpu-admins")
        assert heard.problems == ()
    (text,) = texts(slack, "gpu-admins")
    assert texts(slack, "U0REQUESTER") == [text]
    stop = int((NOW + 30 * MINUTE).timestamp())
    assert text.startswith(f"*{LEASE} of Requester runs past its end and is stopped <!date^{stop}^")
    assert "What: g5.xlarge in us-east-1, in research. Its end was <!date^" in text
    assert "Its end has passed by 3 h." in text
    assert f"`/gpu extend {LEASE} WHEN`: if it is needed longer, and lessor answers" in text


async def test_what_machines_say_of_themselves_cannot_call_people(slack: RunningSandbox, book: Notebook) -> None:
    await by_slack(slack, book).tell(ACROSS, CONCERNED(ACROSS), NOW)
    (text,) = texts(slack, "gpu-admins")
    assert text.startswith("*40 things hold GPUs in research without a lease*")
    assert "- i-0: &lt;!channel&gt;" in text
    assert "<!channel>" not in text
    assert "- i-29: " in text
    assert "- i-30: " not in text
    assert "- and 10 more: `lessor guard --once --dry-run` shows all" in text


async def test_where_the_channel_refuses_the_owner_hears_it_all_the_same(slack: RunningSandbox, book: Notebook) -> None:
    heard = await by_slack(slack, book, "no-such-channel").tell(LATE, CONCERNED(LATE), NOW)
    assert heard.via == ("slack:U0REQUESTER",)
    assert heard.problems == ("slack:no-such-channel: channel_not_found",)


async def test_without_a_channel_each_administrator_is_told(slack: RunningSandbox, book: Notebook) -> None:
    heard = await by_slack(slack, book, "").tell(LATE, CONCERNED(LATE), NOW)
    assert heard.via == ("slack:U0REQUESTER", "slack:U0ADMIN")


async def test_a_slack_that_is_down_is_no_delivery(book: Notebook) -> None:
    channel = SlackChannel("xoxb-x", f"http://127.0.0.1:{closed_port()}/api/", "gpu-admins", SlackWords(), book)
    heard = await channel.tell(LATE, CONCERNED(LATE), NOW)
    assert heard.via == ()
    assert heard.problems[0] == "slack:U0REQUESTER: Slack cannot be reached (ClientConnectorError)"


# -- mail -------------------------------------------------------------------------------------------------------------


async def test_mail_tells_everybody_with_an_address_once_in_their_own_time(sink: Sink, book: Notebook) -> None:
    channel = by_mail(sink, book)
    for _ in range(2):
        heard = await channel.tell(LATE, CONCERNED(LATE), NOW)
        assert heard.via == ("email:U0REQUESTER", "email:U0ADMIN")
    mails = {one.recipients[0].casefold(): one for one in sink.postbox.mails}
    assert set(mails) == {"requester@example.com", "admin@example.com"}
    assert len(sink.postbox.mails) == 2
    mine = mails["requester@example.com"]
    assert mine.message["Subject"] == f"{LEASE} is past its end and will be stopped"
    text = " ".join(mine.body("plain").split())
    assert f"{LEASE} of Requester runs past its end and is stopped" in text
    assert "13:30" in text
    assert "whether or not Slack delivers it, as it matters when other things fail" in text


@pytest.mark.parametrize("kind", list(Kind))
async def test_every_tiding_has_words_of_its_own(kind: Kind, sink: Sink, book: Notebook, slack: RunningSandbox) -> None:
    tiding = Tiding(kind, LEASE, f"{kind}-1", NOW, "research", "U0REQUESTER", "research", lines=("one of them",))
    heard = await tell_all((by_mail(sink, book), by_slack(slack, book)), tiding, CONCERNED(tiding), NOW)
    assert heard.problems == ()
    (text, *_) = texts(slack, "gpu-admins")
    subject = sink.postbox.mails[0].message["Subject"]
    assert len(text.splitlines()[0]) > 20
    assert len(subject) > 20
    assert "one of them" in text


# -- events -----------------------------------------------------------------------------------------------------------


async def test_a_program_hears_it_signed_and_once_and_counts_as_nobody(receiver: Receiver, book: Notebook) -> None:
    secret = "a long random word"
    channel = HookChannel(Hook(receiver.url, secret, "/lessor/Example"), book, lambda: NOW)
    for _ in range(2):
        heard = await channel.tell(LATE, Audience(), NOW)
        assert (heard.via, heard.problems) == ((), ())
    ((headers, body),) = receiver.got
    assert is_genuine(secret, headers, body, NOW + timedelta(seconds=1))
    event = json.loads(body)
    assert (event["type"], event["id"]) == ("dev.lessor.guard.late", f"{LEASE}/guard-late-1-2")
    assert event["data"]["stops_at"] == "2026-11-28T12:30:00+00:00"
    assert event["data"]["owner"] == "U0REQUESTER"


# -- all together -----------------------------------------------------------------------------------------------------


async def test_each_channel_works_while_the_others_are_down(sink: Sink, book: Notebook, receiver: Receiver) -> None:
    down = SlackChannel("xoxb-x", f"http://127.0.0.1:{closed_port()}/api/", "gpu-admins", SlackWords(), book)
    receiver.statuses = [400]
    hook = HookChannel(Hook(receiver.url, "a long random word"), book, lambda: NOW)
    heard = await tell_all((down, by_mail(sink, book), hook), LATE, CONCERNED(LATE), NOW)
    assert heard.via == ("email:U0REQUESTER", "email:U0ADMIN")
    assert [one.split(":")[0] for one in heard.problems] == ["slack", "slack", "webhook"]


def closed_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
