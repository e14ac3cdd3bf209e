"""Cases of what idle GPUs are judged by: whose thresholds, which clock, and what is too much of a good thing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.config import loads
from lessor.domain.attribution import attribute
from lessor.domain.idle import Verdict
from lessor.domain.idle_review import at_maximum
from lessor.domain.ladder import Spared
from lessor.domain.lease import Lease
from lessor.domain.request import Market, Workload
from lessor.domain.usage import Origin, Reading, Seen
from tests.builders import a_lease, a_request
from tests.unit.judged import HOUR, MINUTE, QUIET, Judged, at, gpu, gpus, of

POLICY = """
organisation:
  name: Example
  people: [{id: U0LEAD111}]
  teams: {ml: {lead: U0LEAD111}, vision: {lead: U0LEAD111}}
  admins: [U0LEAD111]
places: [{name: research, regions: [us-east-1]}]
idle:
  final: 110min
  workloads: {notebook: {snoozes: 9}}
  teams: {ml: {final: 111min}}
  projects: {ranking: {final: 112min}}
  rules:
    - {name: large, when: request.count >= 8 && request.market == "spot", then: {final: 113min}}
"""


def lease(**changes: object) -> Lease:
    return a_lease(request=a_request(**({"team": "vision"} | changes)))


@pytest.mark.parametrize(
    ("changes", "final", "origin"),
    [
        ({}, 110, "organisation"),
        ({"team": "ml"}, 111, "team ml"),
        ({"team": "ml", "project": "ranking"}, 112, "project ranking"),
        ({"team": "ml", "project": "ranking", "market": Market.SPOT}, 113, "rule large"),
    ],
)
def test_E22_each_level_acts_and_says_that_it_does(changes: dict[str, object], final: int, origin: str) -> None:
    plan = loads(POLICY).idle_plan
    terms = plan.terms(lease(**changes))
    assert (terms.final, terms.origins["final"]) == (final * MINUTE, origin)
    assert (terms.window, terms.origins["window"]) == (HOUR, "built in")


SHORT = "{window: 30min, warn: 30min, warm_up: 0s}"


@pytest.mark.parametrize(
    "level",
    [
        SHORT.strip("{}").replace(", ", "\n  "),
        f"workloads: {{training: {SHORT}}}",
        f"teams: {{vision: {SHORT}}}",
        f"projects: {{ranking: {SHORT}}}",
        f"rules: [{{name: mine, when: 'request.project == \"ranking\"', then: {SHORT}}}]",
    ],
)
def test_E22_what_any_level_says_is_what_is_judged_by(level: str) -> None:
    organisation = POLICY.partition("idle:")[0]
    mine, other = lease(project="ranking"), a_lease(id="gpu-00000001", request=a_request(workload=Workload.NOTEBOOK))
    plan = loads(f"{organisation}idle:\n  {level}\n").idle_plan
    assert Judged(plan.terms(mine), of(1).subject).ticks(30, gpu()).verdict is Verdict.IDLE
    everybody = level.startswith("window")
    expected = Verdict.IDLE if everybody else Verdict.WARMING_UP
    assert Judged(plan.terms(other), of(1).subject).ticks(30, gpu()).verdict is expected


def test_E22_the_workload_and_the_lease_itself_are_levels_too() -> None:
    plan = loads(POLICY).idle_plan
    notebook = lease(workload=Workload.NOTEBOOK)
    terms = plan.terms(notebook)
    assert (terms.snoozes, terms.origins["snoozes"]) == (9, "workload notebook")
    assert (terms.spare, terms.origins["spare"]) == (8 * HOUR, "built in for notebook")
    assert (terms.stops, terms.origins["stops"]) == (True, "built in")
    spared = replace(notebook, spared=Spared("U0ADMIN", at(0), "a demo on Friday", at(600)))
    assert plan.terms(spared).origins["stops"] == "lease (spared by U0ADMIN)"
    assert plan.terms(spared, at(599)).stops is False
    assert plan.terms(spared, at(600)).stops is True


def test_E26_windows_are_half_open() -> None:
    judged = of(1, window=5 * MINUTE, warm_up=timedelta())
    judged.tick(gpu(0.9))
    assert judged.ticks(4, gpu()).verdict is Verdict.BUSY
    assert judged.tick(gpu()).verdict is Verdict.IDLE


def test_E27_samples_from_the_future_are_dropped_and_the_servers_clock_alone_decides() -> None:
    judged = of(1)
    for minute in range(1, 200):
        fast = Seen(Origin(machine="i-0aaa"), at(minute + 10), gpu=gpu(), host=QUIET)
        (seen,) = attribute((judged.subject,), [Reading("prometheus", at(minute), (fast,))], at(minute))
        assert (seen.gpus, seen.newest) == ((), None)
        judged.judge(seen)
    assert judged.standing.verdict is Verdict.UNKNOWN
    assert judged.standing.problem == "the clock of i-0aaa is ahead: its samples are dropped"


@pytest.mark.parametrize(("seconds", "expected"), [(60, Verdict.IDLE), (61, Verdict.UNKNOWN)])
def test_E27_the_verdict_itself_trusts_no_time_of_the_future(seconds: int, expected: Verdict) -> None:
    judged = of(1)
    for minute in range(1, 61):
        judged.tick(gpu(), newest=at(minute) + timedelta(seconds=seconds))
    assert judged.standing.verdict is expected
    assert all(one.last <= judged.now for one in judged.standing.tracks)


def test_E28_full_use_for_three_days_is_shown_to_administrators_and_nothing_else() -> None:
    judged = of(2)
    judged.every = 10 * MINUTE
    standing = judged.ticks(431, *gpus(0.99, 0.5))
    assert at_maximum(standing, judged.terms) == ()
    standing = judged.tick(*gpus(0.95, 0.5))
    assert at_maximum(standing, judged.terms) == ("0 of i-0aaa",)
    assert standing.verdict is Verdict.BUSY
    judged.silence(5)
    assert at_maximum(judged.tick(*gpus(1.0, 0.5)), judged.terms) == ("0 of i-0aaa",)
    judged.now += 5 * judged.every
    assert at_maximum(judged.tick(*gpus(1.0, 0.5)), judged.terms) == ("0 of i-0aaa",)
    assert at_maximum(judged.tick(*gpus(0.9, 0.5)), judged.terms) == ()


def test_E28_what_was_asked_for_to_be_fully_used_needs_no_review() -> None:
    plan = loads(POLICY).idle_plan
    assert plan.terms(lease(workload=Workload.TRAINING)).review_after is None
    assert plan.terms(lease(workload=Workload.EXPERIMENT)).review_after == 72 * HOUR
