"""The operators of conditions. Kinds are checked when a condition is built, unknown passes through when it runs.

`&&` and `||` follow the language: one side that settles the matter is enough, even if the other is unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lessor.policyfile.kinds import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UNKNOWN, Kind, Run, Typed, Values

ORDERED = ("int", "double", "string", "timestamp", "duration", "bool")
COMPARE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "relation_lt": ("<", operator.lt),
    "relation_le": ("<=", operator.le),
    "relation_gt": (">", operator.gt),
    "relation_ge": (">=", operator.ge),
    "relation_eq": ("==", operator.eq),
    "relation_ne": ("!=", operator.ne),
}
MIXED: dict[tuple[str, str, str], Kind] = {
    ("+", "timestamp", "duration"): TIMESTAMP,
    ("+", "duration", "timestamp"): TIMESTAMP,
    ("-", "timestamp", "duration"): TIMESTAMP,
    ("-", "timestamp", "timestamp"): DURATION,
    ("+", "duration", "duration"): DURATION,
    ("-", "duration", "duration"): DURATION,
    ("+", "string", "string"): STRING,
}


class KindError(Exception):
    """Values of kinds that do not fit together."""


def compare(name: str, left: Typed, right: Typed) -> Typed:
    """`<`, `<=`, `>`, `>=`, `==`, `!=` of values that fit."""
    sign, apply = COMPARE[name]
    if not left.kind.fits(right.kind):
        raise KindError(f"compares {left.kind} with {right.kind} by {sign}, which is never true")
    if sign not in ("==", "!=") and left.kind.name not in ORDERED:
        raise KindError(f"orders {left.kind} by {sign}; only == and != are possible")
    return Typed(BOOL, strict(apply, left.run, right.run))


def contains(item: Typed, holder: Typed) -> Typed:
    """`item in holder` for lists and for the keys of maps."""
    inner = STRING if holder.kind.name == "map" else holder.kind.element
    if holder.kind.name not in ("map", "list"):
        raise KindError(f"looks with 'in' into {holder.kind}; a list such as ['a', 'b'] is needed")
    if inner is not None and not item.kind.fits(inner):
        raise KindError(f"looks for {item.kind} in {holder.kind}, which never holds one")
    return Typed(BOOL, strict(lambda one, many: one in many, item.run, holder.run))


def both(left: Typed, right: Typed) -> Typed:
    """`&&`: false if either is false."""
    _require_bools("&&", left, right)
    return Typed(BOOL, _settled_by(False, left.run, right.run))


def either(left: Typed, right: Typed) -> Typed:
    """`||`: true if either is true."""
    _require_bools("||", left, right)
    return Typed(BOOL, _settled_by(True, left.run, right.run))


def negate(value: Typed) -> Typed:
    """`!value`."""
    _require_bools("!", value)
    return Typed(BOOL, strict(operator.not_, value.run))


def minus(value: Typed) -> Typed:
    """`-value`."""
    if not value.kind.number and value.kind != DURATION:
        raise KindError(f"puts a minus before {value.kind}")
    return Typed(value.kind, strict(operator.neg, value.run))


def choose(test: Typed, then: Typed, other: Typed) -> Typed:
    """`test ? then : other`."""
    _require_bools("?", test)
    if not then.kind.fits(other.kind):
        raise KindError(f"chooses between {then.kind} and {other.kind}")

    def run(values: Values) -> Any:
        chosen = test.run(values)
        return UNKNOWN if chosen is UNKNOWN else then.run(values) if chosen else other.run(values)

    return Typed(then.kind, run)


def arithmetic(sign: str, left: Typed, right: Typed) -> Typed:
    """`+ - * / %`: whole numbers stay whole, as the language has it; money and hours are exact decimals."""
    if left.kind.number and right.kind.number:
        whole = left.kind == right.kind == INT
        if sign == "%" and not whole:
            raise KindError("takes % of numbers that are not whole")
        return Typed(INT if whole else DOUBLE, strict(WHOLE[sign] if whole else EXACT[sign], left.run, right.run))
    kind = MIXED.get((sign, left.kind.name, right.kind.name))
    if kind is None:
        raise KindError(f"cannot calculate {left.kind} {sign} {right.kind}")
    return Typed(kind, strict(operator.add if sign == "+" else operator.sub, left.run, right.run))


def strict(apply: Callable[..., Any], *parts: Run) -> Run:
    """`apply` to the values of `parts`; unknown if any of them is, or if there is no result (division by zero)."""
    if len(parts) == 1:
        (only,) = parts

        def run_one(values: Values) -> Any:
            value = only(values)
            return UNKNOWN if value is UNKNOWN else apply(value)

        return run_one
    first, second = parts

    def run_two(values: Values) -> Any:
        left, right = first(values), second(values)
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        try:
            return apply(left, right)
        except (ArithmeticError, LookupError):
            return UNKNOWN

    return run_two


def _settled_by(settling: bool, first: Run, second: Run) -> Run:
    def run(values: Values) -> Any:
        left = first(values)
        if left is settling:
            return settling
        right = second(values)
        if right is settling:
            return settling
        return UNKNOWN if left is UNKNOWN or right is UNKNOWN else not settling

    return run


def _require_bools(sign: str, *parts: Typed) -> None:
    for part in parts:
        if part.kind != BOOL:
            raise KindError(f"uses {sign} with {part.kind}; it needs something that is true or false")


def _whole_quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _whole_quotient(left, right)


def _exact(apply: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Any, Any], Decimal]:
    return lambda left, right: apply(Decimal(left), Decimal(right))


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _whole_quotient,
    "%": _remainder,
}
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": _exact(operator.add),
    "-": _exact(operator.sub),
    "*": _exact(operator.mul),
    "/": _exact(operator.truediv),
}
