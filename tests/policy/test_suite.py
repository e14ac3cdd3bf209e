"""Files of policy tests: what they can say, and what is wrong with them told with file and line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from lessor.config import ConfigError, loads
from lessor.policyfile import compile_policy
from lessor.policyfile.suite import Difference, Result, run_suite
from tests.config.sample import VALID

CONFIG = loads(
    VALID.partition("policy:")[0]
    + textwrap.dedent(
        """\
        policy:
          rules:
            - name: small
              when: quote.total <= 50 && team.after <= team.quota
              then: approve
            - name: big
              when: quote.total > 2000 || (budget.limited && budget.left < 100)
              then: {require: [lead, {name: money, approvers: ["group:finance"], parallel: true}, admins]}
            - name: spot
              when: request.checkpoints
              then: {suggest: {text: take spot}}
        """
    )
)
POLICY = compile_policy(CONFIG)


@pytest.fixture
def run(tmp_path: Path) -> object:
    def runs(text: str) -> tuple[Result, ...]:
        path = tmp_path / "tests.yaml"
        path.write_text(textwrap.dedent(text))
        return run_suite(path, CONFIG, POLICY)

    return runs


def test_differences_say_what_was_expected_and_what_was_decided(run) -> None:  # type: ignore[no-untyped-def]
    (passed, failed) = run(
        """\
        request: {model: A10G, for: 8h}
        tests:
          - name: cheap
            expect: {outcome: approve, rules: [small], steps: [], suggestions: [], reasons: [quote.total <= 50]}
          - name: dear
            request: {price: 400, checkpoints: true}
            expect: {outcome: approve, rules: [small], steps: [lead, money], suggestions: [], reasons: [cheap]}
        """
    )
    assert (passed.name, passed.line, passed.differences) == ("cheap", 3, ())
    said = "quote.total > 2000 || (budget.limited && budget.left < 100)"
    assert (failed.name, failed.line) == ("dear", 5)
    assert failed.differences == (
        Difference("outcome", "approve", f"require (big: {said})"),
        Difference("rules", "small", "big"),
        Difference("steps", "lead, then money", "lead beside money, then admins"),
        Difference("suggestions", "none", "spot"),
        Difference("reasons", "something with 'cheap'", said),
    )


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("{request: {model: A10G, for: 8h, held: 15}}", "approve"),
        ("{request: {model: A10G, for: 8h, held: 16}}", "require"),
        ("{request: {model: A10G, for: 8h, price: 6.25}}", "approve"),
        ("{request: {model: A10G, for: 8h, price: 6.26}}", "require"),
        ("{request: {model: A10G, for: 8h, price: unknown}}", "require"),
        ("{request: {instance_type: g5.xlarge, until: 2026-01-14T18:00:00Z}}", "approve"),
        ("{at: 2026-01-10T18:00:00Z, request: {instance_type: g5.xlarge, until: 2026-01-14T18:00:00Z}}", "require"),
        ("{request: {model: A10G, for: 8h}, facts: {quote.total: 51}}", "require"),
        ("{request: {model: A10G, for: 8h}, facts: {quote.total: unknown}}", "require"),
        ("{request: {model: A10G, for: 8h}, facts: {budget.limited: true, budget.left: 100}}", "approve"),
        ("{request: {model: A10G, for: 8h}, facts: {budget.limited: true, budget.left: 99.99}}", "require"),
        ("{request: {by: boss@example.com, place: research-us, model: A10G, for: 1h, market: spot}}", "require"),
    ],
)
def test_requests_and_facts_of_tests(run, test: str, outcome: str) -> None:  # type: ignore[no-untyped-def]
    text = test.removeprefix("{").removesuffix("}")
    (result,) = run(f"tests:\n  - {{name: t, {text}, expect: {{outcome: {outcome}}}}}\n")
    assert result.differences == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tests: []\n", "tests.yaml:1: tests: is a list with 0 entries; allowed: at least 1 entries"),
        (
            "tests:\n  - name: t\n    expect: {outcome: allow}\n",
            "tests.yaml:3: tests[0].expect.outcome: is 'allow'; allowed: approve, require or deny",
        ),
        (
            "tests:\n  - name: t\n    request: {cout: 3}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request.cout: unknown key; did you mean 'count'?; allowed here: by, team, "
            "workload, "
            "purpose, model, count, instance_type, for, until, start, market, kind, place, region, disk_gib, snapshot, "
            "tags, project, data, checkpoints, schedule, price, held, extensions, similar",
        ),
        (
            "request: {market: spto}\ntests:\n  - name: t\n    expect: {outcome: deny}\n",
            "tests.yaml:1: tests[0].request.market: is 'spto'; allowed: on-demand, spot or capacity-block",
        ),
        (
            "at: 2026-01-01T10:00:00\ntests:\n  - name: t\n    expect: {outcome: deny}\n",
            "tests.yaml:1: at: has no zone; write it such as 2026-01-14T10:00:00Z or ...+01:00",
        ),
        (
            "tests:\n  - name: t\n    facts:\n      quote.totl: 3\n    expect: {outcome: deny}\n",
            "tests.yaml:4: tests[0].facts.quote.totl: there is no fact 'quote.totl'; did you mean 'quote.total'?; "
            "docs/policy.md lists them",
        ),
        (
            "tests:\n  - name: t\n    facts: {request.count: many}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].facts.request.count: 'many' is not a whole number, and not 'unknown'",
        ),
        (
            "tests:\n  - name: t\n    expect: {outcome: deny, rules: [smal]}\n",
            "tests.yaml:3: tests[0].expect.rules[0]: there is no rule 'smal'; did you mean 'small'?",
        ),
        (
            "tests:\n  - name: t\n    request: {team: reserch}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request: there is no team 'reserch'; did you mean 'research'?; teams: research",
        ),
        (
            "tests:\n  - name: t\n    request: {place: mars}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request: there is no place 'mars'; places: research-us",
        ),
        (
            "tests:\n  - name: t\n    request: {by: nobody@example.com}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request: nobody is 'nobody@example.com'; did you mean 'boss@example.com'?",
        ),
        (
            "tests:\n  - name: t\n    request: {model: A1000}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request: nothing in the catalogue is A1000 in research-us",
        ),
        (
            "tests:\n  - name: t\n    request: {for: 8h, until: 2026-01-14T18:00:00Z}\n    expect: {outcome: deny}\n",
            "tests.yaml:3: tests[0].request: has both `for` and `until`; keep one of them",
        ),
    ],
)
def test_mistakes_in_the_file_are_told(run, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError) as caught:
        run(text)
    assert str(caught.value).splitlines()[0] == message


def test_limits_of_the_file_are_those_of_the_test(tmp_path: Path) -> None:
    """Nothing is used of a month but what the request itself asks for, in the months that it touches."""
    limits = "  limits:\n    - {scope: 'team:*', money: 100}\n    - {scope: 'team:*', gpu_hours: 50}\n  quotas:\n"
    head = VALID.partition("policy:")[0].replace("  quotas:\n", limits)
    rules = (
        "policy:\n  rules:\n    - {name: much, when: budget.left < 20 || budget.hours_left < 2, then: {deny: much}}\n"
    )
    config = loads(head + rules)
    path = tmp_path / "tests.yaml"
    path.write_text(
        textwrap.dedent(
            """\
            request: {model: A10G, price: 10, for: 8h}
            tests:
              - {name: fits, expect: {outcome: require, rules: [default]}}
              - {name: dear, request: {price: 10.01}, expect: {outcome: deny, rules: [much]}}
              - {name: long, request: {price: 1, for: 49h}, expect: {outcome: deny, rules: [much]}}
              - name: over the end of the month
                at: 2026-01-31T23:00:00Z
                request: {price: 10.01}
                expect: {outcome: require, rules: [default]}
            """
        )
    )
    assert [one.differences for one in run_suite(path, config, compile_policy(config))] == [(), (), (), ()]


def test_all_mistakes_are_told_at_once(run) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError) as caught:
        run(
            """\
            tests:
              - {name: a, request: {place: mars}, expect: {outcome: deny}}
              - {name: b, facts: {x.y: 1}, expect: {outcome: deny, suggestions: [none]}}
            """
        )
    assert [problem.line for problem in caught.value.problems] == [2, 3, 3]
