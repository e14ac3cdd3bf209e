"""Says why the rules decided as they did: which of them spoke, on which facts, and why the others did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lessor.domain.policy import Decision, Rule
from lessor.policyfile.compiling import CompiledPolicy, asked
from lessor.policyfile.conditions import Condition, compile_part
from lessor.policyfile.kinds import UNKNOWN, Values
from lessor.policyfile.parsing import Node, core, written
from lessor.policyfile.recorded import text_of


@dataclass(frozen=True)
class Part:
    """One side of the `&&` of a condition, and whether it holds; `None` is unknown."""

    text: str
    holds: bool | None


@dataclass(frozen=True)
class Said:
    """One rule on one request.

    `facts` are those that it looks at, with their value as text, `None` where unknown. `against` are the parts of its
    condition that keep it from holding. `spoke` says whether the decision quotes it or proposes what it suggests.
    """

    rule: Rule
    holds: bool | None
    spoke: bool
    facts: tuple[tuple[str, str | None], ...]
    against: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """A decision with what each rule said, those that spoke first, then in the order of the file."""

    decision: Decision
    rules: tuple[Said, ...]


def explain(policy: CompiledPolicy, known: Mapping[str, Any]) -> Explanation:
    """Why `policy` decides as it does on these facts, by dotted name and `None` where unknown."""
    decision = policy.decide(known)
    spoke = {one.rule for one in decision.reasons} | {one.rule for one in decision.suggestions}
    values = asked(known)
    said = [_said(rule, policy.conditions[rule.name], rule.name in spoke, values) for rule in policy.policy.rules]
    return Explanation(decision, tuple(sorted(said, key=lambda one: not one.spoke)))


def _said(rule: Rule, condition: Condition, spoke: bool, values: Values) -> Said:
    holds = condition.holds(values)
    facts = tuple((name, _text(values[name])) for name in condition.facts)
    against = () if holds else tuple(part for part in _parts(condition, values) if not part.holds)
    return Said(rule, holds, spoke, facts, against)


def _text(value: Any) -> str | None:
    return None if value is UNKNOWN else text_of(value)


def _parts(condition: Condition, values: Values) -> Iterator[Part]:
    for node in _conjuncts(condition.tree):
        result = compile_part(node).run(values)
        yield Part(written(node, condition.text), None if result is UNKNOWN else bool(result))


def _conjuncts(tree: Any) -> Iterator[Node]:
    node = core(tree)
    if node.data != "conditionaland":
        yield node
        return
    for child in node.children:
        yield from _conjuncts(child)
