"""Example requests with the decisions that an organisation expects: its own regression suite for its rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lessor.config.configuration import Config
from lessor.config.problems import ConfigError, KeyPath, Problem, spell_path
from lessor.config.reading import Document, read
from lessor.config.wording import nearest, problems
from lessor.domain.case import Case
from lessor.domain.policy import Decision, Outcome, StepSpec
from lessor.policyfile.compiling import CompiledPolicy
from lessor.policyfile.facts import documented
from lessor.policyfile.kinds import kind_of
from lessor.policyfile.recorded import text_of, value_of
from lessor.policyfile.suitecase import case
from lessor.policyfile.suitemodel import AskedConfig, ExampleConfig, ExpectConfig, SuiteConfig

UNKNOWN_WORD = "unknown"


@dataclass(frozen=True)
class Difference:
    """One thing that is not as expected, in words."""

    what: str
    expected: str
    got: str


@dataclass(frozen=True)
class Result:
    """One test; it passed when there are no differences. `decision` is what the rules decided."""

    name: str
    line: int
    decision: Decision
    differences: tuple[Difference, ...]


def run_suite(path: Path, config: Config, policy: CompiledPolicy) -> tuple[Result, ...]:
    """Every test of a file, in its order. Raises `ConfigError` with file and line of what is wrong with the file."""
    document = read(path)
    suite = _suite(document)
    trial = _Trial(document, suite, config, policy)
    results = [trial.run(index, test) for index, test in enumerate(suite.tests)]
    if trial.problems:
        raise ConfigError(document.file, trial.problems)
    return tuple(one for one in results if one)


def _suite(document: Document) -> SuiteConfig:
    try:
        suite = SuiteConfig.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        raise ConfigError(document.file, [*document.problems, *problems(error, document, SuiteConfig)]) from None
    if document.problems:
        raise ConfigError(document.file, document.problems)
    return suite


class _Trial:
    """Runs the tests of one file, gathering what is wrong with the file itself."""

    def __init__(self, document: Document, suite: SuiteConfig, config: Config, policy: CompiledPolicy) -> None:
        self.problems: list[Problem] = []
        self._document, self._suite, self._config, self._policy = document, suite, config, policy

    def run(self, index: int, test: ExampleConfig) -> Result | None:
        path: KeyPath = ("tests", index)
        self._check_rules(test.expect, (*path, "expect"))
        before = len(self.problems)
        made = self._case(index, test)
        given = self._facts(self._suite.facts, ("facts",)) | self._facts(test.facts, (*path, "facts"))
        if made is None or len(self.problems) > before:
            return None
        decision = self._policy.decide(self._policy.facts(made) | given)
        differences = tuple(_differences(test.expect, decision))
        return Result(test.name, self._document.line(path), decision, differences)

    def _case(self, index: int, test: ExampleConfig) -> Case | None:
        """What the test asks for; `None`, and problems, when that is no request."""
        merged = self._suite.request | test.request
        path = ("tests", index, "request")
        try:
            wanted = AskedConfig.model_validate_json(json.dumps(merged))
            return case(wanted, test.at or self._suite.at, self._config)
        except ValidationError as error:
            found = problems(error, _merged(self._document, merged, path), AskedConfig)
            self.problems += [replace(one, path=f"{spell_path(path)}.{one.path}") for one in found]
        except ValueError as error:
            self.problems.append(self._document.problem(path, str(error)))
        return None

    def _facts(self, given: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        """Facts that a test sets by their dotted name, `None` for those that it makes unknown."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            known = documented()
            if name not in known:
                hint = nearest(name, list(known))
                message = f"there is no fact '{name}'{hint}; docs/policy.md lists them"
                self.problems.append(self._document.problem((*path, name), message))
            elif value == UNKNOWN_WORD:
                found[name] = None
            else:
                try:
                    found[name] = value_of(
                        kind_of(known[name][0]), str(value) if isinstance(value, (str, float)) else text_of(value)
                    )
                except ValueError as error:
                    self.problems.append(self._document.problem((*path, name), f"{error}, and not '{UNKNOWN_WORD}'"))
        return found

    def _check_rules(self, expect: ExpectConfig, path: KeyPath) -> None:
        names = [rule.name for rule in self._policy.policy.rules] + ["default", "unknown-price"]
        for key in ("rules", "suggestions"):
            for index, name in enumerate(getattr(expect, key) or ()):
                if name not in names:
                    message = f"there is no rule '{name}'{nearest(name, names)}"
                    self.problems.append(self._document.problem((*path, key, index), message))


def _merged(document: Document, merged: dict[str, Any], path: KeyPath) -> Document:
    """`merged` with the lines of `path`, or of the head of the file for what comes from there."""
    lines: dict[KeyPath, int] = {(): document.line(path)}
    for start in (("request",), path):
        size = len(start)
        lines |= {at[size:]: line for at, line in document.lines.items() if at[:size] == start and len(at) > size}
    return Document(document.file, merged, lines)


def _differences(expect: ExpectConfig, decision: Decision) -> Iterator[Difference]:
    if expect.outcome != decision.outcome.value:
        why = "; ".join(f"{one.rule}: {one.text}" for one in decision.reasons)
        yield Difference("outcome", expect.outcome, f"{decision.outcome.value} ({why})")
    quoted = [one.rule for one in decision.reasons]
    if expect.rules is not None and sorted(expect.rules) != sorted(quoted):
        yield Difference("rules", _names(sorted(expect.rules)), _names(sorted(quoted)))
    if expect.steps is not None:
        wanted, got = _stages(expect.steps), _asked(decision)
        if wanted != got:
            yield Difference("steps", _written(wanted), _written(got))
    proposed = [one.rule for one in decision.suggestions]
    if expect.suggestions is not None and sorted(expect.suggestions) != sorted(proposed):
        yield Difference("suggestions", _names(sorted(expect.suggestions)), _names(sorted(proposed)))
    said = [one.text for one in decision.reasons]
    for text in expect.reasons or ():
        if not any(text in one for one in said):
            yield Difference("reasons", f"something with '{text}'", " / ".join(said))


def _stages(steps: tuple[str | tuple[str, ...], ...]) -> list[list[str]]:
    return [sorted([step] if isinstance(step, str) else step) for step in steps]


def _asked(decision: Decision) -> list[list[str]]:
    """The names of the steps, those that are asked side by side together."""
    if decision.outcome is not Outcome.REQUIRE:
        return []
    stages: dict[int, list[StepSpec]] = {}
    for step in decision.steps:
        stages.setdefault(step.stage, []).append(step)
    return [sorted(step.name for step in stages[stage]) for stage in sorted(stages)]


def _written(stages: list[list[str]]) -> str:
    return ", then ".join(" beside ".join(names) for names in stages) or "none"


def _names(names: list[str]) -> str:
    return ", ".join(names) or "none"
