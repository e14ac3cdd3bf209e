"""The small vocabulary in which Block Kit's rules are written down as data (see `schema`).

Each rule appends what is wrong to `found` in Slack's words, with a JSON pointer to the place:
`must be less than 3001 characters [json-pointer:/blocks/0/text/text]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Rule(Protocol):
    def check(self, value: Any, at: str, found: list[str]) -> None: ...


def problem(message: str, at: str) -> str:
    return f"{message} [json-pointer:{at}]"


@dataclass(frozen=True)
class Text:
    """A string of `least` to `most` characters."""

    most: int
    least: int = 1
    pattern: str = ""

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if not isinstance(value, str):
            found.append(problem("must be a string", at))
        elif len(value) > self.most:
            found.append(problem(f"must be less than {self.most + 1} characters", at))
        elif len(value) < self.least:
            found.append(problem(f"must be more than {self.least - 1} characters", at))
        elif self.pattern and not re.fullmatch(self.pattern, value):
            found.append(problem(f"input must match regex pattern: {self.pattern}", at))


@dataclass(frozen=True)
class Flag:
    def check(self, value: Any, at: str, found: list[str]) -> None:
        if not isinstance(value, bool):
            found.append(problem("must be a boolean", at))


@dataclass(frozen=True)
class Number:
    """An integer in a range."""

    least: int
    most: int

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            found.append(problem("must be an integer", at))
        elif not self.least <= value <= self.most:
            found.append(problem(f"must be between {self.least} and {self.most}", at))


@dataclass(frozen=True)
class Choice:
    values: tuple[str, ...]

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if value not in self.values:
            found.append(problem("must be one of: " + ", ".join(self.values), at))


@dataclass(frozen=True)
class Free:
    """Anything: parts of Block Kit that nothing here depends on."""

    def check(self, value: Any, at: str, found: list[str]) -> None:
        return


@dataclass(frozen=True)
class Many:
    """A list of `least` to `most` items that each obey `of`."""

    of: Rule
    most: int
    least: int = 1

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if not isinstance(value, list):
            found.append(problem("must be an array", at))
            return
        if len(value) > self.most:
            found.append(problem(f"no more than {self.most} items allowed", at))
            return
        if len(value) < self.least:
            found.append(problem(f"no less than {self.least} items allowed", at))
        for index, item in enumerate(value):
            self.of.check(item, f"{at}/{index}", found)


@dataclass(frozen=True)
class Shape:
    """An object: required keys, optional keys, nothing else, and what holds across its keys."""

    required: Mapping[str, Rule] = field(default_factory=dict)
    optional: Mapping[str, Rule] = field(default_factory=dict)
    across: Callable[[Mapping[str, Any], str, list[str]], None] | None = None

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if not isinstance(value, dict):
            found.append(problem("must be an object", at))
            return
        before = len(found)
        found += [problem(f"missing required field: {key}", at) for key in self.required if value.get(key) is None]
        for key, item in value.items():
            rule = self.required.get(key) or self.optional.get(key)
            if rule is None and key != "type":
                found.append(problem(f"invalid additional property: {key}", at))
            elif rule is not None and item is not None:
                rule.check(item, f"{at}/{key}", found)
        if self.across is not None and len(found) == before:
            self.across(value, at, found)


@dataclass(frozen=True)
class OneOf:
    """An object whose `type` picks its shape; `allowed` narrows what may stand in this place."""

    shapes: Mapping[str, Shape]
    allowed: frozenset[str] | None = None

    def check(self, value: Any, at: str, found: list[str]) -> None:
        if not isinstance(value, dict):
            found.append(problem("must be an object", at))
            return
        kind = value.get("type")
        if kind is None:
            found.append(problem("missing required field: type", at))
        elif (
            not isinstance(kind, str)
            or kind not in self.shapes
            or (self.allowed is not None and kind not in self.allowed)
        ):
            found.append(problem(f"unsupported type: {kind}", f"{at}/type"))
        else:
            self.shapes[kind].check(value, at, found)
