"""Mail over real connections on loopback: what is accepted, and each way in which a server or the way to it says no."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from lessor.domain.people import Person
from lessor.notify import MailServer, PostponedError, SmtpSender, UndeliverableError
from lessor.notify.envelope import addressed
from lessor.notify.letters import Written
from lessor.sandbox.mail import MailServer as Sink
from lessor.sandbox.mail import Postbox
from tests.notify.certificates import for_loopback
from tests.notify.sending import to

PASSWORD = "correct horse"
WRITTEN = Written("Subject – with a dash", "One line.\n.\n..two dots\nümlaut\n", "<p>One line.</p>\n")
REQUESTER = Person("U0REQUESTER", name="The Requester", email="requester@example.com")
NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


def a_mail(person: Person = REQUESTER, key: str = "email/gpu-7k3qxa2m/ready-3/U0REQUESTER") -> EmailMessage:
    return addressed(WRITTEN, "lessor <gpu@example.com>", person, key, "gpu-7k3qxa2m", NOW)


async def test_what_is_accepted_arrives_word_for_word(sink: Sink) -> None:
    await SmtpSender(to(sink)).send(a_mail())
    [mail] = sink.postbox.mails
    assert (mail.sender, mail.recipients) == ("gpu@example.com", ("requester@example.com",))
    assert (mail.encrypted, mail.user) == (False, "")
    assert mail.body("plain") == WRITTEN.text
    assert mail.body("html") == WRITTEN.html
    assert {name: mail.message[name] for name in ("From", "To", "Subject", "Date", "Auto-Submitted")} == {
        "From": "lessor <gpu@example.com>",
        "To": "The Requester <requester@example.com>",
        "Subject": "Subject – with a dash",
        "Date": "Fri, 27 Nov 2026 09:00:00 +0000",
        "Auto-Submitted": "auto-generated",
    }
    assert all(len(line) <= 998 for line in mail.raw.split(b"\r\n"))
    assert b"\n" not in mail.raw.replace(b"\r\n", b"")


async def test_starttls_and_a_login_go_before_the_mail(tmp_path: Path) -> None:
    server, trusting = for_loopback(tmp_path)
    async with Sink(Postbox(), tls=server, users={"lessor": PASSWORD}) as sink:
        wanted = to(sink, starttls=True, username="lessor", password=PASSWORD)
        await SmtpSender(wanted, tls=trusting).send(a_mail())
        [mail] = sink.postbox.mails
    assert (mail.encrypted, mail.user) == (True, "lessor")


async def test_a_certificate_that_nobody_vouches_for_gets_nothing(tmp_path: Path) -> None:
    server, _ = for_loopback(tmp_path)
    async with Sink(Postbox(), tls=server, users={"lessor": PASSWORD}) as sink:
        wanted = to(sink, starttls=True, username="lessor", password=PASSWORD)
        with pytest.raises(UndeliverableError, match=r"is not trusted \(self.signed certificate\); nothing was sent"):
            await SmtpSender(wanted).send(a_mail())
        assert list(sink.postbox.mails) == []


async def test_a_certificate_for_another_host_gets_nothing(tmp_path: Path) -> None:
    server, trusting = for_loopback(tmp_path, "127.0.0.9")
    async with Sink(Postbox(), tls=server) as sink:
        with pytest.raises(UndeliverableError, match="is not trusted"):
            await SmtpSender(to(sink, starttls=True), tls=trusting).send(a_mail())
        assert list(sink.postbox.mails) == []


async def test_a_server_without_starttls_gets_nothing_where_it_is_wanted(sink: Sink) -> None:
    with pytest.raises(UndeliverableError, match=f"mail server 127.0.0.1:{sink.port} cannot be used as configured"):
        await SmtpSender(to(sink, starttls=True)).send(a_mail())
    assert list(sink.postbox.mails) == []


async def test_tls_from_the_first_byte(tmp_path: Path) -> None:
    server, trusting = for_loopback(tmp_path)
    said: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        replies = [b"250 hello\r\n", b"250 from\r\n", b"250 to\r\n", b"354 go on\r\n"]
        for reply in replies:
            said.append(await reader.readuntil(b"\r\n"))
            writer.write(reply)
        await reader.readuntil(b"\r\n.\r\n")
        writer.write(b"250 kept\r\n")
        said.append(await reader.readuntil(b"\r\n"))
        writer.write(b"221 bye\r\n")
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        wanted = MailServer("127.0.0.1", port, "lessor <gpu@example.com>", starttls=False, tls=True)
        await SmtpSender(wanted, tls=trusting).send(a_mail())
    assert said[1].startswith(b"MAIL FROM:<gpu@example.com>")


@pytest.mark.parametrize(
    ("fault", "reply", "kind", "words"),
    [
        ("recipient", "550 5.1.1 no such mailbox", UndeliverableError, "answered 550 5.1.1 no such mailbox"),
        ("recipient", "450 4.2.1 try later", PostponedError, "answered 450 4.2.1 try later"),
        ("data", "552 5.3.4 too large", UndeliverableError, "answered 552 5.3.4 too large"),
        ("data", "452 4.2.2 mailbox full", PostponedError, "answered 452 4.2.2 mailbox full"),
        ("greeting", "421 4.3.2 closed", PostponedError, "answered 421 4.3.2 closed"),
        ("greeting", "554 5.3.2 not for you", UndeliverableError, "answered 554 5.3.2 not for you"),
    ],
)
async def test_what_the_server_says_decides_whether_another_try_helps(
    sink: Sink, fault: str, reply: str, kind: type[Exception], words: str
) -> None:
    sink.postbox.switch(**{fault: reply})
    with pytest.raises(kind) as caught:
        await SmtpSender(to(sink)).send(a_mail())
    assert str(caught.value) == f"mail server 127.0.0.1:{sink.port} {words}"
    assert list(sink.postbox.mails) == []


async def test_a_wrong_password_is_told_without_the_password() -> None:
    async with Sink(Postbox(), users={"lessor": PASSWORD}) as sink:
        with pytest.raises(UndeliverableError) as caught:
            await SmtpSender(to(sink, username="lessor", password="wrong horse")).send(a_mail())
        assert str(caught.value) == (
            f"mail server 127.0.0.1:{sink.port} refused the login (535); check username and its password"
        )
        assert list(sink.postbox.mails) == []


async def test_a_login_that_is_closed_for_now_is_tried_again_and_never_repeats_the_password() -> None:
    async with Sink(Postbox(), users={"lessor": PASSWORD}) as sink:
        sink.postbox.switch(login=f"454 4.7.0 cannot check {PASSWORD} now")
        with pytest.raises(PostponedError) as caught:
            await SmtpSender(to(sink, username="lessor", password=PASSWORD)).send(a_mail())
    assert str(caught.value).endswith("answered 454 4.7.0 cannot check (password) now")
    assert PASSWORD not in repr(to(sink, username="lessor", password=PASSWORD))


async def test_nobody_listening_is_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = MailServer("127.0.0.1", port, "lessor <gpu@example.com>", starttls=False)
    with pytest.raises(PostponedError, match=f"mail server 127.0.0.1:{port} cannot be reached: "):
        await SmtpSender(server).send(a_mail())


async def test_silence_is_tried_again() -> None:
    quiet = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await quiet.wait()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        server = MailServer("127.0.0.1", port, "lessor <gpu@example.com>", starttls=False)
        with pytest.raises(PostponedError, match="cannot be reached: "):
            await SmtpSender(server, timeout=0.05).send(a_mail())
        quiet.set()


async def test_a_connection_that_breaks_after_the_mail_was_kept_is_tried_again_with_the_same_id(sink: Sink) -> None:
    sink.postbox.switch(vanish=True)
    with pytest.raises(PostponedError):
        await SmtpSender(to(sink)).send(a_mail())
    sink.postbox.switch(vanish=False)
    await SmtpSender(to(sink)).send(a_mail())
    first, second = sink.postbox.mails
    assert first.message["Message-ID"] == second.message["Message-ID"]


async def test_an_address_beyond_ascii_needs_a_server_that_takes_it(sink: Sink) -> None:
    await SmtpSender(to(sink)).send(a_mail(replace(REQUESTER, email="jürgen@example.com")))
    assert sink.postbox.mails[0].recipients == ("jürgen@example.com",)


def test_ids_follow_from_the_key_and_threads_from_the_lease() -> None:
    one, again, other = a_mail(), a_mail(), a_mail(key="email/gpu-7k3qxa2m/stopped-9/U0REQUESTER")
    assert one["Message-ID"] == again["Message-ID"] != other["Message-ID"]
    assert one["References"] == other["References"]
    assert str(one["Message-ID"]).endswith("@example.com>")


@pytest.mark.parametrize(
    "address", ["nobody", "a b@example.com", "a@b@c", "x@example.com\r\nBcc: all@example.com", "<a@example.com>", ""]
)
def test_what_is_no_address_is_refused_with_the_remedy(address: str) -> None:
    with pytest.raises(UndeliverableError, match=r"is no e-mail address; correct it in lessor\.yaml"):
        a_mail(replace(REQUESTER, email=address))


def test_a_name_cannot_begin_another_header() -> None:
    mail = a_mail(replace(REQUESTER, name="Eve\r\nBcc: all@example.com\u202e"))
    assert mail["Bcc"] is None
    assert mail["To"].addresses[0].display_name == "Eve Bcc: all@example.com"
