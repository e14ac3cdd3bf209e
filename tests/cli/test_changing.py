"""Other terms, questions and typed approvals on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from typer.testing import Result

from lessor.contracts import Verb
from lessor.domain import changes, questions
from lessor.domain.lease import State
from lessor.domain.pending import Changes
from lessor.domain.request import Market
from tests.builders import APPROVED, LEASE_ID, MANAGER, a_lease
from tests.cli.conftest import FakeGateway

Lessor = Callable[..., Result]
FRIDAY = datetime.fromisoformat("2026-06-05T16:00:00+00:00")


@pytest.mark.parametrize(
    ("words", "verb", "wanted", "reason"),
    [
        (
            ("counter", LEASE_ID, "--count", "4", "--until", "2h", "--reason", "enough"),
            Verb.COUNTER,
            Changes(duration=timedelta(hours=2), count=4),
            "enough",
        ),
        (("counter", "7k3qxa2m", "--market", "spot"), Verb.COUNTER, Changes(market=Market.SPOT), ""),
        (
            ("revise", LEASE_ID, "--until", "friday 18:00", "--type", "g6.xlarge"),
            Verb.REVISE,
            Changes(until=FRIDAY, instance_type="g6.xlarge"),
            "",
        ),
        (("accept", LEASE_ID), Verb.ACCEPT, None, ""),
        (("decline", LEASE_ID), Verb.DECLINE, None, ""),
        (("ask", LEASE_ID, "why", "eight?"), Verb.ASK, None, "why eight?"),
        (("reply", LEASE_ID, "the batch needs it"), Verb.REPLY, None, "the batch needs it"),
    ],
)
def test_acts(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], verb: Verb, wanted: Changes | None, reason: str
) -> None:
    result = lessor(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.by, act.changes, act.reason) == (LEASE_ID, verb, "U0REQUESTER", wanted, reason)
    assert act.via == "cli"


@pytest.mark.parametrize("verb", ["counter", "revise"])
def test_nothing_different_is_no_change(lessor: Lessor, gateway: FakeGateway, verb: str) -> None:
    result = lessor(verb, LEASE_ID)
    assert (result.exit_code, gateway.acts) == (1, [])
    assert result.stderr == "lessor: say what is to be different: --until, --count, --type or --market\n"


def test_a_market_that_is_none(lessor: Lessor, gateway: FakeGateway) -> None:
    result = lessor("revise", LEASE_ID, "--market", "black")
    assert (result.exit_code, gateway.acts) == (1, [])
    assert result.stderr == "lessor: 'black' is no market; allowed: on-demand, spot, capacity-block\n"


def test_what_was_typed_goes_with_the_approval(lessor: Lessor, gateway: FakeGateway) -> None:
    assert lessor("approve", LEASE_ID, "--confirm", LEASE_ID, actor="U0MANAGER").exit_code == 0
    [(_, act)] = gateway.acts
    assert (act.verb, act.confirmation) == (Verb.APPROVE, LEASE_ID)


def test_what_is_said_before_the_decision_is_shown(lessor: Lessor, gateway: FakeGateway) -> None:
    lease = questions.ask(a_lease(State.AWAITING_APPROVAL), MANAGER, "why eight?", APPROVED).lease
    lease = changes.propose(lease, MANAGER, Changes(count=4), "", APPROVED).lease
    gateway.leases_ = {LEASE_ID: lease}
    shown = json.loads(lessor("show", LEASE_ID, "--json").stdout)
    assert shown["proposed"] == "4 GPUs"
    assert shown["questions"] == [{"by": "U0MANAGER", "text": "why eight?", "answer": None}]
    assert shown["lapses_at"] == "2026-11-28T09:00:00+00:00"
    words = lessor("show", LEASE_ID).stdout
    assert "U0MANAGER: why eight? - not answered yet" in words
    assert "4 GPUs, by U0MANAGER" in words
    assert "Saturday 28 November 2026 10:00 CET" in words
