"""Turns the policy and security sections of a configuration into decisions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from lessor.config.configuration import Config
from lessor.config.problems import ConfigError, KeyPath, Problem, spell_path
from lessor.config.reading import Document
from lessor.config.rules import OutcomeConfig, RuleConfig, StepConfig
from lessor.domain import policy
from lessor.domain.case import Case
from lessor.domain.policy import Decision, Outcome, Policy, Rule, StepSpec, Suggestion
from lessor.policyfile import possible
from lessor.policyfile.closed import closed_values
from lessor.policyfile.conditions import Condition, compile_condition
from lessor.policyfile.gathering import UNKNOWN_SITE, Site, facts
from lessor.policyfile.kinds import UNKNOWN, ConditionError, Values
from lessor.policyfile.recorded import to_text
from lessor.policyfile.security import security_rules, sites

TEAM_REFS = ("lead", "budget-owner")
"""Approvers who are other people for each team."""

POLICY_RULES: KeyPath = ("policy", "rules")
"""Where the rules stand that decide."""


@dataclass(frozen=True)
class CompiledPolicy:
    """Rules whose conditions are ready to be asked; `version` is the hash of the rules' content."""

    policy: Policy
    conditions: Mapping[str, Condition]
    sites: Mapping[str, Site] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return self.policy.version

    def judge(self, case: Case) -> Decision:
        """What the rules say of a case."""
        return self.decide(self.facts(case))

    def facts(self, case: Case) -> dict[str, Any]:
        """Every fact of a case by its dotted name, `None` where unknown."""
        return facts(case, self.sites.get(case.request.place.name, UNKNOWN_SITE)).flat()

    def decide(self, known: Mapping[str, Any]) -> Decision:
        """What the rules say of these facts. Unknown ones never approve and never deny: they ask people."""
        values = asked(known)
        decision = policy.decide(
            self.policy,
            lambda rule: self.conditions[rule.name].holds(values),
            price_known=known.get("quote.known") is True,
            length=_length(known),
        )
        return replace(
            decision,
            steps=tuple(_for_team(step, known.get("team.key") or "") for step in decision.steps),
            suggestions=tuple(one for one in decision.suggestions if self._helps(one, known)),
            facts=to_text(known),
        )

    def _helps(self, one: Suggestion, known: Mapping[str, Any]) -> bool:
        """Whether a suggestion changes anything, and can be had in the place."""
        site = self.sites.get(known.get("place.name") or "", UNKNOWN_SITE)
        if one.market and site.markets and one.market not in site.markets:
            return False
        if one.instance_type and site.instance_types and one.instance_type not in site.instance_types:
            return False
        wanted = {"market": one.market, "instance_type": one.instance_type, "count": one.count}
        changes = {name: value for name, value in wanted.items() if value}
        return not changes or any(known.get(f"request.{name}") != value for name, value in changes.items())


def asked(known: Mapping[str, Any]) -> Values:
    """Facts as conditions want them."""
    return {name: UNKNOWN if value is None else value for name, value in known.items()}


def compile_policy(config: Config) -> CompiledPolicy:
    """The policy of `config`. Raises `ConfigError` with file and line of every condition that cannot be used."""
    conditions, found = _compiled({index: rule.when for index, rule in enumerate(config.policy.rules)}, config.document)
    if found:
        raise ConfigError(config.file, found)
    written = [_rule(rule, config.line(("policy", "rules", index))) for index, rule in enumerate(config.policy.rules)]
    built_in = [replace(rule, line=config.line(("security", *path))) for rule, path in security_rules(config)]
    default = _steps(config.policy.default.require)
    named = {rule.name: conditions[index] for index, rule in enumerate(config.policy.rules)}
    named |= {rule.name: compile_condition(rule.when) for rule in built_in}
    return CompiledPolicy(Policy((*built_in, *written), default, _version(config)), named, sites(config))


def condition_problems(
    conditions: Mapping[int, str], document: Document, section: KeyPath = POLICY_RULES
) -> list[Problem]:
    """What is wrong with `conditions`, given by the index of their rule in that section of `document`."""
    return _compiled(conditions, document, section)[1]


def _compiled(
    texts: Mapping[int, str], source: Document, section: KeyPath = POLICY_RULES
) -> tuple[dict[int, Condition], list[Problem]]:
    conditions: dict[int, Condition] = {}
    found: list[Problem] = []
    closed = closed_values(source.data)
    for index, text in texts.items():
        try:
            conditions[index] = compile_condition(text)
            possible.check(conditions[index], closed)
        except ConditionError as error:
            path: KeyPath = (*section, index, "when")
            inner = f"line {error.line} of it, column" if error.line > 1 else "column"
            found.append(Problem(source.line(path), spell_path(path), f"{error} ({inner} {error.column})"))
    return conditions, found


def _length(known: Mapping[str, Any]) -> timedelta:
    hours = known.get("request.hours")
    return timedelta(microseconds=round((hours or Decimal(0)) * 3_600_000_000))


def _rule(rule: RuleConfig, line: int) -> Rule:
    then = rule.then
    return Rule(
        name=rule.name,
        when=rule.when,
        outcome=_outcome(then),
        reason=then.deny or rule.reason,
        steps=_steps(then.require or ()),
        line=line,
        longest=then.max,
        suggestion=_suggestion(rule),
    )


def _outcome(then: OutcomeConfig) -> Outcome | None:
    if then.approve:
        return Outcome.APPROVE
    if then.deny:
        return Outcome.DENY
    return Outcome.REQUIRE if then.require else None


def _suggestion(rule: RuleConfig) -> Suggestion | None:
    said = rule.then.suggest
    if said is None:
        return None
    market = said.market.value if said.market else ""
    return Suggestion(rule.name, said.text, market, said.instance_type, said.count or 0)


def _steps(steps: tuple[StepConfig, ...]) -> tuple[StepSpec, ...]:
    made: list[StepSpec] = []
    stage = -1
    for step in steps:
        stage += 0 if step.parallel and made else 1
        made.append(StepSpec(step.name, step.approvers, step.quorum, stage))
    return tuple(made)


def _for_team(step: StepSpec, team: str) -> StepSpec:
    """`step` with `lead` and `budget-owner` meaning those of the request's team."""
    refs = (f"{ref}:{team}" if ref in TEAM_REFS else ref for ref in step.approvers)
    return replace(step, approvers=tuple(refs))


def _version(config: Config) -> str:
    said = {"policy": config.policy.model_dump(mode="json")}
    said["policy"]["rules"].sort(key=lambda rule: rule["name"])
    if config.security != type(config.security)():
        said["security"] = config.security.model_dump(mode="json")
    content = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
