"""Words: escaped for where they go, overridable, strict; and every message is one that Slack takes, in every state."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from jinja2.exceptions import SecurityError

from bot.blocks.message import Message, compose, split
from bot.blocks.text import cut, pieces
from bot.cards import card, proposals
from bot.details import details
from bot.facts import facts
from bot.proposals import suggestions
from lessor.contracts import Answer, Notice, Verb
from lessor.domain.lease import State
from lessor.rendering import Renderer, Safe, mrkdwn, slack_renderer, templates_root
from lessor.sandbox.slack.blockkit import check_message_blocks, check_view
from tests.bot.busy import LATER, around, busy
from tests.builders import ASKED, MANAGER, a_lease, a_quote, a_request

WORDING = slack_renderer()
NASTY = "<!channel> <@U0ADMIN> &amp; {{ 7*7 }} {% raw %} ${HOME} `rm -rf` \"quoted\" 'single'\n- a: [b]\n\u202e🦆"


def rendered(tmp_path: Path, text: str, folder: str = "slack", **values: Any) -> str:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / "t.j2").write_text(text)
    escape = mrkdwn if folder == "slack" else None
    return Renderer(folder, escape=escape, override=tmp_path).render("t.j2", **values)


def test_values_are_characters_only_and_never_templates(tmp_path: Path) -> None:
    assert rendered(tmp_path, "{{ value }}", value="<!channel> & {{ 7*7 }}") == "&lt;!channel&gt; &amp; {{ 7*7 }}"
    assert rendered(tmp_path, "{{ value }}", value=Safe("<@U1>")) == "<@U1>"


def test_an_undefined_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError, match="'nothing' is undefined"):
        rendered(tmp_path, "{{ nothing }}")


@pytest.mark.parametrize(
    "text", ["{{ ''.__class__.__mro__ }}", "{{ values.append(1) }}", "{{ f.__globals__ }}", "{{ ''.__init__ }}"]
)
def test_templates_run_in_a_sandbox(tmp_path: Path, text: str) -> None:
    with pytest.raises((SecurityError, UndefinedError)):
        rendered(tmp_path, text, values=[], f=lambda: None)


@pytest.mark.parametrize("value", [NASTY, "", "yes", "null", "1.5", "a\u2028b", "x: y #", "'", "\\"])
def test_other_languages_read_back_exactly_what_was_said(tmp_path: Path, value: str) -> None:
    assert json.loads(rendered(tmp_path, "{{ v | json }}", "aws", v=value)) == value
    assert yaml.safe_load(rendered(tmp_path, "key: {{ v | yaml }}\nnext: 1", "aws", v=value)) == {
        "key": value,
        "next": 1,
    }
    quoted = rendered(tmp_path, "{{ v | shell }}", "aws", v=value)
    assert shlex.split(quoted) == [value]


def test_a_shell_gives_back_what_was_said(tmp_path: Path) -> None:
    line = rendered(tmp_path, "printf %s {{ v | shell }}", "aws", v=NASTY)
    assert subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, text=True).stdout == NASTY


def test_an_organisations_folder_wins_and_the_rest_is_as_shipped(tmp_path: Path) -> None:
    (tmp_path / "slack").mkdir()
    (tmp_path / "slack" / "loading.j2").write_text("{% block title %}Un instant{% endblock %}")
    own = slack_renderer(tmp_path)
    assert own.parts("loading.j2") == {"title": "Un instant"}
    assert own.parts("done.j2") == slack_renderer().parts("done.j2")
    assert (templates_root() / "slack" / "card.j2").is_file()


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Asia/Tokyo", "Monday 1 June 2026 18:00 JST"),
        ("America/Sao_Paulo", "Monday 1 June 2026 06:00 UTC-03"),
        ("Nowhere/None", "Monday 1 June 2026 09:00 UTC"),
        (
            "",
            "<!date^1780304400^{date_short_pretty} {time}|Monday 1 June 2026 09:00 UTC> (Monday 1 June 2026 09:00 UTC)",
        ),
    ],
)
def test_every_time_carries_its_zone(tmp_path: Path, zone: str, shown: str) -> None:
    at = datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert rendered(tmp_path, "{{ at | when }}", at=at, zone=zone) == shown


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Asia/Tokyo", "&lt;x&gt; from Monday 1 June 2026 18:00 JST on"),
        (
            "",
            "&lt;x&gt; from <!date^1780304400^{date_short_pretty} {time}|Monday 1 June 2026 09:00 UTC> "
            "(Monday 1 June 2026 09:00 UTC) on",
        ),
    ],
)
def test_times_in_our_own_sentences_are_the_reader_s(tmp_path: Path, zone: str, shown: str) -> None:
    said = "<x> from 2026-06-01 09:00 UTC on"
    assert rendered(tmp_path, "{{ said | retold }}", said=said, zone=zone) == shown
    assert rendered(tmp_path, "{{ said }}", said=said, zone=zone) == mrkdwn(said), "what people wrote stays theirs"
    assert slack_renderer().parts("refusal.j2", message=said, zone=zone) == {"title": shown}


@pytest.mark.parametrize("renderer", [slack_renderer(), Renderer("mail", escape=str)], ids=["slack", "mail"])
@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("blocked", State.BLOCKED),
        ("failed", State.FAILED),
        ("resume-failed", State.SUSPENDED),
        ("stop-failed", State.ENDING),
    ],
)
def test_times_in_problems_are_the_reader_s_wherever_they_are_shown(
    renderer: Renderer, name: str, state: State
) -> None:
    said = "it may be looked at from 2026-06-01 09:00 UTC on"
    lease = replace(a_lease(state), problem=said)
    values = {**facts(lease, ASKED), "lease": lease, "problem": said, "zone": "Asia/Tokyo"}
    told = " ".join(renderer.parts(f"{name}.j2", **values, named=str).values())
    assert "it may be looked at from Monday 1 June 2026 18:00 JST on" in told
    assert "09:00 UTC" not in told


@given(st.text(max_size=400), st.integers(20, 120))
def test_cutting_keeps_escapes_whole_and_pieces_lose_nothing(text: str, most: int) -> None:
    escaped = mrkdwn(text)
    short = cut(escaped, most)
    assert len(short) <= most
    assert mrkdwn(unescaped(short.removesuffix("…"))) == short.removesuffix("…")
    parts = pieces(escaped, most)
    assert all(len(part) <= most for part in parts)
    assert "".join("".join(parts).split()) == "".join(escaped.split())
    assert all(mrkdwn(unescaped(part)) == part for part in parts)


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
@pytest.mark.parametrize("price", ["known", "unknown"])
def test_every_message_of_every_state_is_one_that_slack_takes(state: State, zone: str, price: str) -> None:
    request = a_request(purpose=NASTY * 40)
    quote = a_quote() if price == "known" else a_quote(None)
    lease = busy(a_lease(state, request=request, quote=quote), lambda words: f"{words} {NASTY}" * 40)
    wording, now = WORDING, ASKED + timedelta(days=1)
    messages = [card(wording, lease, now, zone, around(lease))]
    for notice in set(Notice) - {Notice.REQUEST}:
        if lease.ends_at or notice in (Notice.DECIDED, Notice.FAILED, Notice.WAITING, Notice.CANCELLED):
            values = {**facts(lease, now, around(lease)), **_MORE, "zone": zone}
            extra = proposals(wording, lease, suggestions(lease), "suggested", "use")
            messages.append(compose(wording.parts(f"{notice.value}.j2", **values), (), extra))
    for message in messages:
        for page in split(message):
            check_message_blocks(page.payload["blocks"])
            assert "<!channel>" not in json.dumps(page.payload)
            assert "<@U0ADMIN>" not in json.dumps(page.payload)
            assert 0 < len(page.payload["text"]) <= 4_000


_MORE: dict[str, object] = {
    "before": timedelta(minutes=30),
    "away_until": None,
    "owns": True,
    "decision": "",
    "by": "",
    "why": "",
}
_MORE |= {"happened": "idle-cleared", "counted": 8, "idle_gpus": 7, "working": 1, "budget": "team:ml"}
_MORE |= {"pods_held": 1, "held_since": ASKED, "known": True}


@pytest.mark.parametrize("notice", [n for n in Notice if n is not Notice.REQUEST])
def test_every_notice_has_words_of_its_own(notice: Notice) -> None:
    lease = busy(a_lease())
    values = {**facts(lease, ASKED, around(lease)), **_MORE, "zone": "UTC"}
    said = WORDING.parts(f"{notice.value}.j2", **values)
    assert lease.id in said["title"] or "Nothing was refused" in said["title"]


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_has_words_of_its_own_when_it_had_its_effect(verb: Verb) -> None:
    lease = busy(a_lease(State.AWAITING_APPROVAL if verb in (Verb.APPROVE, Verb.DENY) else State.ACTIVE))
    answer = Answer(True, verb.value, "the words of the engine", lease.id, lease.state.value, ends_at=LATER)
    values = {**facts(lease, ASKED), "answer": answer, "verb": verb.value, "to": "U1", "until": None, "zone": "UTC"}
    said = WORDING.parts("answer.j2", **values)["title"]
    assert lease.id in said
    assert "the words of the engine" not in said


@pytest.mark.parametrize("state", list(State))
def test_details_of_every_state_are_a_view_that_slack_takes(state: State) -> None:
    lease = replace(busy(a_lease(state), lambda words: words * 400), proof="instance:i-0aaa gone, " * 400)
    blocks = details(WORDING, lease, (), around(lease), ASKED, MANAGER)
    view = {
        "type": "modal",
        "title": {"type": "plain_text", "text": lease.id},
        "blocks": [block.to_dict() for block in blocks],
    }
    check_view(view, "modal")


def test_a_long_message_is_split_without_loss() -> None:
    lines = [f"line {number} " + "x" * 100 for number in range(400)]
    message = compose({"title": "*Many*", "body": "\n".join(lines)})
    pages = split(message)
    assert len(pages) > 1
    told = "\n".join(b["text"]["text"] for page in pages for b in page.payload["blocks"])
    assert all(line.strip() in told for line in lines)
    for page in pages:
        check_message_blocks(page.payload["blocks"])
    assert split(Message("short")) == [Message("short")]
