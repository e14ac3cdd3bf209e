"""Which thresholds hold: the nearest level wins, and what is unknown leaves a lease alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.idle import IdleTerms
from lessor.domain.idle_plan import NAMES, IdlePlan, IdleRule, careful
from lessor.domain.lease import Lease
from lessor.domain.request import Workload
from tests.builders import a_lease, a_request

HOUR = timedelta(hours=1)
LEASE = a_lease(request=a_request(workload=Workload.REALTIME_INFERENCE, project="ranking"))


def ruled(said: Mapping[str, tuple[bool | None, Mapping[str, Any]]], **levels: Any) -> IdlePlan:
    """A plan whose rules hold, do not hold or cannot be judged, as `said` has it."""
    rules = tuple(IdleRule(name, "", changes) for name, (_, changes) in said.items())
    return IdlePlan(**levels, rules=rules, holds=lambda rule, lease: said[rule.name][0])


def test_without_a_word_the_defaults_hold_and_say_so() -> None:
    terms = IdlePlan().terms(LEASE)
    assert terms == replace(IdleTerms(), origins=dict.fromkeys(NAMES, "built in"))
    assert set(terms.origins) == {one.name for one in fields(IdleTerms)} - {"origins"}


@pytest.mark.parametrize("workload", [Workload.NOTEBOOK, Workload.EXPERIMENT])
def test_interactive_work_is_spared_for_eight_hours(workload: Workload) -> None:
    lease = a_lease(request=a_request(workload=workload))
    assert IdlePlan().terms(lease).spare == 8 * HOUR
    assert IdlePlan(workloads={workload.value: {"spare": HOUR}}).terms(lease).spare == HOUR


def test_levels_add_up_where_they_speak_of_different_things() -> None:
    plan = IdlePlan(
        {"window": 2 * HOUR, "warn": 2 * HOUR},
        {"realtime-inference": {"warn": 3 * HOUR}},
        {"ml": {"snoozes": 1}, "vision": {"snoozes": 9}},
        {"ranking": {"cpu": None}, "other": {"cpu": 1.0}},
    )
    terms = plan.terms(LEASE)
    assert (terms.window, terms.warn, terms.snoozes, terms.cpu) == (2 * HOUR, 3 * HOUR, 1, None)
    assert {name: terms.origins[name] for name in ("window", "warn", "snoozes", "cpu")} == {
        "window": "organisation",
        "warn": "workload realtime-inference",
        "snoozes": "team ml",
        "cpu": "project ranking",
    }


def test_a_rule_that_holds_wins_over_all_levels_and_one_that_does_not_says_nothing() -> None:
    plan = ruled(
        {"short": (True, {"stop": HOUR}), "other": (False, {"stop": 9 * HOUR})},
        projects={"ranking": {"stop": 5 * HOUR}},
    )
    terms = plan.terms(LEASE)
    assert (terms.stop, terms.origins["stop"]) == (HOUR, "rule short")


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_several_rules_what_leaves_the_lease_alone_holds_whatever_their_names(names: tuple[str, str]) -> None:
    first, second = names
    plan = ruled({first: (True, {"stop": 3 * HOUR, "engine": 0.5}), second: (True, {"stop": 2 * HOUR, "engine": 0.1})})
    terms = plan.terms(LEASE)
    assert (terms.stop, terms.origins["stop"]) == (3 * HOUR, f"rule {first}")
    assert (terms.engine, terms.origins["engine"]) == (0.1, f"rule {second}")


def test_a_rule_that_cannot_be_judged_may_protect_and_never_hurry() -> None:
    plan = ruled({"long": (None, {"stop": 5 * HOUR, "stops": False, "window": HOUR / 4, "cpu": None})})
    terms = plan.terms(LEASE)
    assert (terms.stop, terms.stops, terms.window, terms.cpu) == (5 * HOUR, False, HOUR, 20.0)
    assert terms.origins["stop"] == "rule long (cannot be judged, so what stops later holds)"
    assert terms.origins["window"] == "built in"
    known = ruled({"long": (None, {"stop": 5 * HOUR}), "sure": (True, {"stop": 8 * HOUR})})
    assert known.terms(LEASE).stop == 8 * HOUR
    said = ruled({"long": (None, {"stop": 5 * HOUR})}, teams={"ml": {"stop": 6 * HOUR}})
    assert (said.terms(LEASE).stop, said.terms(LEASE).origins["stop"]) == (6 * HOUR, "team ml")


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("window", 2 * HOUR, HOUR),
        ("spare", HOUR, timedelta()),
        ("notice", HOUR, HOUR / 2),
        ("snoozes", 4, 3),
        ("working_hours_only", True, False),
        ("stops", False, True),
        ("review_after", None, HOUR),
        ("review_after", 2 * HOUR, HOUR),
        ("engine", 0.01, 0.02),
        ("cpu", 10.0, 20.0),
        ("cpu", 10.0, None),
        ("power", 100.0, None),
        ("fraction", 0.0, 0.5),
    ],
)
def test_what_is_more_careful_counts_more_as_work_or_stops_later(name: str, value: Any, other: Any) -> None:
    assert careful(name, value, other)
    assert not careful(name, other, value)
    assert not careful(name, value, value)


def test_facts_are_those_of_the_record_and_of_the_request_itself() -> None:
    from lessor.policyfile.idling import RecordedFacts

    holds = RecordedFacts()

    def says(when: str, lease: Lease = LEASE) -> bool | None:
        return holds(IdleRule("r", when, {}), lease)

    assert says('request.workload == "realtime-inference"') is True
    assert says('request.model == "A100-80GB" && request.count >= 8') is True
    assert says('team.key == "vision"') is False
    assert says("quote.total > 1000") is None, "the decision of this lease kept no facts"
    assert LEASE.decision
    priced = replace(LEASE, decision=replace(LEASE.decision, facts=(("quote.total", "1200"),)), revision=99)
    assert says("quote.total > 1000", priced) is True
    assert says("quote.total > 1000", LEASE) is None
