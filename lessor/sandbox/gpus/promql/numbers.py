"""What is done with numbers: over time, in groups, and between two of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Final

Many = Callable[[list[float]], float]


def greatest(values: list[float]) -> float:
    """The greatest that is a number."""
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def least(values: list[float]) -> float:
    return min((value for value in values if not math.isnan(value)), default=math.nan)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def changes(values: list[float]) -> float:
    """How often a value was followed by another one; from no number to no number is no change."""
    return float(sum(a != b and not (math.isnan(a) and math.isnan(b)) for a, b in pairwise(values)))


OVER_TIME: Final[dict[str, Many]] = {
    "max_over_time": greatest,
    "min_over_time": least,
    "avg_over_time": mean,
    "sum_over_time": math.fsum,
    "count_over_time": lambda values: float(len(values)),
    "last_over_time": lambda values: values[-1],
    "present_over_time": lambda _values: 1.0,
    "changes": changes,
    "resets": lambda values: float(sum(b < a for a, b in pairwise(values))),
}
GROUPED: Final[dict[str, Many]] = {
    "max": greatest,
    "min": least,
    "sum": math.fsum,
    "count": lambda values: float(len(values)),
    "avg": mean,
}
BETWEEN: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: a / b if b else math.copysign(math.inf, a) if a else math.nan,
    "%": lambda a, b: math.fmod(a, b) if b else math.nan,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
