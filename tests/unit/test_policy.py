"""The policy's union: the strictest outcome wins, order never matters, unknown asks people."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.policy import Decision, Outcome, Policy, Reason, Rule, StepSpec, Suggestion, decide, united

MANAGER = StepSpec("manager", ("lead:ml",))
FINANCE = StepSpec("finance", ("group:finance",), stage=1)
DEFAULT = StepSpec("default", ("admins",))

SMALL = Rule("small", "gpus <= 1", Outcome.APPROVE, "one GPU is free to take")
SHORT = Rule("short", "hours <= 2", Outcome.APPROVE, "two hours are free to take")
LARGE = Rule("large", "gpus >= 8", Outcome.REQUIRE, "eight GPUs or more", (MANAGER,))
DEAR = Rule("dear", "total > 1000", Outcome.REQUIRE, "", (MANAGER, FINANCE))
BANNED = Rule("banned", "gpu == 'H200'", Outcome.DENY, "H200 are reserved")
CLOSED = Rule("closed", "team == 'gone'", Outcome.DENY, "the team is closed")

RULES = (SMALL, SHORT, LARGE, DEAR, BANNED, CLOSED)


def decided(holds: dict[Rule, bool | None], *, price_known: bool = True) -> tuple[Outcome, tuple[str, ...], list[str]]:
    decision = decide(Policy(tuple(holds), (DEFAULT,), "v1"), holds.__getitem__, price_known=price_known)
    assert decision.policy_version == "v1"
    return decision.outcome, tuple(s.name for s in decision.steps), [r.rule for r in decision.reasons]


@pytest.mark.parametrize(
    ("holds", "price_known", "expected"),
    [
        ({}, True, (Outcome.REQUIRE, ("default",), ["default"])),
        ({SMALL: False}, True, (Outcome.REQUIRE, ("default",), ["default"])),
        ({SMALL: True}, True, (Outcome.APPROVE, (), ["small"])),
        ({SMALL: True, SHORT: True}, True, (Outcome.APPROVE, (), ["short", "small"])),
        ({SMALL: True}, False, (Outcome.REQUIRE, ("default",), ["unknown-price"])),
        ({SMALL: None}, True, (Outcome.REQUIRE, ("default",), ["small"])),
        ({SMALL: None, SHORT: True}, True, (Outcome.APPROVE, (), ["short"])),
        ({SMALL: True, LARGE: True}, True, (Outcome.REQUIRE, ("manager",), ["large"])),
        ({SMALL: True, LARGE: None}, True, (Outcome.REQUIRE, ("manager",), ["large"])),
        ({SMALL: True, LARGE: False}, True, (Outcome.APPROVE, (), ["small"])),
        ({LARGE: True, DEAR: True}, True, (Outcome.REQUIRE, ("manager", "finance"), ["dear", "large"])),
        ({DEAR: True}, False, (Outcome.REQUIRE, ("manager", "finance"), ["dear", "unknown-price"])),
        ({BANNED: True, SMALL: True}, True, (Outcome.DENY, (), ["banned"])),
        ({BANNED: True, LARGE: True, DEAR: None}, False, (Outcome.DENY, (), ["banned"])),
        ({BANNED: True, CLOSED: True}, True, (Outcome.DENY, (), ["banned", "closed"])),
        ({BANNED: None, SMALL: True}, True, (Outcome.REQUIRE, ("default",), ["banned"])),
        ({BANNED: None, LARGE: True}, True, (Outcome.REQUIRE, ("manager",), ["large", "banned"])),
        ({BANNED: False, CLOSED: False}, True, (Outcome.REQUIRE, ("default",), ["default"])),
    ],
)
def test_the_strictest_outcome_wins(
    holds: dict[Rule, bool | None], price_known: bool, expected: tuple[Outcome, tuple[str, ...], list[str]]
) -> None:
    assert decided(holds, price_known=price_known) == expected


def test_reasons_are_the_rules_words_or_its_condition() -> None:
    decision = decide(Policy((LARGE, DEAR), (DEFAULT,)), lambda rule: rule is LARGE or None, price_known=False)
    assert decision.reasons == (
        Reason("large", "eight GPUs or more"),
        Reason("dear", "cannot be judged, a fact is unknown: total > 1000"),
        Reason("unknown-price", "the price is unknown, so people decide"),
    )
    assert decide(Policy((DEAR,), ()), lambda _: True, price_known=True).reasons == (Reason("dear", "total > 1000"),)


def test_the_same_step_of_two_rules_is_asked_once_with_the_larger_quorum() -> None:
    two = Rule("two", "a", Outcome.REQUIRE, "", (StepSpec("manager", ("group:b", "lead:ml", "group:b"), 2),))
    one = Rule("one", "b", Outcome.REQUIRE, "", (StepSpec("manager", ("lead:ml", "group:b"), 1),))
    for rules in ((one, two), (two, one)):
        decision = decide(Policy(rules, (DEFAULT,)), lambda _: True, price_known=True)
        assert decision.steps == (StepSpec("manager", ("group:b", "lead:ml"), 2),)


def in_order(*names: str) -> tuple[StepSpec, ...]:
    return tuple(StepSpec(name, (name,), stage=stage) for stage, name in enumerate(names))


@pytest.mark.parametrize(
    ("groups", "stages"),
    [
        ((), []),
        ((in_order("zeta", "alpha"),), [("zeta", 0), ("alpha", 1)]),
        ((in_order("zeta"), in_order("alpha")), [("alpha", 0), ("zeta", 0)]),
        ((in_order("a", "b"), in_order("b", "c")), [("a", 0), ("b", 1), ("c", 2)]),
        ((in_order("a", "b"), in_order("b", "a", "c")), [("a", 0), ("b", 0), ("c", 1)]),
        (
            (in_order("a", "b"), in_order("b", "c"), in_order("c", "a"), in_order("c", "d")),
            [("a", 0), ("b", 0), ("c", 0), ("d", 1)],
        ),
        (
            ((StepSpec("a", ("a",)), StepSpec("b", ("b",)), StepSpec("c", ("c",), stage=1)),),
            [("a", 0), ("b", 0), ("c", 1)],
        ),
        (
            ((StepSpec("a", ("a",)), StepSpec("b", ("b",))), in_order("x", "a")),
            [("b", 0), ("x", 0), ("a", 1)],
        ),
        (((StepSpec("a", ("a",), stage=4), StepSpec("b", ("b",), stage=7)),), [("a", 0), ("b", 1)]),
    ],
)
def test_steps_keep_the_order_of_their_rules(
    groups: tuple[tuple[StepSpec, ...], ...], stages: list[tuple[str, int]]
) -> None:
    for order in permutations(groups):
        assert [(step.name, step.stage) for step in united(order)] == stages


@pytest.mark.parametrize("holds", [True, None])
@pytest.mark.parametrize(("longest", "outcome"), [(7, Outcome.APPROVE), (8, Outcome.APPROVE), (6, None)])
def test_a_rule_limits_the_length(longest: int, holds: bool | None, outcome: Outcome | None) -> None:
    limit = Rule("limit", "x", None, "notebooks are short", longest=timedelta(days=longest))
    decision = decide(
        Policy((limit, SMALL), (DEFAULT,)),
        {limit: holds, SMALL: True}.__getitem__,
        price_known=True,
        length=timedelta(days=7),
    )
    if outcome:
        assert decision == Decision(Outcome.APPROVE, (Reason("small", "one GPU is free to take"),))
    elif holds:
        text = "7 d is longer than the 6 d that are allowed here (notebooks are short)"
        assert decision == Decision(Outcome.DENY, (Reason("limit", text),))
    else:
        text = "cannot be judged, a fact is unknown: x"
        assert decision == Decision(Outcome.REQUIRE, (Reason("limit", text),), (DEFAULT,))


def test_a_rule_may_do_its_part_and_limit_the_length() -> None:
    rule = Rule("short", "x", Outcome.APPROVE, "", longest=timedelta(hours=4))
    policy = Policy((rule,), (DEFAULT,))
    assert decide(policy, lambda _: True, price_known=True, length=timedelta(hours=4)).outcome is Outcome.APPROVE
    denied = decide(policy, lambda _: True, price_known=True, length=timedelta(hours=4, minutes=1))
    assert denied.reasons == (Reason("short", "4 h 1 min is longer than the 4 h that are allowed here"),)


@pytest.mark.parametrize("other", [SMALL, LARGE, BANNED])
def test_suggestions_come_with_every_outcome_and_never_change_it(other: Rule) -> None:
    cheaper, smaller = Suggestion("spot", "take spot", market="spot"), Suggestion("one", "take one", count=1)
    rules = [Rule("spot", "s", None, suggestion=cheaper), Rule("one", "o", None, suggestion=smaller), other]
    plain = decide(Policy((other,), (DEFAULT,)), lambda _: True, price_known=True)
    for order in permutations(rules):
        decision = decide(Policy(order, (DEFAULT,)), lambda _: True, price_known=True)
        assert decision == replace(plain, suggestions=(smaller, cheaper))
    for doubt in (None, False):
        holds = {rules[0]: doubt, rules[1]: doubt, other: True}
        assert decide(Policy(tuple(rules), (DEFAULT,)), holds.__getitem__, price_known=True) == plain


RULE = st.builds(
    Rule,
    st.sampled_from("abc"),
    st.sampled_from(["x", "y"]),
    st.sampled_from([*Outcome, None]),
    st.sampled_from(["", "why"]),
    st.lists(
        st.builds(
            StepSpec,
            st.sampled_from(["s", "t"]),
            st.lists(st.sampled_from(["p", "q"]), min_size=1, max_size=2).map(tuple),
            st.integers(1, 3),
            st.integers(0, 2),
        ),
        max_size=3,
    ).map(tuple),
    st.integers(1, 9),
    st.sampled_from([None, timedelta(hours=1), timedelta(hours=3)]),
    st.sampled_from([None, Suggestion("a", "x"), Suggestion("a", "y", count=2)]),
)
STRICTNESS = [Outcome.APPROVE, Outcome.REQUIRE, Outcome.DENY]


@given(st.lists(st.tuples(RULE, st.sampled_from([True, False, None])), max_size=4), st.booleans())
def test_the_order_of_rules_never_matters(rules: list[tuple[Rule, bool | None]], price_known: bool) -> None:
    def outcome(order: tuple[int, ...]) -> object:
        holds = iter([rules[i][1] for i in order])
        policy = Policy(tuple(rules[i][0] for i in order), (DEFAULT,))
        return decide(policy, lambda _: next(holds), price_known=price_known, length=timedelta(hours=2))

    every = [outcome(order) for order in permutations(range(len(rules)))]
    assert all(decision == every[0] for decision in every)


@given(st.lists(st.tuples(RULE, st.sampled_from([True, False, None])), max_size=4), RULE, st.booleans())
def test_another_strict_rule_never_makes_it_weaker(
    rules: list[tuple[Rule, bool | None]], extra: Rule, price_known: bool
) -> None:
    def outcome(pairs: list[tuple[Rule, bool | None]]) -> int:
        holds = iter([h for _, h in pairs])
        policy = Policy(tuple(r for r, _ in pairs), (DEFAULT,))
        decision = decide(policy, lambda _: next(holds), price_known=price_known, length=timedelta(hours=2))
        assert (decision.outcome is Outcome.REQUIRE) == bool(decision.steps)
        assert decision.reasons
        assert price_known or decision.outcome is not Outcome.APPROVE
        return STRICTNESS.index(decision.outcome)

    if extra.outcome is not Outcome.APPROVE:
        assert outcome([*rules, (extra, True)]) >= outcome(rules)
        assert outcome([*rules, (extra, None)]) >= outcome(rules)
