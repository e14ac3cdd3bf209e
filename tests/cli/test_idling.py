"""Leases that do nothing on the command line: what people say to that, and stopping and starting by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from typer.testing import Result

from lessor.contracts import Verb
from lessor.domain import idling
from lessor.domain.idle import IdleTerms
from lessor.domain.ladder import Pause, Why
from lessor.domain.lease import Lease, State
from tests.builders import LEASE_ID, a_lease
from tests.cli.conftest import NOW, FakeGateway
from tests.idleness import SINCE, an_evidence

Lessor = Callable[..., Result]


def told_idle(**figures: Any) -> Lease:
    """Seen idle an hour after it was ready; the clock of these commands stands before that."""
    return idling.metered(a_lease(), an_evidence(**figures), IdleTerms(), SINCE + timedelta(hours=1)).lease


@pytest.mark.parametrize(
    ("words", "verb", "until", "reason", "confirmation"),
    [
        (("stop", LEASE_ID, "--yes"), Verb.STOP, None, "", ""),
        (("stop", LEASE_ID, "--confirm", LEASE_ID), Verb.STOP, None, "", LEASE_ID),
        (("start", LEASE_ID), Verb.START, None, "", ""),
        (("snooze", LEASE_ID, "4h", "a demo"), Verb.SNOOZE, "2026-06-03T17:11:00+00:00", "a demo", ""),
        (("snooze", "7k3qxa2m", "tomorrow 9:00", "--reason", "x"), Verb.SNOOZE, "2026-06-04T07:00:00+00:00", "x", ""),
        (("dispute", LEASE_ID, "it", "loads", "data"), Verb.DISPUTE, None, "it loads data", ""),
        (("consent", LEASE_ID, "--yes"), Verb.CONSENT, None, "", ""),
        (("spare", LEASE_ID, "--reason", "serves"), Verb.SPARE, None, "serves", ""),
        (("spare", LEASE_ID, "friday 18:00", "serves"), Verb.SPARE, "2026-06-05T16:00:00+00:00", "serves", ""),
        (("spare", LEASE_ID, "--no-longer"), Verb.SPARE, NOW.isoformat(), "", ""),
    ],
)
def test_what_reaches_the_lease(
    lessor: Lessor,
    gateway: FakeGateway,
    words: tuple[str, ...],
    verb: Verb,
    until: str | None,
    reason: str,
    confirmation: str,
) -> None:
    result = lessor(*words)
    assert result.exit_code == 0, result.stderr
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.reason, act.via, act.confirmation) == (LEASE_ID, verb, reason, "cli", confirmation)
    assert act.until == (datetime.fromisoformat(until) if until else None)
    assert act.id.startswith(f"{LEASE_ID}/{verb.value}/cli:")


@pytest.mark.parametrize("command", ["stop", "consent"])
def test_what_takes_something_away_is_asked_first(lessor: Lessor, gateway: FakeGateway, command: str) -> None:
    unasked = lessor(command, LEASE_ID, "--json")
    assert (unasked.exit_code, json.loads(unasked.stdout)["code"]) == (1, "not-confirmed")
    assert lessor(command, LEASE_ID, answers="n\n").exit_code == 1
    assert gateway.acts == []
    assert lessor(command, LEASE_ID, answers="y\n").exit_code == 0
    assert len(gateway.acts) == 1


def test_a_snooze_needs_a_time_that_is_understood(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("snooze", LEASE_ID, "sometime")
    assert result.exit_code == 1
    assert "'sometime' is not understood" in result.stderr
    assert gateway.acts == []


def test_show_says_what_it_is_idle_for_and_what_follows(lessor: Lessor, gateway: FakeGateway) -> None:
    lease = told_idle(active_at=SINCE, active_kind="gpu")
    gateway.leases_ = {LEASE_ID: lease}
    shown = lessor("show", LEASE_ID)
    assert shown.exit_code == 0, shown.stderr
    since = "Friday 27 November 2026 11:15 CET"
    assert f"idle since {since}; last activity {since} (gpu); stopped " in shown.stdout
    facts = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert (facts["idle_since"], facts["idle_verdict"], facts["paused"]) == (SINCE.isoformat(), "idle", None)
    assert facts["idle_stop_at"] == (SINCE + timedelta(hours=2)).isoformat()


def test_show_says_why_it_was_stopped_and_how_to_start_it(lessor: Lessor, gateway: FakeGateway) -> None:
    paused = Pause(Why.ASKED, "U0REQUESTER", SINCE, "U0REQUESTER asked for it")
    gateway.leases_ = {LEASE_ID: replace(a_lease(State.SUSPENDED), pause=paused)}
    assert f"U0REQUESTER asked for it; start it with lessor start {LEASE_ID}" in lessor("show", LEASE_ID).stdout
    assert json.loads(lessor("show", LEASE_ID, "--json").stdout)["paused"] == "asked"


def test_a_time_and_its_opposite_are_refused(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("spare", LEASE_ID, "friday 18:00", "--no-longer")
    assert (result.exit_code, gateway.acts) == (1, [])
    assert "give a time, or --no-longer" in result.stderr
