"""Deciding a request by 100 rules, beside cel-python's interpreter on the same conditions and facts.

The interpreter only tells which conditions hold. Ours gathers the facts of the case, asks all rules, unites what they
say and writes out the facts for the record: all that happens between a price and a decision.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import celpy
from celpy.adapter import json_to_cel

from bench.people import REQUESTER, TEAM
from bench.result import Result
from lessor.config import loads
from lessor.domain.case import Case
from lessor.domain.money import Money
from lessor.domain.quota import Ceiling, Headroom
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need, Place, Request, Workload
from lessor.policyfile import CompiledPolicy, compile_policy
from lessor.policyfile.compiling import asked

RULES = 100
RUNS = 400
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
CONDITIONS = (
    'quote.total > {n}.0 && request.hours > 24.0 && request.market == "on-demand"',
    'request.workload in ["training", "fine-tuning"] && request.count >= {n} && !person.admin',
    'team.limited && team.after > {n} && request.model in ["H100", "H200", "A100-80GB"]',
    'request.purpose.contains("model {n}") || (time.weekend && request.count > 8)',
    'time.hour >= 18 && time.weekday in ["friday", "saturday"] && place.region.startsWith("us-") && request.days > 1.0',
)
HEAD = f"""\
organisation:
  name: Bench
  people: [{{id: U0REQUESTER}}, {{id: U0MANAGER}}]
  teams: {{{TEAM}: {{lead: U0MANAGER, members: [U0REQUESTER]}}}}
  admins: [U0MANAGER]
places: [{{name: aws, regions: [us-east-1], markets: [on-demand, spot]}}]
policy:
  rules:
"""


async def run(scale: float) -> list[Result]:
    policy, case = a_policy(RULES), a_case()
    runs = max(int(RUNS * scale), 20)
    ours = _milliseconds(lambda: policy.judge(case), runs)
    interpreter = _interpreter(policy, case)
    reference = _milliseconds(interpreter, max(runs // 20, 5))
    agreed = [bool(rule) for rule in interpreter()] == _ours(policy, case)
    if not agreed:
        raise AssertionError("the interpreter and ours disagree on which conditions hold")
    return [
        Result(f"deciding a request by {RULES} rules", ours, "ms", 5.0),
        Result(f"the same beside cel-python's interpreter of {RULES} conditions", ours, "ms", 0.5, reference),
        Result(f"reading a lessor.yaml with {RULES} rules again", _milliseconds(lambda: a_policy(RULES), 3), "ms"),
    ]


def a_policy(count: int) -> CompiledPolicy:
    """So many rules of five kinds, one in five of which denies, one suggests and the others require."""
    outcomes = (
        "{require: [lead]}",
        "{suggest: {text: smaller}}",
        "{require: [admins]}",
        "{deny: not at night}",
        "{max: 20d}",
    )
    rules = "".join(
        f"    - {{name: rule-{n}, when: '{CONDITIONS[n % 5].format(n=n)}', then: {outcomes[n % 5]}}}\n"
        for n in range(1, count + 1)
    )
    return compile_policy(loads(HEAD + rules))


def a_case() -> Case:
    """A request for eight GPUs for two days, in a team with a quota."""
    price = Money(Decimal("32.7726"))
    offer = Offer("p4de.24xlarge", "A100-80GB", 8, 80, 96, Market.ON_DEMAND, price, price, region="us-east-1")
    need = Need("A100-80GB", 8)
    request = Request(
        requester=REQUESTER.id,
        team=TEAM,
        purpose="train model 42 of the ranking family",
        workload=Workload.TRAINING,
        need=need,
        place=Place("aws", "aws", "us-east-1"),
        duration=timedelta(days=2),
    )
    room = Headroom(Ceiling(f"team:{TEAM}", Decimal(64)), 40)
    return Case(request, Quote(need, offer, NOW, "bench"), REQUESTER, NOW, (room,))


def _interpreter(policy: CompiledPolicy, case: Case) -> Callable[[], list[Any]]:
    environment = celpy.Environment()
    programs = [environment.program(environment.compile(rule.when)) for rule in policy.policy.rules]
    nested: dict[str, dict[str, Any]] = {}
    for name, value in policy.facts(case).items():
        group, _, fact = name.partition(".")
        if value is not None and not isinstance(value, datetime):
            plain = float(value) if isinstance(value, Decimal) else list(value) if isinstance(value, tuple) else value
            nested.setdefault(group, {})[fact] = plain
    context = {group: json_to_cel(facts) for group, facts in nested.items()}
    return lambda: [program.evaluate(context) for program in programs]


def _ours(policy: CompiledPolicy, case: Case) -> list[bool]:
    values = asked(policy.facts(case))
    return [policy.conditions[rule.name].holds(values) is True for rule in policy.policy.rules]


def _milliseconds(work: Callable[[], object], runs: int) -> float:
    """The median of `runs`, after a first one that does not count."""
    work()
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)
