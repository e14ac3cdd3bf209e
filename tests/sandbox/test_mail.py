"""The sandbox's mail: what a mail server has to do, what its page shows, and how events are received."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest_asyncio
from aiohttp import web

from lessor.notify.signature import signed
from lessor.sandbox.mail import MailServer, Postbox
from lessor.sandbox.mail.server import make_application

MAIL = (
    b"From: lessor <gpu@example.com>\r\nTo: a@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n"
    b"Message-ID: <1@example.com>\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>hello</p>\r\n"
)


@dataclass
class Place:
    """A running mail server with its page."""

    server: MailServer
    session: aiohttp.ClientSession
    url: str

    @property
    def postbox(self) -> Postbox:
        return self.server.postbox

    async def talk(self, *lines: bytes) -> list[bytes]:
        """Say these lines, each after the answer to the one before; all answers, the greeting first."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        said = [await _answer(reader)]
        for line in lines:
            writer.write(line)
            said.append(await _answer(reader))
        writer.close()
        return said

    async def listing(self) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/api/mail") as answer:
            found: dict[str, Any] = await answer.json()
        return found

    async def post(self, path: str, **sent: Any) -> int:
        async with self.session.post(f"{self.url}{path}", **sent) as answer:
            return answer.status


async def _answer(reader: asyncio.StreamReader) -> bytes:
    lines = [await reader.readline()]
    while lines[-1][3:4] == b"-":
        lines.append(await reader.readline())
    return b"".join(lines)


@pytest_asyncio.fixture
async def place() -> AsyncIterator[Place]:
    postbox = Postbox()
    runner = web.AppRunner(make_application(postbox, "word"), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with MailServer(postbox) as server, aiohttp.ClientSession() as session:
        yield Place(server, session, f"http://127.0.0.1:{runner.addresses[0][1]}")
    await runner.cleanup()


async def test_a_conversation_from_greeting_to_goodbye(place: Place) -> None:
    said = await place.talk(
        b"EHLO there\r\n",
        b"MAIL FROM:<gpu@example.com> SIZE=100\r\n",
        b"RCPT TO:<a@example.com>\r\n",
        b"RCPT TO:<b@example.com>\r\n",
        b"DATA\r\n",
        MAIL.replace(b"<p>", b"..<p>") + b".\r\n",
        b"QUIT\r\n",
    )
    assert [line[:3] for line in said] == [b"220", b"250", b"250", b"250", b"250", b"354", b"250", b"221"]
    [mail] = place.postbox.mails
    assert (mail.sender, mail.recipients) == ("gpu@example.com", ("a@example.com", "b@example.com"))
    assert mail.raw == MAIL.replace(b"<p>", b".<p>")


async def test_what_is_out_of_order_or_unknown_is_refused_and_the_talk_goes_on(place: Place) -> None:
    said = await place.talk(
        b"RCPT TO:<a@example.com>\r\n",
        b"DATA\r\n",
        b"VRFY a\r\n",
        b"STARTTLS\r\n",
        b"AUTH CRAM-MD5\r\n",
        b"AUTH PLAIN %%%\r\n",
        b"MAIL FROM:<>\r\n",
        b"RSET\r\n",
        b"DATA\r\n",
        b"NOOP\r\n",
    )
    codes = [b"220", b"503", b"503", b"502", b"502", b"504", b"501", b"250", b"250", b"503", b"250"]
    assert [line[:3] for line in said] == codes


async def test_who_breaks_off_leaves_nothing_behind(place: Place) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", place.server.port)
    await reader.readline()
    writer.write(b"x" * 20_000)
    writer.close()
    await reader.read()
    assert list(place.postbox.mails) == []


async def test_the_listing_has_what_the_page_shows(place: Place) -> None:
    for raw in (MAIL, MAIL.replace(b"<1@", b"<2@"), MAIL):
        place.postbox.take_mail("gpu@example.com", ("a@example.com",), raw, encrypted=False, user="")
    mails = (await place.listing())["mails"]
    assert [(one["subject"], one["to"], one["repeated"]) for one in mails] == [
        ("Grüße", ["a@example.com"], True),
        ("Grüße", ["a@example.com"], False),
        ("Grüße", ["a@example.com"], False),
    ]
    assert ["Message-ID", "<1@example.com>"] in mails[0]["headers"]
    async with place.session.get(f"{place.url}/mail/{mails[0]['number']}") as answer:
        assert await answer.text() == "<p>hello</p>\n"
        assert answer.headers["content-security-policy"].endswith("sandbox")
    async with place.session.get(f"{place.url}/mail/99") as answer:
        assert answer.status == 404


async def test_page_and_looks_are_served(place: Place) -> None:
    for path, words in (
        ("/", "Sandbox mail"),
        ("/page.css", "--accent"),
        ("/mail.css", "#mails"),
        ("/page.js", "FAULTS"),
    ):
        async with place.session.get(f"{place.url}{path}") as answer:
            assert words in await answer.text()


async def test_events_are_shown_with_the_worth_of_their_signature(place: Place) -> None:
    body = b'{"id":"gpu-1/ready-1"}'
    right = signed("word", "gpu-1/ready-1", body, datetime.now(UTC))
    assert await place.post("/webhook", data=body, headers=right) == 204
    assert await place.post("/webhook", data=body, headers=right) == 204
    assert await place.post("/webhook", data=body + b" ", headers=right) == 401
    assert await place.post("/webhook", data=b"no json") == 401
    events = (await place.listing())["events"]
    assert [(one["genuine"], one["repeated"]) for one in events] == [
        (False, False),
        (False, True),
        (True, True),
        (True, False),
    ]
    assert events[-1]["content"] == {"id": "gpu-1/ready-1"}
    assert events[0]["content"] == {"unreadable": "no json"}


async def test_failures_are_switched_from_the_page(place: Place) -> None:
    assert await place.post("/api/faults", json={"greeting": "421 closed", "webhook": 503}) == 200
    assert await place.talk() == [b"421 closed\r\n"]
    assert await place.post("/webhook", data=b"{}") == 503
    assert await place.post("/api/faults", json={"greeting": 5}) == 400
    assert await place.post("/api/faults", json={"nothing": "x"}) == 400
    assert (await place.listing())["faults"]["greeting"] == "421 closed"
    assert await place.post("/api/faults", json={"greeting": "", "webhook": 0}) == 200
    assert await place.post("/webhook", data=b"{}") == 401
    assert await place.post("/api/clear", json={}) == 200
    assert (await place.listing())["events"] == []
