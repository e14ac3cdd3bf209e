"""The policy's union: the strictest outcome wins, order never matters, unknown asks people."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.policy import Outcome, Policy, Reason, Rule, StepSpec, decide

MANAGER = StepSpec("manager", ("lead:ml",))
FINANCE = StepSpec("finance", ("group:finance",))
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


def test_steps_keep_the_order_of_their_rules() -> None:
    rule = Rule("r", "a", Outcome.REQUIRE, "", (StepSpec("zeta", ("a",)), StepSpec("alpha", ("b",))))
    later = Rule("s", "a", Outcome.REQUIRE, "", (StepSpec("alpha", ("b",)), StepSpec("zeta", ("a",)), FINANCE))
    names = [s.name for s in decide(Policy((rule,), ()), lambda _: True, price_known=True).steps]
    assert names == ["zeta", "alpha"]
    names = [s.name for s in decide(Policy((rule, later), ()), lambda _: True, price_known=True).steps]
    assert names == ["alpha", "zeta", "finance"]


RULE = st.builds(
    Rule,
    st.sampled_from("abc"),
    st.sampled_from(["x", "y"]),
    st.sampled_from(list(Outcome)),
    st.sampled_from(["", "why"]),
    st.lists(
        st.builds(
            StepSpec,
            st.sampled_from(["s", "t"]),
            st.lists(st.sampled_from(["p", "q"]), min_size=1, max_size=2).map(tuple),
            st.integers(1, 3),
        ),
        max_size=2,
    ).map(tuple),
    st.integers(1, 9),
)
STRICTNESS = [Outcome.APPROVE, Outcome.REQUIRE, Outcome.DENY]


@given(st.lists(st.tuples(RULE, st.sampled_from([True, False, None])), max_size=4), st.booleans())
def test_the_order_of_rules_never_matters(rules: list[tuple[Rule, bool | None]], price_known: bool) -> None:
    def outcome(order: tuple[int, ...]) -> object:
        holds = iter([rules[i][1] for i in order])
        policy = Policy(tuple(rules[i][0] for i in order), (DEFAULT,))
        return decide(policy, lambda _: next(holds), price_known=price_known)

    every = [outcome(order) for order in permutations(range(len(rules)))]
    assert all(decision == every[0] for decision in every)


@given(st.lists(st.tuples(RULE, st.sampled_from([True, False, None])), max_size=4), RULE, st.booleans())
def test_another_strict_rule_never_makes_it_weaker(
    rules: list[tuple[Rule, bool | None]], extra: Rule, price_known: bool
) -> None:
    def outcome(pairs: list[tuple[Rule, bool | None]]) -> int:
        holds = iter([h for _, h in pairs])
        policy = Policy(tuple(r for r, _ in pairs), (DEFAULT,))
        decision = decide(policy, lambda _: next(holds), price_known=price_known)
        assert (decision.outcome is Outcome.REQUIRE) == bool(decision.steps)
        assert decision.reasons
        assert price_known or decision.outcome is not Outcome.APPROVE
        return STRICTNESS.index(decision.outcome)

    if extra.outcome is not Outcome.APPROVE:
        assert outcome([*rules, (extra, True)]) >= outcome(rules)
        assert outcome([*rules, (extra, None)]) >= outcome(rules)
