"""Turns the policy section of a configuration into decisions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lessor.config.configuration import Config
from lessor.config.rules import OutcomeConfig, RuleConfig, StepConfig
from lessor.config.problems import ConfigError, KeyPath, Problem, spell_path
from lessor.config.reading import Document
from lessor.domain import policy
from lessor.domain.policy import Decision, Outcome, Policy, Rule, StepSpec
from lessor.policyfile.conditions import Condition, compile_condition
from lessor.policyfile.facts import Facts
from lessor.policyfile.kinds import UNKNOWN, ConditionError


@dataclass(frozen=True)
class CompiledPolicy:
    """Rules whose conditions are ready to be asked; `version` is the hash of the rules' content."""

    policy: Policy
    conditions: Mapping[str, Condition]

    @property
    def version(self) -> str:
        return self.policy.version

    def decide(self, facts: Facts) -> Decision:
        """What the rules say of a request. Unknown facts never approve and never deny: they ask people."""
        values = {name: UNKNOWN if value is None else value for name, value in facts.flat().items()}
        decision = policy.decide(
            self.policy,
            lambda rule: self.conditions[rule.name].holds(values),
            price_known=facts.quote.known is True,
        )
        return replace(decision, steps=tuple(_for_team(step, facts.team.key or "") for step in decision.steps))


def compile_policy(config: Config) -> CompiledPolicy:
    """The policy of `config`. Raises `ConfigError` with file and line of every condition that cannot be used."""
    conditions, found = _compiled({index: rule.when for index, rule in enumerate(config.policy.rules)}, config)
    if found:
        raise ConfigError(config.file, found)
    rules = tuple(
        _rule(rule, config.line(("policy", "rules", index))) for index, rule in enumerate(config.policy.rules)
    )
    default = _steps(config.policy.default.require)
    named = {rule.name: conditions[index] for index, rule in enumerate(config.policy.rules)}
    return CompiledPolicy(Policy(rules, default, _version(config)), named)


def condition_problems(conditions: Mapping[int, str], document: Document) -> list[Problem]:
    """What is wrong with `conditions`, given by the index of their rule in `document`."""
    return _compiled(conditions, document)[1]


def _compiled(texts: Mapping[int, str], source: Config | Document) -> tuple[dict[int, Condition], list[Problem]]:
    conditions: dict[int, Condition] = {}
    found: list[Problem] = []
    for index, text in texts.items():
        try:
            conditions[index] = compile_condition(text)
        except ConditionError as error:
            path: KeyPath = ("policy", "rules", index, "when")
            inner = f"line {error.line} of it, column" if error.line > 1 else "column"
            found.append(Problem(source.line(path), spell_path(path), f"{error} ({inner} {error.column})"))
    return conditions, found


def _rule(rule: RuleConfig, line: int) -> Rule:
    outcome = _outcome(rule.then)
    reason = rule.then.deny or rule.reason
    return Rule(rule.name, rule.when, outcome, reason, _steps(rule.then.require or ()), line)


def _outcome(then: OutcomeConfig) -> Outcome:
    if then.approve:
        return Outcome.APPROVE
    return Outcome.DENY if then.deny else Outcome.REQUIRE


def _steps(steps: tuple[StepConfig, ...]) -> tuple[StepSpec, ...]:
    return tuple(StepSpec(step.name, step.approvers, step.quorum) for step in steps)


def _for_team(step: StepSpec, team: str) -> StepSpec:
    """`step` with `lead` meaning the lead of the request's team."""
    return replace(step, approvers=tuple(f"lead:{team}" if ref == "lead" else ref for ref in step.approvers))


def _version(config: Config) -> str:
    content = json.dumps(config.policy.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
