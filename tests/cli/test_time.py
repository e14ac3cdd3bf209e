"""Ends, working hours and reservations on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import Result

from lessor.contracts import Verb
from lessor.domain import extension, suspension
from lessor.domain.lease import Lease, State
from tests.builders import CLOSES, ENDS, LEASE_ID, MORNINGS, READY, REQUESTER, a_lease, a_request, a_step
from tests.cli.conftest import FakeGateway

Lessor = Callable[..., Result]


def wishing() -> Lease:
    until, now = ENDS + timedelta(days=2), READY
    return extension.ask(a_lease(), until, REQUESTER, "not done", (a_step(),), (), now).lease


@pytest.mark.parametrize(
    ("words", "verb", "until", "reason"),
    [
        (("shorten", LEASE_ID, "2h"), Verb.SHORTEN, "2026-06-03T15:11:00+00:00", ""),
        (("shorten", LEASE_ID, "friday 18:00", "done early"), Verb.SHORTEN, "2026-06-05T16:00:00+00:00", "done early"),
        (("exempt", LEASE_ID), Verb.EXEMPT, None, ""),
        (("exempt", LEASE_ID, "--reason", "a demo"), Verb.EXEMPT, None, "a demo"),
        (("exempt", LEASE_ID, "monday", "8:00", "a long run"), Verb.EXEMPT, "2026-06-08T06:00:00+00:00", "a long run"),
    ],
)
def test_what_reaches_the_lease(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], verb: Verb, until: str | None, reason: str
) -> None:
    assert lessor(*words).exit_code == 0
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.reason, act.via) == (LEASE_ID, verb, reason, "cli")
    assert act.until == (datetime.fromisoformat(until) if until else None)


@pytest.mark.parametrize(
    ("lease", "words", "verb"),
    [
        (wishing(), ("approve", LEASE_ID), Verb.GRANT),
        (wishing(), ("deny", LEASE_ID, "--reason", "no"), Verb.REJECT),
        (a_lease(), ("approve", LEASE_ID), Verb.APPROVE),
        (a_lease(State.AWAITING_APPROVAL), ("deny", LEASE_ID, "--reason", "no"), Verb.DENY),
    ],
)
def test_of_a_lease_in_use_the_later_end_is_decided(
    lessor: Lessor, gateway: FakeGateway, lease: Lease, words: tuple[str, ...], verb: Verb
) -> None:
    gateway.leases_[LEASE_ID] = lease
    assert lessor(*words).exit_code == 0
    assert gateway.acts[0][1].verb is verb


def test_a_reservation(lessor: Lessor, gateway: FakeGateway) -> None:
    words = ("2 x a100 80gb", "for 8h", "training", "purpose:fine-tune it", "--start", "monday 9:00", "--yes")
    result = lessor("request", *words)
    assert result.exit_code == 0, result.stderr
    [(request, _)] = gateway.requests
    assert (request.start, request.duration) == (datetime(2026, 6, 8, 7, tzinfo=UTC), timedelta(hours=8))
    assert "Monday 8 June 2026 09:00 CEST" in result.stdout


def test_an_unclear_start_asks(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor(
        "request", "2 x a100 80gb", "for 8h", "training", "purpose:x y z", "--start", "wednesday 18:00", "-y"
    )
    assert result.exit_code == 1
    assert "'wednesday 18:00' may mean two days; do you mean '2026-06-03 18:00' or '2026-06-10 18:00'?" in result.stderr
    assert gateway.requests == []


@pytest.mark.parametrize(
    ("lease", "line"),
    [
        (
            replace(a_lease(schedule=MORNINGS), request=a_request(schedule="mornings")),
            "mornings, daily 09:00 to 12:00 UTC",
        ),
        (a_lease(State.SUSPENDED), "its team, daily 09:00 to 12:00 UTC; it rests until"),
        (
            suspension.exempt(a_lease(schedule=MORNINGS), CLOSES, REQUESTER.id, "a demo", READY).lease,
            "exempt until",
        ),
        (wishing(), "is asked for by U0REQUESTER, manager decides; it runs until"),
    ],
)
def test_what_is_shown_of_time(lessor: Lessor, gateway: FakeGateway, lease: Lease, line: str) -> None:
    gateway.leases_[LEASE_ID] = lease
    shown = " ".join(lessor("show", LEASE_ID).stdout.split())
    assert line in shown
    facts = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert facts["runs_until"] == (lease.runs_until.isoformat() if lease.runs_until else None)
    assert (facts["suspended_at"] is not None) == (lease.state is State.SUSPENDED)
