"""Mistakes of form do not hide contradictions elsewhere, and cause none that are not there."""

from __future__ import annotations

import pytest

from tests.config.sample import VALID, changed, refusal


def replaced(*pairs: tuple[str, str]) -> str:
    text = VALID
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            replaced(("grace: 7d", "grace: 7"), ("lead: manager@example.com", "lead: nobody@example.com")),
            [
                "lessor.yaml:9: organisation.teams.research.lead: nobody is 'nobody@example.com'",
                "lessor.yaml:16: lease.grace: is the number 7 without a unit",
                "lessor.yaml:22: policy.default.require[0]: asks for the team's lead, but these teams have no active "
                "one: research",
                "lessor.yaml:29: policy.rules[1].then.require[0]: asks for the team's lead, but these teams have no "
                "active one: research",
            ],
        ),
        (
            replaced(
                ("  name: Example\n", "  name: Example\n  nmae: x\n"), ("zones: [us-east-1a]", "zones: [us-east-2a]")
            ),
            [
                "lessor.yaml:3: organisation.nmae: unknown key",
                "lessor.yaml:22: places[0].zones[0]: 'us-east-2a' is no zone of us-east-1",
            ],
        ),
        (
            replaced(("{id: U0ADMIN, email", "{id: admin, email"), ("grace: 7d", "grace: 7d\n  max_duration: 40d")),
            [
                "lessor.yaml:7: organisation.people[3].id: is 'admin'",
                "lessor.yaml:17: lease.max_duration: is 40 d, longer than max_total (30 d)",
            ],
        ),
        (replaced(("{id: U0ADMIN, email", "{email")), ["lessor.yaml:7: organisation.people[3].id: is missing"]),
        (
            replaced(("then: approve", "then: aprove"), ("group:finance", "group:finanz")),
            ["lessor.yaml:26: policy.rules[0].then: is 'aprove'"],
        ),
        ("organisation: []\nplaces: 3\n", ["lessor.yaml:1: organisation", "lessor.yaml:2: places: is 3"]),
    ],
)
def test_both_are_told_at_once(text: str, lines: list[str]) -> None:
    found = refusal(text)
    assert len(found) == len(lines), found
    assert [one[: len(line)] for one, line in zip(found, lines, strict=True)] == lines


SECURED = VALID + "security:\n  data:\n    secret: {residency: [us], places: [research-us]}\n"
PLACED = SECURED.replace("zones: [us-east-1a]", "zones: [us-east-1a]\n    residency: us")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            SECURED,
            [
                "lessor.yaml:19: places[0]: says no residency, so whether secret data may be there is unknown; add it",
                "lessor.yaml:32: security.data.secret.residency[0]: no place has the residency 'us'; there are: none, "
                "add `residency` to places",
            ],
        ),
        (
            PLACED.replace("[research-us]}", "[reserch-us]}").replace("residency: [us]", "residency: [use]"),
            [
                "lessor.yaml:33: security.data.secret.residency[0]: no place has the residency 'use'; did you mean "
                "'us'?; there are: us",
                "lessor.yaml:33: security.data.secret.places[0]: there is no place 'reserch-us'; did you mean "
                "'research-us'?; there are: research-us",
            ],
        ),
        (
            changed("then: approve", "then: {suggest: {text: a, market: spot, instance_type: g5.xlage}}"),
            [
                "lessor.yaml:26: policy.rules[0].then.suggest.market: no place offers spot; they offer: on-demand",
                "lessor.yaml:26: policy.rules[0].then.suggest.instance_type: 'g5.xlage' is no GPU type of the "
                "catalogue; did you mean 'g5.xlarge'?",
            ],
        ),
    ],
)
def test_what_rules_about_places_and_suggestions_name_has_to_exist(text: str, lines: list[str]) -> None:
    assert sorted(refusal(text)) == sorted(lines)
