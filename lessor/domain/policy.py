"""What the organisation's rules say of a request. All rules apply, the strictest outcome wins: order never matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lessor.domain.request import spell


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
class Rule:
    """`when` is the condition in CEL, kept as text for the record; `line` is where it stands in `lessor.yaml`.

    `outcome` is `None` for a rule that only suggests or only limits. Where the rule holds, what is longer than
    `longest` is denied.
    """

    name: str
    when: str
    outcome: Outcome | None
    reason: str = ""
    steps: tuple[StepSpec, ...] = ()
    line: int = 0
    longest: timedelta | None = None
    suggestion: Suggestion | None = None


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


_Key = tuple[str, tuple[str, ...]]
"""What makes two steps the same: their name and who may decide."""

Matches = Callable[[Rule], bool | None]
"""Whether a rule's condition holds; `None` when a fact that it needs is unknown."""


def decide(policy: Policy, matches: Matches, *, price_known: bool, length: timedelta = timedelta()) -> Decision:
    """Unite what all rules say of a request of this length.

    An unknown fact never approves and never denies: it asks people. Suggestions never block and come with any outcome.
    """
    found = [(rule, matches(rule)) for rule in policy.rules]
    told = _suggestions(rule for rule, holds in found if holds)
    denials = [reason for rule, holds in found if holds for reason in _denials(rule, length)]
    if denials:
        return Decision(Outcome.DENY, tuple(sorted(denials, key=_words)), (), policy.version, told)
    required = [rule for rule, holds in found if holds and rule.outcome is Outcome.REQUIRE]
    approved = [rule for rule, holds in found if holds and rule.outcome is Outcome.APPROVE]
    unknown = sorted((rule for rule, holds in found if holds is None and _matters(rule, length, approved)), key=_order)
    reasons = [*_reasons(required)]
    reasons += [Reason(rule.name, f"cannot be judged, a fact is unknown: {rule.when}") for rule in unknown]
    if not price_known:
        reasons.append(Reason("unknown-price", "the price is unknown, so people decide"))
    if not reasons and approved:
        return Decision(Outcome.APPROVE, _reasons(approved), (), policy.version, told)
    steps = united(rule.steps for rule in (*required, *unknown)) or united([policy.default_steps])
    if not reasons:
        reasons.append(Reason("default", "no rule speaks of this request"))
    return Decision(Outcome.REQUIRE, tuple(reasons), steps, policy.version, told)


def united(groups: Iterable[tuple[StepSpec, ...]]) -> tuple[StepSpec, ...]:
    """One step per name and set of approvers, with the largest quorum that any rule asks for, in stages from 0.

    A step comes after everything that any rule puts before it. Steps that rules put in contradicting orders are asked
    side by side.
    """
    quorums: dict[_Key, int] = {}
    before: dict[_Key, set[_Key]] = {}
    for group in groups:
        for step in group:
            key = _key(step)
            quorums[key] = max(quorums.get(key, 1), step.quorum)
            before.setdefault(key, set()).update(_key(other) for other in group if other.stage < step.stage)
    stages = _stages(before)
    ordered = sorted(quorums, key=lambda key: (stages[key], key))
    return tuple(StepSpec(*key, quorums[key], stages[key]) for key in ordered)


def _key(step: StepSpec) -> _Key:
    return (step.name, tuple(sorted(set(step.approvers))))


def _stages(before: dict[_Key, set[_Key]]) -> dict[_Key, int]:
    """The stage of each step: one more than the highest of those before it, cycles taken as one."""
    everything = {key: set(earlier) for key, earlier in before.items()}
    growing = True
    while growing:
        growing = False
        for key, earlier in everything.items():
            reached = earlier.union(*(everything[one] for one in earlier))
            growing |= len(reached) > len(earlier)
            everything[key] = reached
    strictly = {key: {one for one in all_ if key not in everything[one]} for key, all_ in everything.items()}
    stages: dict[_Key, int] = {}
    for key in sorted(strictly, key=lambda one: len(strictly[one])):
        stages[key] = max((stages[earlier] + 1 for earlier in strictly[key]), default=0)
    return stages


def _denials(rule: Rule, length: timedelta) -> list[Reason]:
    """Why a rule that holds denies: because it says so, or because the request is longer than it allows."""
    found = list(_reasons([rule])) if rule.outcome is Outcome.DENY else []
    if _too_long(rule, length):
        why = f" ({rule.reason})" if rule.reason else ""
        allowed = f"{spell(length)} is longer than the {spell(rule.longest or length)} that are allowed here"
        found.append(Reason(rule.name, f"{allowed}{why}"))
    return found


def _too_long(rule: Rule, length: timedelta) -> bool:
    return rule.longest is not None and length > rule.longest


def _matters(rule: Rule, length: timedelta, approved: list[Rule]) -> bool:
    """Whether it makes a difference that nobody knows if `rule` holds."""
    if _too_long(rule, length) or rule.outcome in (Outcome.REQUIRE, Outcome.DENY):
        return True
    return rule.outcome is Outcome.APPROVE and not approved


def _suggestions(rules: Iterable[Rule]) -> tuple[Suggestion, ...]:
    found = {rule.suggestion for rule in rules if rule.suggestion}
    return tuple(sorted(found, key=lambda one: (one.rule, one.text, one.market, one.instance_type, one.count)))


def _reasons(rules: Iterable[Rule]) -> tuple[Reason, ...]:
    return tuple(Reason(rule.name, rule.reason or rule.when) for rule in sorted(rules, key=_order))


def _order(rule: Rule) -> tuple[str, str, str]:
    return (rule.name, rule.reason, rule.when)


def _words(reason: Reason) -> tuple[str, str]:
    return (reason.rule, reason.text)
