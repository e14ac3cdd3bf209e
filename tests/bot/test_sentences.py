"""Sentences: in no message or view does one run into the next, whatever the lease is and whoever reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.around import NOTHING
from bot.cards import card
from bot.details import details
from bot.facts import facts
from bot.proposals import Proposal, suggestions
from lessor.contracts import Answer, MeterReport, Notice, SourceReport, Verb
from lessor.domain.fleet import Line, PlaceFleet, Tenant
from lessor.domain.fleet_words import figures
from lessor.domain.ladder import Brake
from lessor.domain.lease import Event, Lease, State
from lessor.domain.pending import Changes
from lessor.domain.people import StandIn
from lessor.domain.policy import Outcome
from lessor.domain.pools import Holder
from lessor.domain.request import Place
from lessor.gauging import MeterStatus
from lessor.ports import StoredEvent
from lessor.rendering import Renderer, slack_renderer
from tests.bot.busy import LATER, around, busy
from tests.builders import ASKED, MANAGER, a_decision, a_lease, a_quote, a_request

WHOLE = (
    (re.compile(r"```.*?```", re.DOTALL), "‹›"),
    (re.compile(r"`[^`]*`|<[^>]*>|\d\d:\d\d|\w+:[iv][\w-]+"), "‹›"),
    (re.compile(r"\*([^*\n]+)\*"), r"‹\1›"),
    (re.compile(r"\b[a-z]\d\w*\.\w+"), "type"),
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


WORDING = slack_renderer()
SPENT = {"month": "2026-11", "used": "12.50", "planned": "3", "unit": "USD"}


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
@pytest.mark.parametrize("kind", ["people", "policy", "until", "unknown", "busy"])
def test_no_sentence_runs_into_the_next(state: State, kind: str) -> None:
    lease = _lease(state, kind)
    assert [(name, glued(text), text) for name, text in _said(WORDING, lease) if glued(text)] == []


def glued(text: str) -> str:
    """The first place where two sentences or words run into each other; empty if there is none."""
    for pattern, instead in WHOLE:
        text = pattern.sub(instead, text)
    return next((found.group() for pattern in GLUED if (found := pattern.search(text))), "")


def _lease(state: State, kind: str) -> Lease:
    if kind == "busy":
        return busy(a_lease(state))
    changes: dict[str, Any] = {"people": {}, "unknown": {"quote": a_quote(None)}}.get(kind, {})
    if kind == "until":
        changes = {"request": a_request(until=ASKED + timedelta(hours=23))}
    if kind == "policy" and state not in (State.AWAITING_APPROVAL, State.WITHDRAWN, State.DENIED, State.LAPSED):
        changes = {"decision": a_decision(Outcome.APPROVE), "steps": ()}
    return a_lease(state, **changes)


def _said(wording: Renderer, lease: Lease) -> Iterator[tuple[str, str]]:
    now = ASKED + timedelta(hours=1)
    for zone, about in (("", NOTHING), ("Asia/Tokyo", around(lease))):
        values = {**facts(lease, now, about), "zone": zone, "before": timedelta(minutes=30), **_more(lease)}
        for name in _templates(lease):
            yield from ((f"{name}/{part}", text) for part, text in wording.parts(name, **values).items())
        yield from _by_verb(wording, lease, values)
        yield "card", "\n".join(_texts(card(wording, lease, now, zone, about).payload["blocks"]))
    events = [StoredEvent(1, lease.id, Event("refused", now, "U1", {"verb": "extend", "code": "not-owner"}), "", "")]
    proven = replace(lease, proof="instance:i-0aaa gone")
    blocks = details(wording, proven, events, around(lease), now, MANAGER)
    yield "details", "\n".join(_texts([block.to_dict() for block in blocks]))


def _by_verb(wording: Renderer, lease: Lease, values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Answers to every act, and what differs by verb."""
    for verb in Verb:
        for ok in (True, False):
            answer = Answer(ok, verb.value, "that is not possible", lease.id, lease.state.value, ends_at=lease.ends_at)
            said = {**values, "verb": verb.value, "answer": answer, "to": "team", "until": None}
            yield f"answer/{verb}", wording.parts("answer.j2", **said)["title"]
    for verb in (Verb.EXTEND, Verb.RESTORE, Verb.EXEMPT) if lease.ends_at else ():
        yield from (
            (f"move/{verb}", text) for text in wording.parts("move_form.j2", **{**values, "verb": verb}).values()
        )


