"""What is left of the values of one fact after everything that a condition asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil, floor
from typing import Any

from lessor.policyfile.closed import LEAST, Closed
from lessor.policyfile.conditions import kind_of_fact

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
ENUMERATED = 1_000
"""Whole numbers are looked through one by one if there are no more than these."""


@dataclass
class Range:
    """`values` are all that are left, `None` where they cannot be counted; then bounds and exceptions hold.

    A bound is a value and whether it belongs to the range itself.
    """

    whole: bool = False
    values: tuple[Any, ...] | None = None
    low: tuple[Any, bool] | None = None
    high: tuple[Any, bool] | None = None
    without_: set[Any] = field(default_factory=set)

    @staticmethod
    def of(name: str, closed: Closed) -> Range:
        """Everything that the fact can be."""
        kind = kind_of_fact(name)
        if kind.name == "bool":
            return Range(values=(True, False))
        if kind.name in ("list", "map"):
            return Range()
        low = (LEAST[name], True) if name in LEAST else None
        return Range(kind.name == "int", closed.get(name), low)

    def keep(self, fits: Callable[[Any], bool]) -> None:
        if self.values is not None:
            self.values = tuple(value for value in self.values if fits(value))

    def among(self, values: Iterable[Any]) -> None:
        """Only these."""
        allowed = tuple(values)
        self.values = allowed if self.values is None else tuple(v for v in self.values if v in allowed)

    def without(self, values: Iterable[Any]) -> None:
        for value in values:
            self.compare("!=", value)

    def compare(self, sign: str, value: Any) -> None:
        """Only what compares so with `value`."""
        if sign == "==":
            self.among([value])
        elif sign == "!=":
            self.without_.add(_hashable(value))
        elif sign in (">", ">="):
            bound = (value, sign == ">=")
            if self.low is None or (value, not bound[1]) > (self.low[0], not self.low[1]):
                self.low = bound
        else:
            bound = (value, sign == "<=")
            if self.high is None or (value, bound[1]) < self.high:
                self.high = bound

    def with_scaled(self, other: Range, factor: int) -> Range:
        """This range of numbers, cut down to `factor` times the other one."""
        made = Range(self.whole, self.values, self.low, self.high, set(self.without_))
        if other.values is not None:
            made.among([value * factor for value in other.values])
        for sign, bound in ((">", other.low), ("<", other.high)):
            if bound is not None:
                made.compare(sign + ("=" if bound[1] else ""), bound[0] * factor)
        made.without(value * factor for value in other.without_)
        return made

    def allows(self, value: Any) -> bool:
        above = self.low is None or value > self.low[0] or (value == self.low[0] and self.low[1])
        below = self.high is None or value < self.high[0] or (value == self.high[0] and self.high[1])
        fits = not self.whole or isinstance(value, bool) or value == int(value)
        return above and below and fits and _hashable(value) not in self.without_ and self._counted(value)

    @property
    def empty(self) -> bool:
        if self.values is not None:
            return not any(self.allows(value) for value in self.values)
        if self.low is None or self.high is None:
            return False
        (low, low_in), (high, high_in) = self.low, self.high
        if low > high or (low == high and not (low_in and high_in)):
            return True
        if low == high:
            return not self.allows(low)
        if not self.whole:
            return False
        first, last = ceil(Decimal(low)), floor(Decimal(high))
        return last - first < ENUMERATED and not any(self.allows(value) for value in range(first, last + 1))

    def _counted(self, value: Any) -> bool:
        return self.values is None or value in self.values


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
