"""Built-in security rules: off until switched on, then they deny like any rule, and unknown asks people."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import pytest

from lessor.config import loads
from lessor.domain.case import Case
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec
from lessor.domain.request import Place
from lessor.policyfile import CompiledPolicy, compile_policy
from lessor.policyfile.explaining import explain
from tests.builders import ASKED, REQUESTER, a_quote, a_request, usd
from tests.config.sample import VALID

HEAD, _, _ = VALID.partition("places:")
PLACES = """\
places:
  - {name: us, regions: [us-east-1], residency: us}
  - {name: eu, regions: [eu-west-1], residency: eu}
  - {name: lab, regions: [us-west-2], residency: eu, encrypted: false, public_address: true}
policy:
  rules:
    - {name: all, when: "true", then: approve}
"""


def a_policy(security: str) -> CompiledPolicy:
    return compile_policy(loads(HEAD + PLACES + "security:\n" + textwrap.indent(textwrap.dedent(security), "  ")))


def judge(policy: CompiledPolicy, place: str, **changes: Any) -> Decision:
    request = a_request(team="research", place=Place("aws", place), **changes)
    return policy.judge(Case(request, a_quote(usd("1")), REQUESTER, ASKED))


def reasons(policy: CompiledPolicy, place: str, **changes: Any) -> dict[str, str]:
    decision = judge(policy, place, **changes)
    if decision.outcome is Outcome.APPROVE:
        return {}
    assert decision.outcome is Outcome.DENY
    return {one.rule: one.text for one in decision.reasons}


def test_nothing_is_forbidden_until_it_is_switched_on() -> None:
    policy = a_policy("require_encryption: false")
    assert [rule.name for rule in policy.policy.rules] == ["all"]
    assert reasons(policy, "lab") == {}


def test_required_encryption_and_no_public_address() -> None:
    policy = a_policy("{require_encryption: true, forbid_public_address: true}")
    assert reasons(policy, "us") == {}
    assert reasons(policy, "lab") == {
        "security/encryption": "storage has to be encrypted; choose one of these places: us, eu",
        "security/public-address": "machines may have no public address; choose one of these places: us, eu",
    }


CLASSED = """\
    data:
      open: {}
      internal: {encrypted: true}
      secret: {residency: [eu], encrypted: true, no_public_address: true}
      sealed: {places: [us], residency: [eu]}
    """


@pytest.mark.parametrize(
    ("place", "data", "expected"),
    [
        ("lab", "open", {}),
        ("us", "internal", {}),
        (
            "lab",
            "internal",
            {
                "security/internal/encryption": "internal data needs encrypted storage; choose one of these places: "
                "us, eu"
            },
        ),
        ("eu", "secret", {}),
        (
            "us",
            "secret",
            {"security/secret/residency": "secret data has to stay in eu; choose one of these places: eu"},
        ),
        (
            "lab",
            "secret",
            {
                "security/secret/encryption": "secret data needs encrypted storage; choose one of these places: eu",
                "security/secret/public-address": "secret data may have no public address; choose one of these "
                "places: eu",
            },
        ),
        (
            "us",
            "sealed",
            {"security/sealed/residency": "sealed data has to stay in eu; no place of lessor.yaml is fit for it"},
        ),
        (
            "eu",
            "sealed",
            {"security/sealed/places": "sealed data may not run there; no place of lessor.yaml is fit for it"},
        ),
    ],
)
def test_places_by_the_sensitivity_of_data(place: str, data: str, expected: dict[str, str]) -> None:
    assert reasons(a_policy(CLASSED), place, data=data) == expected


@pytest.mark.parametrize("data", ["", "of-another-day"])
def test_a_request_without_a_class_is_decided_by_administrators(data: str) -> None:
    """It was made before there were classes; new ones are refused where requests are checked."""
    decision = judge(a_policy(CLASSED), "eu", data=data)
    text = "its data has none of the classes open, internal, secret, sealed, so administrators decide"
    assert (decision.outcome, decision.reasons) == (Outcome.REQUIRE, (Reason("security/unclassified", text),))
    assert decision.steps == (StepSpec("security", ("admins",)),)


def test_a_place_that_nobody_knows_of_is_decided_by_people() -> None:
    policy = a_policy("require_encryption: true")
    decision = judge(policy, "gone")
    assert decision.outcome is Outcome.REQUIRE
    text = "cannot be judged, a fact is unknown: !place.encrypted"
    assert decision.reasons == (Reason("security/encryption", text),)


def test_security_rules_are_explained_with_the_line_that_switched_them_on() -> None:
    policy = a_policy(CLASSED)
    request = a_request(team="research", place=Place("aws", "us"), data="secret")
    found = explain(policy, policy.facts(Case(request, a_quote(usd("1")), REQUESTER, ASKED)))
    (spoke,) = [one for one in found.rules if one.spoke]
    assert (spoke.rule.name, spoke.rule.line) == ("security/secret/residency", 29)
    assert spoke.facts == (("request.data", "secret"), ("place.residency", "us"))


def test_the_version_of_the_policy_covers_security() -> None:
    versions = {a_policy(text).version for text in ("require_encryption: false", "require_encryption: true", CLASSED)}
    plain = compile_policy(loads(HEAD + PLACES)).version
    assert len(versions) == 3
    assert plain in versions


def test_a_rule_of_the_file_cannot_take_the_name_of_a_built_in_one() -> None:
    text = HEAD + PLACES.replace("name: all", "name: security/encryption")
    with pytest.raises(Exception, match=r"policy\.rules\[0\]\.name: is 'security/encryption'"):
        loads(text)


def test_a_suggestion_does_not_hide_a_denial() -> None:
    policy = a_policy("require_encryption: true")
    rules = tuple(
        replace(rule, outcome=Outcome.APPROVE) if rule.name == "all" else rule for rule in policy.policy.rules
    )
    same = replace(policy, policy=replace(policy.policy, rules=tuple(reversed(rules))))
    assert reasons(same, "lab").keys() == {"security/encryption"}
