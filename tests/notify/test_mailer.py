"""Each letter goes to each reader once, however often it is asked for; where that cannot be known it goes again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from email.message import EmailMessage

import pytest

from bot.facts import facts
from lessor.contracts import Notice
from lessor.domain.people import Person
from lessor.ledger import SqlLedger
from lessor.notify import Letter, LetterWriter, Mailer, PostponedError, Reader, SmtpSender, UndeliverableError
from lessor.ports import MessageRef
from lessor.sandbox.mail import MailServer as Sink
from tests.builders import ENDS, LEASE_ID, READY, a_lease
from tests.notify.sending import to

OWNER = Person("U0REQUESTER", name="The Requester", email="requester@example.com")
LETTER = Letter("ready", "ready-7", {**facts(a_lease(), READY), "before": timedelta()})
WRITER = LetterWriter("Example")
KEY = f"email/{LEASE_ID}/ready-7/U0REQUESTER"


@dataclass
class FakeSender:
    """Takes what it is given, after raising what it is told to."""

    fail: list[BaseException] = field(default_factory=list)
    sent: list[EmailMessage] = field(default_factory=list)
    sender: str = "lessor <gpu@example.com>"

    async def send(self, message: EmailMessage) -> None:
        await asyncio.sleep(0)
        if self.fail:
            raise self.fail.pop(0)
        self.sent.append(message)


def mailer(sender: FakeSender, book: SqlLedger, *always: Notice) -> Mailer:
    return Mailer(sender, WRITER, book, frozenset(always))


async def test_a_letter_goes_out_once_and_is_on_record(book: SqlLedger) -> None:
    sender = FakeSender()
    for _ in range(3):
        await mailer(sender, book).deliver(LEASE_ID, LETTER, Reader(OWNER, owns=True), READY)
    assert len(sender.sent) == 1
    assert book.message(KEY) == MessageRef(KEY, LEASE_ID, "requester@example.com", "2026-11-27T09:15:00+00:00")


async def test_two_at_the_same_time_are_one(book: SqlLedger) -> None:
    sender = FakeSender()
    one = mailer(sender, book)
    reader = Reader(OWNER, owns=True)
    await asyncio.gather(*(one.deliver(LEASE_ID, LETTER, reader, READY) for _ in range(5)))
    assert len(sender.sent) == 1


async def test_each_reader_and_each_occasion_has_its_own(book: SqlLedger) -> None:
    sender = FakeSender()
    one = mailer(sender, book)
    other = Person("U0ADMIN", email="admin@example.com")
    later = Letter("ready", "ready-9", LETTER.values)
    for letter, person in ((LETTER, OWNER), (LETTER, other), (later, OWNER)):
        await one.deliver(LEASE_ID, letter, Reader(person), READY)
    assert [mail["To"].addresses[0].addr_spec for mail in sender.sent] == [OWNER.email, other.email, OWNER.email]
    assert len({mail["Message-ID"] for mail in sender.sent}) == 3


@pytest.mark.parametrize("error", [PostponedError("later"), UndeliverableError("never"), asyncio.CancelledError()])
async def test_what_was_not_accepted_is_only_intended_and_goes_again_with_the_same_id(
    book: SqlLedger, error: BaseException
) -> None:
    sender = FakeSender([error])
    with pytest.raises(type(error)):
        await mailer(sender, book).deliver(LEASE_ID, LETTER, Reader(OWNER), READY)
    assert book.message(KEY) == MessageRef(KEY, LEASE_ID, "requester@example.com", "")
    await mailer(sender, book).deliver(LEASE_ID, LETTER, Reader(OWNER), ENDS)
    await mailer(sender, book).deliver(LEASE_ID, LETTER, Reader(OWNER), ENDS)
    assert len(sender.sent) == 1


async def test_an_answer_that_got_lost_is_the_one_case_of_two_copies(sink: Sink, book: SqlLedger) -> None:
    one = Mailer(SmtpSender(to(sink)), WRITER, book)
    sink.postbox.switch(vanish=True)
    with pytest.raises(PostponedError):
        await one.deliver(LEASE_ID, LETTER, Reader(OWNER), READY)
    sink.postbox.switch(vanish=False)
    await one.deliver(LEASE_ID, LETTER, Reader(OWNER), READY)
    await one.deliver(LEASE_ID, LETTER, Reader(OWNER), READY)
    first, second = sink.postbox.mails
    assert first.message["Message-ID"] == second.message["Message-ID"]


async def test_somebody_without_an_address_is_told_by_name(book: SqlLedger) -> None:
    with pytest.raises(UndeliverableError, match=r"^U0FINANCE has no e-mail address in lessor\.yaml$"):
        await mailer(FakeSender(), book).deliver(LEASE_ID, LETTER, Reader(Person("U0FINANCE")), READY)
    assert book.messages(LEASE_ID) == ()


def test_which_letters_go_besides(book: SqlLedger) -> None:
    one = mailer(FakeSender(), book, Notice.WARNING)
    assert not one.always(LETTER)
    assert one.always(Letter("warning", "warning-1-1800"))
