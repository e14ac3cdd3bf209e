"""Sentences: in no message or view does one run into the next, whatever the lease is and whoever reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.cards import card
from bot.details import details
from bot.facts import facts
from lessor.contracts import Answer, Notice
from lessor.domain.lease import Event, Lease, State
from lessor.domain.policy import Outcome
from lessor.ports import StoredEvent
from lessor.rendering import Renderer, slack_renderer
from tests.builders import ASKED, MANAGER, a_decision, a_lease, a_quote, a_request

WHOLE = (
    (re.compile(r"```.*?```", re.DOTALL), "‹›"),
    (re.compile(r"`[^`]*`|<[^>]*>|\d\d:\d\d|\w+:[iv][\w-]+"), "‹›"),
    (re.compile(r"\*([^*\n]+)\*"), r"‹\1›"),
)
"""Code, mentions, times and what is bold are wholes: something may touch them only where a sentence allows it."""

GLUED = (
    re.compile(r"[.!?][^\s\d)›]|[:;,][^\s\d›]"),
    re.compile(r"›\w|[\w.,:;!?]‹"),
    re.compile(r"\b(\w+) \1\b"),
    re.compile(r"\S  +\S"),
    re.compile(r"\s[.,;:](?=\s|$)"),
    re.compile(r"[.!?,:;]\."),
    re.compile(r"\*"),
)


def test_what_is_glued_is_seen() -> None:
    for text in (
        "*Yours*Nothing is open",
        "It ends.Then",
        "until until 8",
        "two  blanks",
        "a decision .",
        "no:*No*",
    ):
        assert glued(text), text
    for text in ("*Yours*\nNothing is open", "*Can decide now:* <@U1>, <@U2>.", "Release `gpu-1` (2 x L4) now?"):
        assert not glued(text), text


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("kind", ["people", "policy", "until", "unknown"])
def test_no_sentence_runs_into_the_next(state: State, kind: str) -> None:
    lease = _lease(state, kind)
    assert [(name, glued(text), text) for name, text in _said(slack_renderer(), lease) if glued(text)] == []


def glued(text: str) -> str:
    """The first place where two sentences or words run into each other; empty if there is none."""
    for pattern, instead in WHOLE:
        text = pattern.sub(instead, text)
    return next((found.group() for pattern in GLUED if (found := pattern.search(text))), "")


def _lease(state: State, kind: str) -> Lease:
    changes: dict[str, Any] = {"people": {}, "unknown": {"quote": a_quote(None)}}.get(kind, {})
    if kind == "until":
        changes = {"request": a_request(until=ASKED + timedelta(hours=23))}
    if kind == "policy" and state not in (State.AWAITING_APPROVAL, State.WITHDRAWN, State.DENIED, State.LAPSED):
        changes = {"decision": a_decision(Outcome.APPROVE), "steps": ()}
    return a_lease(state, **changes)


def _said(wording: Renderer, lease: Lease) -> Iterator[tuple[str, str]]:
    now = ASKED + timedelta(hours=1)
    for zone in ("", "Asia/Tokyo"):
        values = {**facts(lease, now, (MANAGER,)), "zone": zone, "before": timedelta(minutes=30), "verb": "release"}
        for name in _templates(lease):
            yield from (
                (f"{name}/{part}", text) for part, text in wording.parts(name, **{**values, **_more(lease)}).items()
            )
        for deciders in ((), (MANAGER,)):
            yield "card", "\n".join(_texts(card(wording, lease, now, zone, deciders).payload["blocks"]))
    events = [StoredEvent(1, lease.id, Event("refused", now, "U1", {"verb": "extend", "code": "not-owner"}), "", "")]
    blocks = details(wording, replace(lease, proof="instance:i-0aaa gone"), events, (MANAGER,), now, MANAGER)
    yield "details", "\n".join(_texts([block.to_dict() for block in blocks]))


def _templates(lease: Lease) -> list[str]:
    names = ["decided"] if lease.decided_at or lease.final else []
    names += ["waits", "waits_past", "failed", "cancelled", "waiting", "answer", "confirm", "line", "submitted", "home"]
    names += ["quote", "help", "similar", "blocked", "fallback", "restored"]
    if lease.ends_at:
        names += [notice.value for notice in Notice if notice is not Notice.REQUEST] + ["move_form", "warning_past"]
    return [f"{name}.j2" for name in dict.fromkeys(names)]


def _more(lease: Lease) -> dict[str, object]:
    answer = Answer(False, "wrong-state", "that is not possible now", lease.id, lease.state.value)
    home = {"message": "", "mine_count": 0, "more_mine": True, "deciding_count": 0, "more_deciding": True}
    quote = {"problem": "", "quote": lease.quote, "ends": "until Friday"}
    return {
        **home,
        **quote,
        "channel": "gpu-approvals",
        "answer": answer,
        "lease_id": lease.id,
        "recorded_only": False,
        "unknown": "",
        "nearest": "",
        "similar": (lease.id,),
        "form": True,
    }


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for item in value.values() for text in _texts(item)]
