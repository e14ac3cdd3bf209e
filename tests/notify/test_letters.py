"""What mails say: exact words where it matters, every notice in every state, and nothing typed becomes markup."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from bot.facts import facts
from lessor.contracts import Notice
from lessor.domain.lease import Lease, Refusal, State
from lessor.domain.people import Person
from lessor.notify import Letter, LetterWriter, Reader, UndeliverableError
from lessor.notify.letters import PART_MOST, SUBJECT_MOST, Written
from tests.builders import ADMIN, ASKED, ENDS, READY, a_lease, a_request

OWNER = Person("U0REQUESTER", name="The Requester", email="requester@example.com", tz="Asia/Tokyo")
NAMES = {"U0REQUESTER": "The Requester", "U0MANAGER": "The Manager"}
HALF_AN_HOUR = timedelta(minutes=30)
WRITER = LetterWriter("Example")
STATES = list(State)


def a_letter(lease: Lease, notice: Notice, now: datetime = READY, before: timedelta = HALF_AN_HOUR) -> Letter:
    return Letter(notice.value, f"{notice.value}-1", {**facts(lease, now), "before": before})


def written(lease: Lease, notice: Notice, reader: Reader | None = None, now: datetime = READY) -> Written:
    return WRITER.write(a_letter(lease, notice, now), reader or Reader(OWNER, owns=True, names=NAMES))


def test_a_warning_says_when_in_the_reader_s_zone_what_follows_and_which_commands_help() -> None:
    mail = written(a_lease(), Notice.WARNING, now=ENDS - HALF_AN_HOUR)
    assert mail.subject == "gpu-7k3qxa2m ends in 30 min"
    assert mail.text == (
        "gpu-7k3qxa2m (8 x A100-80GB) ends in 30 min\n"
        "\n"
        "It ends Saturday 28 November 2026 02:15 JST. Then it is stopped, and deleted 7 d later.\n"
        "It can be extended by 29 d 16 h at most (until Sunday 27 December 2026 18:15 JST).\n"
        "\n"
        "What you can do (what /gpu does in Slack, lessor does in a shell):\n"
        "\n"
        "  /gpu extend gpu-7k3qxa2m 1d\n"
        "      one day longer, or another time: 8h, friday 18:00\n"
        "  /gpu release gpu-7k3qxa2m\n"
        "      give it back now, and stop paying\n"
        "  /gpu show gpu-7k3qxa2m\n"
        "      all that is known of it\n"
        "\n"
        "Cost so far: 742.32 USD\n"
        "\n"
        "-- \n"
        "lessor of Example mails you this because Slack did not deliver it to you. "
        "Nobody reads answers to this address.\n"
    )


def test_the_html_says_the_same_and_loads_and_links_to_nothing() -> None:
    mail = written(a_lease(), Notice.WARNING, now=ENDS - HALF_AN_HOUR)
    for words in ("ends in 30 min", "deleted 7 d later.<br>\nIt can be", "<code>/gpu extend gpu-7k3qxa2m 1d</code>"):
        assert words in mail.html
    for markup in ("<a ", "<img", "<script", "http:", "https:", "<link", "url("):
        assert markup not in mail.html


@pytest.mark.parametrize("notice", list(Notice))
def test_every_notice_has_words_in_every_state_and_for_every_reader(notice: Notice) -> None:
    readers = (
        Reader(OWNER, owns=True, names=NAMES),
        Reader(ADMIN, names=NAMES),
        Reader(ADMIN, away_until=ENDS, besides=True, names=NAMES),
    )
    for lease, reader in product([a_lease(state) for state in STATES], readers):
        mail = written(lease, notice, reader)
        assert lease.id in mail.subject
        assert lease.id in mail.text
        assert "None" not in mail.text
        assert "  \n" not in mail.text.replace("-- \n", "")
        assert mail.html.startswith("<!doctype html>")


def test_who_stands_in_is_told_whose_it_is_and_until_when() -> None:
    mail = written(a_lease(), Notice.WARNING, Reader(ADMIN, away_until=ENDS, names=NAMES))
    assert "The lease belongs to The Requester, who is away until Friday 27 November 2026 17:15 UTC." in mail.text


def test_besides_slack_it_says_so() -> None:
    mail = written(a_lease(), Notice.WARNING, Reader(OWNER, owns=True, besides=True, names=NAMES))
    assert "lessor of Example mails you this besides its message in Slack." in mail.text


def test_who_decides_reads_price_and_purpose_and_how_to_decide_and_the_requester_how_to_withdraw() -> None:
    lease = a_lease(State.AWAITING_APPROVAL)
    mail = written(lease, Notice.REQUEST, Reader(ADMIN, names=NAMES), now=ASKED)
    assert mail.subject == "GPU request gpu-7k3qxa2m from The Requester waits for you"
    assert "The Requester asks for 8 x A100-80GB as p4de.24xlarge (8 x A100-80GB)" in mail.text
    assert "Price: 98.32 USD an hour, about 786.56 USD for 8 h." in mail.text
    assert "Purpose: train the ranking model" in mail.text
    assert "  lessor approve gpu-7k3qxa2m\n" in mail.text
    assert "withdraw" not in mail.text
    mine = written(lease, Notice.REQUEST, now=ASKED)
    assert mine.subject == "Your GPU request waits: gpu-7k3qxa2m"
    assert "  /gpu withdraw gpu-7k3qxa2m\n" in mine.text
    assert "approve gpu" not in mine.text


def test_the_way_in_is_never_mailed() -> None:
    for notice in Notice:
        mail = written(a_lease(), notice)
        assert "i-0aaa" not in mail.text + mail.html


EVIL = 'x</p><script>alert("1")</script> &amp; \u202edesrever\u202c\u0007 \r\nBcc: all@example.com'


def test_what_people_typed_is_text_in_both_parts_and_begins_no_header() -> None:
    lease = replace(a_lease(State.AWAITING_APPROVAL, request=a_request(purpose=EVIL)), owner=EVIL)
    mail = WRITER.write(a_letter(lease, Notice.REQUEST), Reader(ADMIN, names=NAMES))
    assert "\n" not in mail.subject
    assert "\r" not in mail.subject + mail.text + mail.html
    assert '<script>alert("1")</script> &amp; desrever \nBcc' in mail.text
    assert "<script>" not in mail.html
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;amp; desrever <br>\nBcc" in mail.html
    for unseen in ("\u202e", "\u202c", "\u0007"):
        assert unseen not in mail.text + mail.html + mail.subject


def test_names_are_escaped_as_well() -> None:
    reader = Reader(ADMIN, names={"U0REQUESTER": "<b>Eve</b>"})
    mail = written(a_lease(), Notice.TRANSFERRED, reader)
    assert "<b>Eve</b> owns" in mail.text
    assert "&lt;b&gt;Eve&lt;/b&gt; owns" in mail.html


def test_subjects_and_parts_have_an_end_that_falls_into_no_entity() -> None:
    refusal = Refusal("U0REQUESTER", "extend" * 60, "&" * 9_000, ENDS)
    mail = written(replace(a_lease(), refusal=refusal), Notice.REFUSED)
    assert len(mail.subject) == SUBJECT_MOST
    assert mail.subject.endswith("…")
    long = max(mail.html.splitlines(), key=len)
    assert len(long) < PART_MOST + 60
    assert long.endswith("&amp;…</p>")


def test_an_organisation_words_it_otherwise(tmp_path: Path) -> None:
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "ready.j2").write_text(
        "{% block subject %}Ready to go{% endblock %}{% block title %}Go, {{ reader.person.name }}{% endblock %}"
    )
    (tmp_path / "mail" / "why.j2").write_text("{{ organisation }} says so.")
    mail = LetterWriter("Example", tmp_path).write(
        a_letter(a_lease(), Notice.READY), Reader(OWNER, owns=True, names=NAMES)
    )
    assert mail.subject == "Ready to go"
    assert mail.text == "Go, The Requester\n\n-- \nExample says so.\n"


@pytest.mark.parametrize(
    "broken",
    ["{% block subject %}x{% endblock %}", "{% block subject %}{{ nothing.such }}{% endblock %}", "{% block", None],
)
def test_a_template_that_cannot_be_used_is_named_and_stops_no_other_channel(tmp_path: Path, broken: str | None) -> None:
    (tmp_path / "mail").mkdir()
    name = "ready" if broken else "nowhere"
    if broken:
        (tmp_path / "mail" / "ready.j2").write_text(broken)
    letter = replace(a_letter(a_lease(), Notice.READY), template=name)
    with pytest.raises(UndeliverableError, match=rf"^template mail/{name}\.j2 cannot be used: "):
        LetterWriter("Example", tmp_path).write(letter, Reader(OWNER))


def test_administrators_are_paged_in_words() -> None:
    values = {"alarm": "brake", "subject": "research-us", "problem": "9 of 10 machines vanished", "lease": None}
    mail = WRITER.write(Letter("page", "brake", values), Reader(ADMIN, names=NAMES))
    assert mail.subject == "Needs a look: brake (research-us)"
    assert "Needs a look: the brake holds for research-us\n\n9 of 10 machines vanished\n" in mail.text
