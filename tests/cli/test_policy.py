"""`lessor policy test`, `explain` and `replay`, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lessor.config import loads
from lessor.domain.case import Case
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State
from lessor.domain.policy import Outcome
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Need, Place, Workload
from lessor.ledger import open_ledger
from lessor.policyfile import CompiledPolicy, compile_policy
from tests.builders import REQUESTER, a_lease, a_quote, a_request, usd
from tests.cli.conftest import NOW, Terminal
from tests.config.sample import VALID, changed

BEFORE = compile_policy(loads(VALID))


def record(folder: Path, lease_id: str, hourly: str | None, policy: CompiledPolicy = BEFORE, **changes: Any) -> Lease:
    """A lease on record as it was judged; a week ago unless `age` says otherwise."""
    at = NOW - changes.pop("age", timedelta(days=7))
    request = a_request(team="research", **changes)
    quote: Quote = a_quote(usd(hourly) if hourly else None)
    decision = policy.judge(Case(request, quote, REQUESTER, at))
    lease = replace(a_lease(State.AWAITING_APPROVAL), id=lease_id, request=request, quote=quote, requested_at=at)
    lease = replace(lease, decision=decision)
    ledger = open_ledger(f"sqlite:///{folder}/ledger.db")
    ledger.record(lease, [Event("asked", at, "lessor", {})])
    ledger.close()
    return lease


def write(folder: Path, text: str) -> str:
    path = folder / "new.yaml"
    path.write_text(text)
    return str(path)


SUITE = """\
request: {model: A10G, for: 8h}
tests:
  - {name: cheap, expect: {outcome: approve}}
  - {name: dear, request: {price: 400}, expect: {outcome: approve, steps: []}}
