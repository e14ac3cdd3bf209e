"""What a query is made of once it is read. Times and lengths are in milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["scalar", "vector", "matrix", "string"]


@dataclass(frozen=True)
class Matcher:
    """`label op value`; a label that is not there counts as empty."""

    label: str
    op: str
    value: str
    pattern: re.Pattern[str] | None = None

    def holds(self, labels: dict[str, str]) -> bool:
        there = labels.get(self.label, "")
        if self.pattern is not None:
            return (self.pattern.fullmatch(there) is not None) == (self.op == "=~")
        return (there == self.value) == (self.op == "=")


@dataclass(frozen=True)
class Shift:
    """Another instant than the one asked for: `at` is absolute, `offset` goes back from it."""

    at: int | None = None
    offset: int = 0

    def applied(self, now: int) -> int:
        return (now if self.at is None else self.at) - self.offset


@dataclass(frozen=True)
class Number:
    value: float
    kind: Kind = "scalar"


@dataclass(frozen=True)
class String:
    value: str
    kind: Kind = "string"


@dataclass(frozen=True)
class Selector:
    matchers: tuple[Matcher, ...]
    shift: Shift = field(default_factory=Shift)
    kind: Kind = "vector"


@dataclass(frozen=True)
class Range:
    of: Selector
    length: int
    kind: Kind = "matrix"


@dataclass(frozen=True)
class Subquery:
    of: Node
    length: int
    step: int
    shift: Shift = field(default_factory=Shift)
    kind: Kind = "matrix"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]
    kind: Kind = "vector"


@dataclass(frozen=True)
class Aggregate:
    """`op by (labels) (of)`, or with `without` by all labels but these."""

    op: str
    of: Node
    labels: tuple[str, ...] = ()
    without: bool = False
    kind: Kind = "vector"


@dataclass(frozen=True)
class Binary:
    op: str
    left: Node
    right: Node
    boolean: bool = False
    kind: Kind = "vector"


@dataclass(frozen=True)
class Negated:
    of: Node
    kind: Kind = "vector"


Node = Number | String | Selector | Range | Subquery | Call | Aggregate | Binary | Negated


def shifted(node: Node, *, at: int | None = None, offset: int | None = None) -> Node | None:
    """The same node at another instant; None for what cannot be shifted, or is shifted so already."""
    if isinstance(node, Range):
        inner = shifted(node.of, at=at, offset=offset)
        return replace(node, of=inner) if isinstance(inner, Selector) else None
    if not isinstance(node, Selector | Subquery):
        return None
    if (at is not None and node.shift.at is not None) or (offset is not None and node.shift.offset):
        return None
    shift = Shift(node.shift.at if at is None else at, node.shift.offset if offset is None else offset)
    return replace(node, shift=shift)
