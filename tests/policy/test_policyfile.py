"""Rules of a configuration decide: strictest wins, unknown asks people, the record names rule, line and version."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lessor.config import ConfigError, loads
from lessor.domain.case import Case
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec, Suggestion
from lessor.domain.quote import Quote
from lessor.domain.request import Market, Place, Workload
from lessor.policyfile import CompiledPolicy, compile_policy
from tests.builders import REQUESTER, a_quote, a_request, usd
from tests.config.sample import VALID, changed

NOW = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)


def a_policy(*rules: str, default: str = "") -> CompiledPolicy:
    head, _, _ = VALID.partition("policy:")
    return compile_policy(loads(head + "policy:\n" + default + "  rules:\n" + "".join(f"    - {r}\n" for r in rules)))


def a_price(hourly: str | None, on_demand: str | None = None) -> Quote:
    quote = a_quote()
    offer = replace(
        quote.offer,
        hourly=usd(hourly) if hourly else None,
        on_demand_hourly=usd(on_demand) if on_demand else None,
        market=Market.SPOT if on_demand else Market.ON_DEMAND,
    )
    return replace(quote, offer=offer)


def decide(policy: CompiledPolicy, quote: Quote | None, **changes: Any) -> Decision:
    return policy.judge(Case(a_request(**changes), quote, REQUESTER, NOW))


APPROVE = "{name: small, when: quote.total <= 50, then: approve, reason: cheap}"
ASK = '{name: big, when: quote.total > 2000, then: {require: [lead, {name: money, approvers: ["group:finance"]}]}}'
DENY = "{name: never, when: request.count > 64, then: {deny: too many}}"
LEAD = StepSpec("lead", ("lead:ml",))


def test_a_small_request_is_approved_by_the_rule() -> None:
    policy = a_policy(APPROVE, ASK, DENY)
    decision = decide(policy, a_price("6.25"))
    assert replace(decision, facts=()) == Decision(Outcome.APPROVE, (Reason("small", "cheap"),), (), policy.version)


def test_a_limit_is_met_to_the_cent() -> None:
    policy = a_policy(APPROVE)
    assert decide(policy, a_price("6.25")).outcome is Outcome.APPROVE  # 8 h x 6.25 = 50.00
    assert decide(policy, a_price("6.2514")).outcome is Outcome.REQUIRE  # 50.0112 rounds to 50.01


def test_lead_means_the_lead_of_the_requests_team() -> None:
    decision = decide(a_policy(ASK), a_price("300"))
    assert decision.steps == (LEAD, StepSpec("money", ("group:finance",), stage=1))
    assert decision.reasons == (Reason("big", "quote.total > 2000"),)


def test_the_strictest_rule_wins_in_any_order() -> None:
    both = "{name: any, when: 'true', then: approve}"
    deny = "{name: no, when: request.count == 8, then: {deny: not eight}}"
    for rules in ((both, deny), (deny, both)):
        decision = decide(a_policy(*rules), a_price("1"))
        assert (decision.outcome, decision.reasons) == (Outcome.DENY, (Reason("no", "not eight"),))


@pytest.mark.parametrize("quote", [None, a_price(None), a_price(None, "5")])
def test_an_unknown_price_is_never_approved(quote: Quote | None) -> None:
    decision = decide(a_policy(APPROVE, "{name: all, when: 'true', then: approve}"), quote)
    assert decision.outcome is Outcome.REQUIRE
    assert decision.steps == (LEAD,)
    assert Reason("unknown-price", "the price is unknown, so people decide") in decision.reasons


def test_an_unknown_fact_in_a_rule_that_asks_is_told() -> None:
    decision = decide(a_policy(ASK), None)
    assert Reason("big", "cannot be judged, a fact is unknown: quote.total > 2000") in decision.reasons
    assert decision.steps == (LEAD, StepSpec("money", ("group:finance",), stage=1))


def test_without_a_word_from_any_rule_the_default_asks() -> None:
    decision = decide(
        a_policy(
            "{name: never, when: request.count > 64, then: {deny: no}}",
            default='  default: {require: ["group:finance"]}\n',
        ),
        a_price("1"),
    )
    assert decision.steps == (StepSpec("group:finance", ("group:finance",)),)
    assert decision.reasons == (Reason("default", "no rule speaks of this request"),)


def test_the_on_demand_price_is_judged_for_spot() -> None:
    """F34: spot prices move, so an approval limit applies to the on-demand price."""
    policy = a_policy(APPROVE)
    assert decide(policy, a_price("1", "98.32")).outcome is Outcome.REQUIRE
    assert decide(policy, a_price("98.32", "1")).outcome is Outcome.APPROVE


def test_rules_carry_their_line_and_the_policy_a_version_of_its_content() -> None:
    config = loads(VALID)
    policy = compile_policy(config)
    assert [(rule.name, rule.line) for rule in policy.policy.rules] == [("small", 24), ("big", 27)]
    assert compile_policy(loads("# comment\n" + VALID)).version == policy.version
    assert compile_policy(loads(changed("total <= 50", "total <= 51"))).version != policy.version
    assert compile_policy(loads(changed("grace: 7d", "grace: 6d"))).version == policy.version


def test_all_broken_conditions_are_told_with_their_lines() -> None:
    text = changed("quote.total <= 50", "quote.totle <= 50").replace(
        "quote.total > 2000", "|\n        true &&\n        x"
    )
    with pytest.raises(ConfigError) as caught:
        loads(text)
    assert [(p.line, p.path) for p in caught.value.problems] == [
        (25, "policy.rules[0].when"),
        (28, "policy.rules[1].when"),
    ]
    assert caught.value.problems[1].message.endswith("(line 2 of it, column 1)")


SPOT = (
    "{name: spot, when: request.workload == 'training' && request.checkpoints, "
    "then: {suggest: {text: half the price, market: spot}}}"
)
SMALLER = (
    "{name: smaller, when: request.workload == 'notebook', then: {suggest: {text: enough, instance_type: g5.xlarge, "
    "count: 1}}}"
)


def suggested(rule: str, markets: str = "[on-demand, spot]", **changes: Any) -> list[Suggestion]:
    head = VALID.partition("policy:")[0].replace("zones: [us-east-1a]", f"markets: {markets}")
    policy = compile_policy(loads(head + f"policy:\n  rules:\n    - {rule}\n"))
    request = a_request(place=Place("aws", "research-us"), checkpoints=True, **changes)
    return list(policy.judge(Case(request, a_price("1"), REQUESTER, NOW)).suggestions)


def test_a_suggestion_is_made_beside_the_outcome() -> None:
    policy = a_policy(DENY, APPROVE, "{name: fit, when: 'true', then: {approve: true, suggest: {text: good}}}")
    decision = decide(policy, a_price("1"))
    assert decision.outcome is Outcome.APPROVE
    assert decision.suggestions == (Suggestion("fit", "good"),)


def test_a_suggestion_that_changes_nothing_or_cannot_be_had_is_not_made() -> None:
    found = Suggestion("spot", "half the price", market="spot")
    assert suggested(SPOT) == [found]
    assert suggested(SPOT, market=Market.SPOT) == []
    elsewhere = "[on-demand]\n  - {name: other, regions: [us-east-1], markets: [spot]}"
    assert suggested(SPOT, markets=elsewhere) == []
    smaller = Suggestion("smaller", "enough", instance_type="g5.xlarge", count=1)
    assert suggested(SMALLER, workload=Workload.NOTEBOOK) == [smaller]
    assert suggested(SMALLER, "[spot]\n    instance_types: [g5.2xlarge]", workload=Workload.NOTEBOOK) == []


def test_a_rule_limits_requests_and_extensions() -> None:
    policy = a_policy("{name: short, when: request.workload == 'training', then: {max: 2d}, reason: be short}")
    assert decide(policy, a_price("1"), duration=timedelta(days=2)).outcome is Outcome.REQUIRE
    for case in (
        Case(a_request(duration=timedelta(days=3)), a_price("1"), REQUESTER, NOW),
        Case(a_request(duration=timedelta(days=3)), a_price("1"), REQUESTER, NOW, extensions=1),
        Case(a_request(duration=None, until=NOW + timedelta(days=3)), None, REQUESTER, NOW),
    ):
        decision = policy.judge(case)
        text = "3 d is longer than the 2 d that are allowed here (be short)"
        assert (decision.outcome, decision.reasons) == (Outcome.DENY, (Reason("short", text),))


def test_steps_are_asked_one_after_the_other_or_side_by_side() -> None:
    rule = (
        "{name: r, when: 'true', then: {require: [lead, {name: b, approvers: [budget-owner], parallel: true}, "
        "{name: c, approvers: [admins]}]}}"
    )
    owned = VALID.partition("policy:")[0].replace("members: [U0REQ", "budget_owner: U0FINANCE, members: [U0REQ")
    policy = compile_policy(loads(f"{owned}policy:\n  rules:\n    - {rule}\n"))
    assert decide(policy, a_price("1")).steps == (
        StepSpec("b", ("budget-owner:ml",), stage=0),
        StepSpec("lead", ("lead:ml",), stage=0),
        StepSpec("c", ("admins",), stage=1),
    )


def test_a_decision_keeps_the_facts_that_were_known() -> None:
    decision = decide(a_policy(APPROVE), a_price("6.25"), purpose="long " * 100, tags={"a": "b"})
    kept = dict(decision.facts)
    assert (kept["quote.total"], kept["request.hours"], kept["request.count"]) == ("50", "8", "8")
    assert (kept["team.limited"], kept["time.now"]) == ("false", "2026-11-27T23:30:00+00:00")
    assert not {"request.purpose", "request.tags", "request.market", "team.quota", "place.residency"} & kept.keys()
