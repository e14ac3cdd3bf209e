"""Acts on a lease: what reaches the lease, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from typer.testing import Result

from lessor.contracts import Answer, Verb
from lessor.domain.errors import Refused
from lessor.domain.lease import State
from tests.builders import LEASE_ID, a_lease
from tests.cli.conftest import NOW, FakeGateway

Lessor = Callable[..., Result]


@pytest.mark.parametrize(
    ("words", "verb", "reason"),
    [
        (("approve", LEASE_ID, "--reason", "go"), Verb.APPROVE, "go"),
        (("deny", LEASE_ID, "--reason", "too big"), Verb.DENY, "too big"),
        (("release", LEASE_ID, "--yes"), Verb.RELEASE, ""),
        (("withdraw", LEASE_ID, "-y"), Verb.WITHDRAW, ""),
    ],
)
def test_acts(lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], verb: Verb, reason: str) -> None:
    result = lessor(*words, actor="Manager@Example.com")
    assert (result.exit_code, result.stdout) == (0, "gpu-7k3qxa2m is approved\n")
    [(lease, act)] = gateway.acts
    assert (lease, act.verb, act.by, act.reason, act.via) == (LEASE_ID, verb, "U0MANAGER", reason, "cli")


def test_a_denial_needs_a_reason(lessor: Lessor, gateway: FakeGateway) -> None:
    assert lessor("deny", LEASE_ID).exit_code == 2
    assert gateway.acts == []


@pytest.mark.parametrize("verb", ["release", "withdraw"])
def test_what_takes_something_away_is_confirmed(lessor: Lessor, gateway: FakeGateway, verb: str) -> None:
    alone = lessor(verb, LEASE_ID)
    assert (alone.exit_code, gateway.acts) == (1, [])
    assert alone.stderr == "lessor: nothing was done; nobody can be asked here, so add --yes to confirm\n"
    assert lessor(verb, LEASE_ID, answers="n\n").exit_code == 1
    assert gateway.acts == []
    assert lessor(verb, LEASE_ID, answers="y\n").exit_code == 0
    assert len(gateway.acts) == 1


@pytest.mark.parametrize(
    ("words", "until", "reason"),
    [
        (("2h",), "2026-11-27T19:15:00+00:00", ""),
        (("1", "day", "the data came late"), "2026-11-28T17:15:00+00:00", "the data came late"),
        (("2026-12-24 18:00", "--reason", "late"), "2026-12-24T17:00:00+00:00", "late"),
    ],
)
def test_extend_counts_lengths_from_the_present_end(
    lessor: Lessor, gateway: FakeGateway, words: tuple[str, ...], until: str, reason: str
) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    assert lessor("extend", LEASE_ID, *words).exit_code == 0
    [(_, act)] = gateway.acts
    assert (act.verb, act.until, act.reason) == (Verb.EXTEND, datetime.fromisoformat(until), reason)


def test_restore_counts_lengths_from_now(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease(State.STOPPED)}
    assert lessor("restore", LEASE_ID, "8h", "one more run").exit_code == 0
    [(_, act)] = gateway.acts
    assert (act.verb, act.until, act.reason) == (Verb.RESTORE, NOW + timedelta(hours=8), "one more run")


def test_extend_refuses_an_end_that_is_not_clear(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.leases_ = {LEASE_ID: a_lease()}
    result = lessor("extend", LEASE_ID, "next friday")
    assert (result.exit_code, gateway.acts) == (1, [])
    assert result.stderr == ("lessor: 'next friday' may mean two days; do you mean '2026-06-05' or '2026-06-12'?\n")


def test_a_refused_act_is_told_and_fails(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.answer = Answer(False, "own-request", "this is your own request", LEASE_ID, "awaiting-approval")
    result = lessor("approve", LEASE_ID)
    assert (result.exit_code, result.stderr) == (1, "lessor: this is your own request\n")


BOOKED = "dgx-1 is booked for gpu-00000002 from 2026-11-28 15:00 UTC on"


def test_times_in_a_refusal_are_the_reader_s_and_for_programs_as_they_were(
    lessor: Lessor, gateway: FakeGateway
) -> None:
    gateway.answer = Answer(False, "booked", BOOKED, LEASE_ID, "active")
    told = "dgx-1 is booked for gpu-00000002 from Saturday 28 November 2026 16:00 CET on"
    assert lessor("approve", LEASE_ID).stderr == f"lessor: {told}\n"
    said = json.loads(lessor("approve", LEASE_ID, "--json").stdout)
    assert (said["code"], said["message"]) == ("booked", BOOKED)
    gateway.answer = Answer(True, "extended", f"{BOOKED}, so no longer", LEASE_ID, "active")
    assert lessor("approve", LEASE_ID).stdout == f"{told}, so no longer\n"


def test_times_in_any_other_refusal_are_the_reader_s_too(
    lessor: Lessor, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_: object) -> Answer:
        raise Refused("booked", BOOKED)

    monkeypatch.setattr(gateway, "act", refuses)
    assert "from Saturday 28 November 2026 16:00 CET on" in lessor("approve", LEASE_ID).stderr


def test_an_act_that_is_only_recorded_says_so(lessor: Lessor, gateway: FakeGateway) -> None:
    gateway.answer = Answer(True, "recorded", "", LEASE_ID, "active", recorded_only=True)
    result = lessor("approve", LEASE_ID)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{LEASE_ID} is active; it is recorded and takes effect as soon as the worker is back\n",
    )