def _templates(lease: Lease) -> list[str]:
    names = ["decided"] if lease.decided_at or lease.final else []
    names += ["waits", "waits_past", "failed", "cancelled", "waiting", "confirm", "line", "submitted", "home"]
    names += ["quote", "help", "similar", "blocked", "fallback", "restored", "deciders", "past"]
    names += ["approve_form", "counter_form", "deny_form", "ask_form", "reply_form", "proposal", "away", "usage"]
    names += ["buttons", "views", "proposal_past", "wish_past", "wish_settled", "other_team", "usage_title"]
    names += ["countered", "question", "answered", "reminder", "escalated"]
    names += ["snooze_form", "dispute_form", "stop_form", "snooze_empty", "dispute_empty", "idle_alt"]
    names += ["brake", "meter", "verdicts", "verdict_line"]
    names += ["fleet", "fleet_place", "fleet_lease", "fleet_holder", "home_free", "access", "kubeconfig"]
    if lease.ends_at:
        names += [notice.value for notice in Notice if notice is not Notice.REQUEST] + ["warning_past"]
    if lease.wish:
        names += ["wish_card", "grant_form", "reject_form", "wish_line"]
    return [f"{name}.j2" for name in dict.fromkeys([*names, *(["offer_line"] if lease.transfer else [])])]


def _more(lease: Lease) -> dict[str, object]:
    """What the templates say besides a lease's own facts."""
    proposals = suggestions(lease) or (Proposal("k", Changes(), "", "g6.xlarge", "1 x L4", "spot"),)
    person = {"name": "sam", "found": "U0SAM", "team": "ml", "stands_in": (StandIn("U0AWAY"),), "teams": ("ml",)}
    away = {"absence": None, "still": "", "delegate": "U0DEPUTY", "away_until": LATER}
    usage = {"gpus": 2, "rooms": around(lease).rooms, "more": 1, "spent": [SPENT]}
    home = {"mine_count": 0, "deciding_count": 0, "may_enter": True, "owns": True, "notice": "ready", "to": "team"}
    quote = {
        "policy": lease.decision,
        "problem": "",
        "quote": lease.quote,
        "ends": "until Friday",
        "starts": "",
        "suggested": (),
        "projects": "",
        "capacity": "5 of 16 free now",
    }
    wish = {"decision": "extension-rejected", "by": "U0MANAGER", "why": "too dear"}
    form = {
        "counts": "1, 2",
        "instance_type": "g6.xlarge",
        "unknown": "",
        "nearest": "",
        "form": True,
        "verb": "release",
    }
    lists = {"similar": (lease.id,), "one": proposals[0], "lease_id": lease.id, "recorded_only": False}
    return {**person, **away, **usage, **home, **quote, **wish, **form, **lists, **_doing_nothing(), **_fleet(lease)}


def _fleet(lease: Lease) -> dict[str, object]:
    """What is told of places, and of the way into a lease."""
    lab = Place("kubernetes", "lab")
    line = Line("A100-80GB", total=16, free=5, unhealthy=0, ownerless=2, reserved=1, largest=4, queued=3)
    place = PlaceFleet(lab, ASKED, (line,), problem="HTTP 403", notes=("a quota is not enforced", "another one"))
    lines = [{"model": line.model, "on_demand": on, **figures(line), "unit": "slices"} for on in (False, True)]
    holder = Holder(lab, "pod team/train", "A100-80GB", 2, who="U0SOMEBODY", since=ASKED, flag="held, never ran")
    shown = {"place": place, "label": "Lab", "lines": lines, "more": 3, "empty": "", "body": "node", "holder": holder}
    numbers = {"page": 2, "more_places": 2, "more_ownerless": 3, "wanted": "lab", "at": ASKED}
    leased = {
        "tenant": Tenant(lease, "idle", ASKED, None, 2),
        "flags": "held, never ran",
        "ends_at": LATER,
        "where": "lab",
    }
    secret = {"file": "kubeconfig", "text": "token", "cluster": True, "until": LATER}
    return {**shown, **numbers, **leased, **secret, "free": ({"place": "lab", "words": "A100-80GB 5 of 16"},) * 2}


def _doing_nothing() -> dict[str, object]:
    """What is told of idle leases, of the meter and of the brake."""
    at = ASKED + timedelta(minutes=30)
    silent = SourceReport("cloudwatch", False, problem="HTTP 403", silent=3, last_good=at)
    report = MeterReport(at, sources=(SourceReport("prometheus", True, 24, last_good=at), silent), leases=2)
    brake = Brake(True, "U0ADMIN", at, "the exporter was changed")
    status = MeterStatus(timedelta(minutes=1), report, brake, "the last tick was an hour ago")
    dispute = Event("verdict-disputed", at, "U1", {"verdict": "idle"})
    meter = {"status": status, "report": report, "brake": brake, "changed": True, "count": 2, "days": 30}
    line = {"event": dispute, "since": at, "figures": "engine 0.004", "reason": "it loads data"}
    return {
        **meter,
        **line,
        "happened": "idle-unknown",
        "counted": 8,
        "idle_gpus": 7,
        "held_since": None,
        "pods_held": 7,
        "known": True,
        "working": 1,
        "budget": "team:ml",
    }


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for item in value.values() for text in _texts(item)]
