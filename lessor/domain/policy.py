"""What the organisation's rules say of a request. All rules apply, the strictest outcome wins: order never matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """From weakest to strictest: approve, require(steps), deny."""

    APPROVE = "approve"
    REQUIRE = "require"
    DENY = "deny"


@dataclass(frozen=True)
class StepSpec:
    """One approval that a rule requires: any `quorum` of `approvers`, which are references as in `Person.refs`.

    Steps of the same `stage` are asked side by side, a later stage once the earlier ones are done.
    """

    name: str
    approvers: tuple[str, ...]
    quorum: int = 1
    stage: int = 0


@dataclass(frozen=True)
class Rule:
    """`when` is the condition in CEL, kept as text for the record; `line` is where it stands in `lessor.yaml`."""

    name: str
    when: str
    outcome: Outcome
    reason: str = ""
    steps: tuple[StepSpec, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Reason:
    rule: str
    text: str


@dataclass(frozen=True)
class Suggestion:
    """A cheaper or better fit that a rule proposes; it never blocks. Empty fields stay as they were asked for."""

    rule: str
    text: str
    market: str = ""
    instance_type: str = ""
    count: int = 0


@dataclass(frozen=True)
class Decision:
    """What the policy decided and which rules said so; `policy_version` is the content hash of the rules.

    `facts` are the names and values that it was decided on, as text, so that it can be explained and replayed.
    """

    outcome: Outcome
    reasons: tuple[Reason, ...]
    steps: tuple[StepSpec, ...] = ()
    policy_version: str = ""
    suggestions: tuple[Suggestion, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Policy:
    """Rules plus what holds when nothing matches or something cannot be known."""

    rules: tuple[Rule, ...]
    default_steps: tuple[StepSpec, ...]
    version: str = ""


Matches = Callable[[Rule], bool | None]
"""Whether a rule's condition holds; `None` when a fact that it needs is unknown."""


def decide(policy: Policy, matches: Matches, *, price_known: bool) -> Decision:
    """Unite what all rules say. An unknown fact never approves and never denies: it asks people."""
    found = [(rule, matches(rule)) for rule in policy.rules]
    denials = [rule for rule, holds in found if holds and rule.outcome is Outcome.DENY]
    if denials:
        return Decision(Outcome.DENY, _reasons(denials), policy_version=policy.version)
    required = [rule for rule, holds in found if holds and rule.outcome is Outcome.REQUIRE]
    unknown = sorted((rule for rule, holds in found if holds is None), key=_order)
    approved = [rule for rule, holds in found if holds and rule.outcome is Outcome.APPROVE]
    if approved:
        unknown = [rule for rule in unknown if rule.outcome is not Outcome.APPROVE]
    reasons = [*_reasons(required)]
    reasons += [Reason(rule.name, f"cannot be judged, a fact is unknown: {rule.when}") for rule in unknown]
    if not price_known:
        reasons.append(Reason("unknown-price", "the price is unknown, so people decide"))
    if not reasons and approved:
        return Decision(Outcome.APPROVE, _reasons(approved), policy_version=policy.version)
    steps = _united(rule.steps for rule in (*required, *unknown))
    if not reasons:
        reasons.append(Reason("default", "no rule speaks of this request"))
    return Decision(Outcome.REQUIRE, tuple(reasons), steps or policy.default_steps, policy.version)


def _reasons(rules: Iterable[Rule]) -> tuple[Reason, ...]:
    return tuple(Reason(rule.name, rule.reason or rule.when) for rule in sorted(rules, key=_order))


def _order(rule: Rule) -> tuple[str, str, str]:
    return (rule.name, rule.reason, rule.when)


def _united(groups: Iterable[tuple[StepSpec, ...]]) -> tuple[StepSpec, ...]:
    """One step per name and set of approvers, with the largest quorum that any rule asks for.

    Steps keep the order that they have inside their rules: one that any rule puts later comes later.
    """
    united: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
    for group in groups:
        for place, step in enumerate(group):
            key = (step.name, tuple(sorted(set(step.approvers))))
            rank, quorum = united.get(key, (0, 0))
            united[key] = (max(rank, place), max(quorum, step.quorum))
    ordered = sorted(united.items(), key=lambda item: (item[1][0], item[0]))
    return tuple(StepSpec(name, approvers, quorum) for (name, approvers), (_, quorum) in ordered)