"""


def test_a_suite_that_passes(lessor: Terminal) -> None:
    path = write(lessor.folder, SUITE.replace("outcome: approve, steps: []", "outcome: require"))
    result = lessor("policy", "test", path, actor="")
    assert (result.exit_code, result.stdout) == (0, f"2 of 2 decisions are as expected; policy {BEFORE.version}\n")


def test_a_suite_that_fails_says_where_and_why(lessor: Terminal) -> None:
    path = write(lessor.folder, SUITE)
    result = lessor("policy", "test", path)
    assert (result.exit_code, result.stdout) == (1, f"1 of 2 decisions are as expected; policy {BEFORE.version}\n")
    assert result.stderr.splitlines() == [
        "lessor: new.yaml:4: dear",
        "lessor: outcome: expected approve; got require (big: quote.total > 2000)",
        "lessor: steps: expected none; got lead, then money",
    ]
    machine = lessor("policy", "test", path, "--json")
    facts = json.loads(machine.stdout)
    assert (machine.exit_code, facts["ok"]) == (1, False)
    assert [(one["name"], one["ok"]) for one in facts["tests"]] == [("cheap", True), ("dear", False)]
    assert facts["tests"][1]["differences"][0] == {
        "what": "outcome",
        "expected": "approve",
        "got": "require (big: quote.total > 2000)",
    }


def test_a_suite_that_is_wrong_is_no_failed_test(lessor: Terminal) -> None:
    path = write(lessor.folder, SUITE.replace("model", "modle"))
    result = lessor("policy", "test", path)
    assert result.exit_code == 2
    assert "new.yaml:1: tests[0].request.modle: unknown key; did you mean 'model'?" in result.stderr
    missing = lessor("policy", "test", "nowhere.yaml")
    assert (missing.exit_code, missing.stderr.startswith("lessor: nowhere.yaml: does not exist")) == (2, True)


def test_a_ledger_that_is_not_there_is_no_empty_one(lessor: Terminal) -> None:
    path = write(lessor.folder, VALID)
    for words in (("policy", "explain", "gpu-7k3qxa2m"), ("policy", "replay", "--policy", path), ("idle", "list")):
        result = lessor(*words)
        assert (result.exit_code, result.stdout) == (1, ""), words
        assert result.stderr.startswith(f"lessor: there is no ledger {lessor.folder}/ledger.db; nothing was made")
    assert not (lessor.folder / "ledger.db").exists()


def test_a_lease_is_explained_from_the_facts_on_record(lessor: Terminal) -> None:
    record(lessor.folder, "gpu-7k3qxa2m", "300")
    result = lessor("policy", "explain", "7K3QXA2M", actor="")
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:3] == [
        "gpu-7k3qxa2m, asked for by U0REQUESTER at 2026-05-27 13:11 UTC: require",
        "- big: quote.total > 2000",
        "Steps: lead (lead:research), then money (group:finance)",
    ]
    assert [" ".join(line.split()) for line in lines[3:]] == [
        f"Rules of policy {BEFORE.version}",
        "rule line does matches why",
        "big 27 require holds quote.total > 2000",
        "small 24 approve no quote.total <= 50 is false",
        "Facts",
        "fact value",
        "quote.total 2400",
    ]


def test_an_unknown_fact_is_shown_as_unknown(lessor: Terminal) -> None:
    record(lessor.folder, "gpu-7k3qxa2m", None)
    facts = json.loads(lessor("policy", "explain", "gpu-7k3qxa2m", "--json").stdout)
    assert facts["decision"]["outcome"] == "require"
    assert [(one["rule"], one["matches"], one["facts"]) for one in facts["rules"]] == [
        ("small", None, {"quote.total": None}),
        ("big", None, {"quote.total": None}),
    ]
    assert facts["rules"][1]["against"] == [{"part": "quote.total > 2000", "holds": None}]


def test_changed_rules_are_told(lessor: Terminal) -> None:
    record(lessor.folder, "gpu-7k3qxa2m", "300", compile_policy(loads(changed("> 2000", "> 3000"))))
    lines = lessor("policy", "explain", "gpu-7k3qxa2m").stdout.splitlines()
    assert lines[1] == "- default: no rule speaks of this request"
    assert lines[3].startswith("The rules have changed since (")
    assert lines[4:6] == ["require", "- big: quote.total > 2000"]


@pytest.mark.parametrize(
    ("lease", "code"),
    [
        (None, "not-found"),
        (replace(a_lease(State.REQUESTED), id="gpu-7k3qxa2m"), "undecided"),
        (replace(a_lease(State.AWAITING_APPROVAL), id="gpu-7k3qxa2m"), "no-facts"),
    ],
)
@pytest.mark.usefixtures("empty_ledger")
def test_what_cannot_be_explained_is_told(lessor: Terminal, lease: Lease | None, code: str) -> None:
    if lease:
        ledger = open_ledger(f"sqlite:///{lessor.folder}/ledger.db")
        ledger.record(lease, [Event("asked", NOW, "lessor", {})])
        ledger.close()
    result = lessor("policy", "explain", "gpu-7k3qxa2m", "--json")
    assert (result.exit_code, json.loads(result.stdout)["code"]) == (1, code)


@pytest.mark.usefixtures("empty_ledger")
def test_a_typed_request_is_explained_as_it_would_be_judged_now(lessor: Terminal) -> None:
    lessor.gateway.quoted = a_quote(usd("3"))
    words = ["2", "x", "a100", "80gb", "for", "8h", "training", "'tune", "it'", "team:research", "in", "research-us"]
    result = lessor("policy", "explain", *words, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["decision"]["outcome"] == "approve"
    assert facts["rules"][0]["facts"] == {"quote.total": "24"}
    assert lessor.gateway.requests == []
    shown = lessor("policy", "explain", *words).stdout
    assert shown.startswith("This request of U0REQUESTER: approve\n- small: quote.total <= 50\n")


@pytest.mark.parametrize("code", ["place-unreachable", "no-offer"])
@pytest.mark.usefixtures("empty_ledger")
def test_where_the_place_cannot_be_asked_the_catalogue_says_the_price(lessor: Terminal, code: str) -> None:
    async def quote(need: Need, place: Place, market: Market) -> Quote:
        raise Refused(code, "there are no credentials")

    lessor.gateway.quote = quote  # type: ignore[method-assign]
    words = ["a10g", "for", "8h", "training", "tune it", "team:research", "in", "research-us"]
    facts = json.loads(lessor("policy", "explain", *words, "--json").stdout)
    assert facts["rules"][0]["facts"] == {"quote.total": "8.05"}
    assert facts["note"] == (
        "The place could not be asked, so type and price are the catalogue's: there are no credentials"
    )


def test_an_incomplete_request_is_refused_at_its_fields(lessor: Terminal) -> None:
    result = lessor("policy", "explain", "2", "x", "a100", "80gb")
    assert (result.exit_code, "lessor: end: say until when, such as 8h" in result.stderr) == (1, True)


def test_a_replay_lists_what_would_be_different_with_its_money(lessor: Terminal) -> None:
    folder = lessor.folder
    record(folder, "gpu-aaaaaaaa", "300")
    record(folder, "gpu-bbbbbbbb", "5")
    record(folder, "gpu-cccccccc", "300", market=Market.SPOT, age=timedelta(days=40))
    record(folder, "gpu-dddddddd", None, workload=Workload.NOTEBOOK)
    plain = record(folder, "gpu-eeeeeeee", "5", age=timedelta(days=8))
    ledger = open_ledger(f"sqlite:///{folder}/ledger.db")
    assert plain.decision is not None
    bare = replace(plain, id="gpu-ffffffff", decision=replace(plain.decision, facts=()))
    ledger.record(bare, [Event("asked", NOW, "lessor", {})])
    ledger.close()
    text = VALID + "    - {name: no, when: quote.total > 2000 || request.workload == 'notebook', then: {deny: no}}\n"
    new = write(folder, text)
    result = lessor("policy", "replay", "--policy", new, actor="")
    assert result.exit_code == 0, result.output
    version = compile_policy(loads(text)).version
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "Would have been different",
        "lease asked by team change rules then rules now price",
        "gpu-aaaaaaaa 2026-05-27 U0REQUESTER research require -> deny big no 2,400.00 USD",
        "gpu-cccccccc 2026-04-24 U0REQUESTER research require -> deny big no 2,400.00 USD",
        "gpu-dddddddd 2026-05-27 U0REQUESTER research require -> deny big, small, unknown-price no unknown",
        f"5 requests, of which 3 would have been decided differently by {version}",
        "require -> deny: 4,800.00 USD and 1 of an unknown price",
        "1 more have no facts on record, so nothing can be said of them",
    ]
    for since in ("2026-05-01", "30d"):
        facts = json.loads(lessor("policy", "replay", "--policy", new, "--since", since, "--json").stdout)
        assert [one["lease_id"] for one in facts["differences"]] == ["gpu-aaaaaaaa", "gpu-dddddddd"]
        assert (facts["same"], facts["without_facts"]) == (2, ["gpu-ffffffff"])
        assert facts["money"] == [{"what": "require -> deny", "currency": "USD", "total": "2400.00", "unknown": 1}]
        assert facts["differences"][0]["after"]["reasons"] == [{"rule": "no", "text": "no"}]


def test_the_same_rules_change_nothing(lessor: Terminal) -> None:
    record(lessor.folder, "gpu-aaaaaaaa", "300")
    record(lessor.folder, "gpu-bbbbbbbb", None)
    result = lessor("policy", "replay", "--policy", write(lessor.folder, VALID))
    assert result.stdout == f"2 requests, of which 0 would have been decided differently by {BEFORE.version}\n"


def test_other_steps_and_other_suggestions_are_differences(lessor: Terminal) -> None:
    record(lessor.folder, "gpu-aaaaaaaa", "300", checkpoints=True)
    assert BEFORE.judge(Case(a_request(), a_quote(usd("300")), REQUESTER, NOW)).outcome is Outcome.REQUIRE

    def what(text: str) -> list[str]:
        found = lessor("policy", "replay", "--policy", write(lessor.folder, text), "--json")
        return [one["what"] for one in json.loads(found.stdout)["differences"]]

    assert what(changed('{require: [lead, {name: money, approvers: ["group:finance"]}]}', "{require: [lead]}")) == [
        "other steps"
    ]
    spot = "    - {name: s, when: request.checkpoints, then: {suggest: {text: a, instance_type: g5.xlarge}}}\n"
    assert what(VALID + spot) == ["other suggestions"]
    assert what(changed("reason: ", "reason: other ") if "reason: " in VALID else VALID) == []


def test_a_wrong_since_or_policy_is_told(lessor: Terminal) -> None:
    result = lessor("policy", "replay", "--policy", write(lessor.folder, VALID), "--since", "yesterday")
    expected = "lessor: --since 'yesterday' is neither a date such as 2026-11-01 nor a length such as 30d\n"
    assert (result.exit_code, result.stderr) == (2, expected)
    bad = lessor("policy", "replay", "--policy", write(lessor.folder, changed("> 2000", "> 'a'")))
    assert (bad.exit_code, bad.stderr.startswith("lessor: new.yaml:28: policy.rules[1].when: compares")) == (2, True)
