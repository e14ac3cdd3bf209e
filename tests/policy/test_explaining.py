"""Explanations: who spoke, which parts of a condition kept it from holding, and the facts that were looked at."""

from __future__ import annotations

from typing import Any

import pytest

from lessor.config import loads
from lessor.policyfile import compile_policy
from lessor.policyfile.conditions import compile_condition
from lessor.policyfile.explaining import Explanation, Part, explain
from lessor.policyfile.facts import documented
from lessor.policyfile.parsing import core, written
from tests.config.sample import VALID

HEAD, _, _ = VALID.partition("policy:")


def explained(*rules: str, **known: Any) -> Explanation:
    policy = compile_policy(loads(f"{HEAD}policy:\n  rules:\n" + "".join(f"    - {one}\n" for one in rules)))
    given = {name.replace("__", "."): value for name, value in known.items()}
    return explain(policy, dict.fromkeys(documented()) | {"quote.known": True} | given)


def test_rules_that_spoke_come_first_and_the_others_keep_their_order() -> None:
    found = explained(
        "{name: b, when: request.count > 4, then: {deny: much}}",
        "{name: a, when: request.count > 8, then: approve}",
        "{name: c, when: request.count > 2, then: {suggest: {text: less}}}",
        request__count=6,
    )
    assert [(one.rule.name, one.spoke, one.holds) for one in found.rules] == [
        ("b", True, True),
        ("c", True, True),
        ("a", False, False),
    ]
    assert found.rules[0].facts == (("request.count", "6"),)


def test_only_the_parts_that_keep_a_rule_from_holding_are_told() -> None:
    found = explained(
        "{name: a, when: 'request.count > 2 && (person.lead || person.admin) && quote.total < 5', then: approve}",
        request__count=6,
        person__lead=False,
        person__admin=False,
    )
    (said,) = found.rules
    assert said.against == (Part("person.lead || person.admin", False), Part("quote.total < 5", None))
    assert said.facts == (
        ("request.count", "6"),
        ("quote.total", None),
        ("person.lead", "false"),
        ("person.admin", "false"),
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("true", ["true"]),
        ("request.count > 2", ["request.count > 2"]),
        ("(request.count + 1) * 2 > 4 && true == person.lead", ["(request.count + 1) * 2 > 4", "true == person.lead"]),
        ("request.purpose.contains(')') && person.lead", ["request.purpose.contains(')')", "person.lead"]),
        (
            "[1, 2].exists(n, n == request.count)&&!person.lead",
            ["[1, 2].exists(n, n == request.count)", "!person.lead"],
        ),
        ("request.market in ['spot'] // why )(\n  && person.lead", ["request.market in ['spot']", "person.lead"]),
        ("request.count >\n  2 // more\n && person.lead == false", ["request.count > 2", "person.lead == false"]),
        (
            "!(person.lead || !person.admin) && -request.count < 2",
            ["!(person.lead || !person.admin)", "-request.count < 2"],
        ),
        ("(!person.lead) == true && !!person.lead", ["(!person.lead) == true", "!!person.lead"]),
        ("has(quote.total) && ((person.lead))", ["has(quote.total)", "person.lead"]),
    ],
)
def test_parts_are_shown_as_they_were_written(text: str, parts: list[str]) -> None:
    node = core(compile_condition(text).tree)
    children = node.children if node.data == "conditionaland" else [node]
    assert [written(core(one), text) for one in children] == parts
