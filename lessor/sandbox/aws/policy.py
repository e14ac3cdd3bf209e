"""IAM policies as far as lessor's own use them: effect, action, resource and the condition operators in them.

A policy that uses what this evaluator does not know is an error, never a silent allow.
Source: IAM User Guide, "Policy evaluation logic" and "IAM JSON policy elements: Condition operators".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

Context = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class AuthorizationRequest:
    """One question to IAM: may this `action` be done to this `resource` in this context (keys are lower case)."""

    action: str
    resource: str
    context: Context = field(default_factory=dict)


class PolicyDocument:
    """A parsed policy; `source` names it in errors."""

    def __init__(self, document: Mapping[str, Any], source: str = "policy") -> None:
        self.source = source
        statements = document.get("Statement", [])
        self._statements = [statements] if isinstance(statements, Mapping) else list(statements)
        for statement in self._statements:
            _check_understood(statement, source)

    @classmethod
    def read(cls, path: Path) -> PolicyDocument:
        return cls(json.loads(path.read_text(encoding="utf-8")), path.name)

    def summary(self) -> str:
        """The statements in short, for people."""
        return "; ".join(f"{s['Effect']} {s['Action']} on {s['Resource']}" for s in self._statements)

    def verdict(self, request: AuthorizationRequest) -> Literal["allow", "deny", "silent"]:
        """An explicit deny beats any allow."""
        effects = {s["Effect"] for s in self._statements if _applies(s, request)}
        if "Deny" in effects:
            return "deny"
        return "allow" if "Allow" in effects else "silent"


def is_allowed(policies: Iterable[PolicyDocument], request: AuthorizationRequest) -> bool:
    """At least one policy allows and none denies."""
    verdicts = {policy.verdict(request) for policy in policies}
    return "allow" in verdicts and "deny" not in verdicts


def trusts(trust_policy: Mapping[str, Any], principal_arns: Iterable[str], context: Context) -> bool:
    """Whether a role's trust policy lets one of these principals assume it."""
    wanted = set(principal_arns)
    return any(
        statement.get("Effect") == "Allow"
        and "sts:AssumeRole" in _as_list(statement.get("Action", []))
        and wanted & set(_as_list((statement.get("Principal") or {}).get("AWS", [])))
        and _conditions_hold(statement.get("Condition", {}), context)
        for statement in _as_list(trust_policy.get("Statement", []))
    )


def _applies(statement: Mapping[str, Any], request: AuthorizationRequest) -> bool:
    actions, resources = _as_list(statement.get("Action", [])), _as_list(statement.get("Resource", []))
    return (
        any(fnmatchcase(request.action.lower(), pattern.lower()) for pattern in actions)
        and any(_like(request.resource, pattern) for pattern in resources)
        and _conditions_hold(statement.get("Condition", {}), request.context)
    )


def _conditions_hold(conditions: Mapping[str, Mapping[str, Any]], context: Context) -> bool:
    return all(
        _condition_holds(operator, key, [str(v) for v in _as_list(wanted)], context)
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _condition_holds(operator: str, key: str, wanted: list[str], context: Context) -> bool:
    values = context.get(key.lower())
    quantifier, _, name = operator.rpartition(":")
    optional = name.endswith("IfExists")
    name = name.removesuffix("IfExists")
    if name == "Null":
        return (values is None) == (wanted[0].lower() == "true")
    if values is None:
        return optional or quantifier == "ForAllValues" or name in _NEGATED
    test, negated = _TESTS[name], name in _NEGATED
    results = [any(test(value, pattern) for pattern in wanted) != negated for value in values]
    return all(results) if quantifier == "ForAllValues" else any(results)


def _like(value: str, pattern: str) -> bool:
    return fnmatchcase(value, pattern.replace("[", "[[]"))


def _as_bool(value: str, pattern: str) -> bool:
    return value.lower() == pattern.lower()


_TESTS: dict[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda value, pattern: value == pattern,
    "StringNotEquals": lambda value, pattern: value == pattern,
    "StringLike": _like,
    "StringNotLike": _like,
    "ArnLike": _like,
    "ArnEquals": _like,
    "Bool": _as_bool,
    "NumericLessThanEquals": lambda value, pattern: float(value) <= float(pattern),
    "NumericEquals": lambda value, pattern: float(value) == float(pattern),
}
_NEGATED = {"StringNotEquals", "StringNotLike"}


def _check_understood(statement: Mapping[str, Any], source: str) -> None:
    unknown = set(statement) - {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"}
    operators = {op.rpartition(":")[2].removesuffix("IfExists") for op in statement.get("Condition", {})}
    unknown |= operators - set(_TESTS) - {"Null"}
    if unknown:
        raise ValueError(
            f"{source}: the simulator does not understand {', '.join(sorted(unknown))}; use what it knows or teach it"
        )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
