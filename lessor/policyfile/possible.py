"""Finds conditions that no request can ever meet, when the file is read instead of never.

A condition is written as alternatives of facts that have to come together. It is refused only if every alternative
contradicts itself for certain; whatever this does not understand counts as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from lessor.policyfile.closed import Closed, never
from lessor.policyfile.conditions import Condition, compile_part, facts_in, kind_of_fact
from lessor.policyfile.kinds import BOOL, UNKNOWN, ConditionError
from lessor.policyfile.parsing import Node, as_node, core, dotted, error_at, written
from lessor.policyfile.ranges import FLIPPED, NEGATED, Range

MOST_ALTERNATIVES = 256
"""A condition with more is not looked through."""

COMPARISONS = {
    "relation_lt": "<", "relation_le": "<=", "relation_gt": ">", "relation_ge": ">=", "relation_eq": "==",
    "relation_ne": "!=",
}  # fmt: skip

NEEDS = {
    "quote.known": ("quote.hourly", "quote.total", "quote.market_hourly", "quote.currency"),
    "request.capped": ("request.cap",),
    "team.limited": ("team.quota", "team.used", "team.free", "team.after"),
    "budget.limited": ("budget.ceiling", "budget.spent", "budget.committed", "budget.left", "budget.share"),
    "budget.hours_limited": ("budget.hours_ceiling", "budget.hours_used", "budget.hours_left"),
}
"""Facts that are known only where the first one is true."""

WEEKEND = ("saturday", "sunday")


@dataclass(frozen=True)
class Atom:
    """A part of a condition without `&&`, `||`, `!` and `?:`, that has to be true, or false if not `positive`."""

    node: Node
    positive: bool
    text: str


def check(condition: Condition, closed: Closed) -> None:
    """Raise `ConditionError` for a value that a fact never has, and for a condition that can never hold."""
    for node in condition.tree.iter_subtrees():
        _check_values(node, closed)
    try:
        alternatives = _Reader(condition.text).alternatives(condition.tree, positive=True)
    except RecursionError:
        alternatives = None
    if alternatives is None:
        return
    first = ""
    for alternative in alternatives:
        why = _contradiction(alternative, closed)
        if not why:
            return
        first = first or why
    raise error_at(condition.tree, f"can never hold: {first or 'it is false'}")


class _Reader:
    """Turns the tree of one condition into alternatives, each a list of atoms that have to hold together."""

    def __init__(self, text: str) -> None:
        self._text = text

    def alternatives(self, tree: Any, *, positive: bool) -> list[list[Atom]] | None:
        """`None` when there are too many."""
        node = core(tree)
        kind, parts = str(node.data), node.children
        if kind == "unary" and as_node(parts[0]).data == "unary_not":
            return self.alternatives(parts[1], positive=not positive)
        if kind in ("conditionaland", "conditionalor"):
            sides = [self.alternatives(part, positive=positive) for part in parts]
            return _together(sides) if (kind == "conditionaland") is positive else _either(sides)
        if kind == "expr":
            test, then, other = parts
            first = _together([self.alternatives(test, positive=True), self.alternatives(then, positive=positive)])
            second = _together([self.alternatives(test, positive=False), self.alternatives(other, positive=positive)])
            return _either([first, second])
        return [[Atom(node, positive, ("" if positive else "!") + written(node, self._text))]]


def _together(sides: list[list[list[Atom]] | None]) -> list[list[Atom]] | None:
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    count = 1
    for side in known:
        count *= len(side)
    if count > MOST_ALTERNATIVES:
        return None
    return [[atom for part in parts for atom in part] for parts in product(*known)]


def _either(sides: list[list[list[Atom]] | None]) -> list[list[Atom]] | None:
    joined: list[list[Atom]] = []
    for side in sides:
        if side is None or len(joined) + len(side) > MOST_ALTERNATIVES:
            return None
        joined += side
    return joined


def _contradiction(atoms: list[Atom], closed: Closed) -> str:
    """Why these cannot hold together, for certain; empty when they may."""
    ranges: dict[str, Range] = {}
    said: dict[str, list[str]] = {}
    absent: set[str] = set()
    opaque: dict[str, bool] = {}
    for atom in atoms:
        names, bare = facts_in(atom.node), atom.text.removeprefix("!")
        if not names:
            if compile_part(atom.node).run({}) is not atom.positive:
                return f"{atom.text} is never true"
            continue
        asked = _asked(atom.node)
        if asked and not atom.positive:
            absent.add(asked)
            said.setdefault(asked, []).append(atom.text)
        elif len(names) == 1 and (left := _narrowed(ranges.get(names[0]), atom, names[0], closed)):
            ranges[names[0]] = left
            said.setdefault(names[0], []).append(atom.text)
        elif opaque.setdefault(bare, atom.positive) is not atom.positive:
            return f"{bare} cannot be true and false"
    return _conflict(ranges, said, absent)


def _conflict(ranges: dict[str, Range], said: dict[str, list[str]], absent: set[str]) -> str:
    for name in absent & ranges.keys():
        return f"{_listed(said[name])}: it cannot be unknown and known"
    for name, found in ranges.items():
        if found.empty:
            return f"{name} can never be so: {_listed(said[name])}"
    for switch, needing in NEEDS.items():
        if switch in ranges and not ranges[switch].allows(True):
            for name in needing:
                if name in ranges:
                    return f"{_listed(said[switch] + said[name])}: {name} is unknown where {switch} is false"
    return _same_thing(ranges, said)


def _same_thing(ranges: dict[str, Range], said: dict[str, list[str]]) -> str:
    """Facts that say one thing in two ways."""
    days, hours = ranges.get("request.days"), ranges.get("request.hours")
    if days and hours and hours.with_scaled(days, 24).empty:
        return f"{_listed(said['request.days'] + said['request.hours'])} cannot be both"
    weekend, weekday = ranges.get("time.weekend"), ranges.get("time.weekday")
    if weekend and weekday:
        fitting = [day for day in weekday.values or () if weekend.allows(day in WEEKEND)]
        if not fitting:
            return f"{_listed(said['time.weekend'] + said['time.weekday'])} cannot be both"
    return ""


def _listed(texts: list[str]) -> str:
    return " and ".join(dict.fromkeys(texts))


def _asked(node: Node) -> str | None:
    """The fact that `has()` asks for, if this is one."""
    if node.data != "ident_arg" or str(node.children[0]) != "has":
        return None
    name = dotted(core(as_node(node.children[1]).children[0]))
    return name if name in facts_in(node) else None


def _narrowed(before: Range | None, atom: Atom, name: str, closed: Closed) -> Range | None:
    """What the atom leaves of the values of its only fact; `None` when it is not understood."""
    found = before or Range.of(name, closed)
    part = compile_part(atom.node)
    if found.values is not None and part.kind == BOOL:
        found.keep(lambda value: part.run({name: value}) is atom.positive)
        return found
    comparison = _comparison(atom.node, name)
    if comparison is None:
        return None
    sign, value = comparison
    if sign != "in":
        found.compare(sign if atom.positive else NEGATED[sign], value)
    elif atom.positive:
        found.among(value)
    else:
        found.without(value)
    return found


def _comparison(node: Node, name: str) -> tuple[str, Any] | None:
    """Operator and constant of `fact OP constant`, of `constant OP fact` turned round, or of `fact in [constants]`."""
    if node.data != "relation":
        return None
    operator = as_node(node.children[0])
    left, right = core(operator.children[0]), core(node.children[1])
    kind = str(operator.data)
    if dotted(left) == name and not facts_in(right):
        value = compile_part(right).run({})
        if value is UNKNOWN:
            return None
        if kind == "relation_in":
            return "in", tuple(value)
        return COMPARISONS[kind], value
    if dotted(right) == name and not facts_in(left) and kind in COMPARISONS and kind_of_fact(name).name != "map":
        value = compile_part(left).run({})
        return None if value is UNKNOWN else (FLIPPED[COMPARISONS[kind]], value)
    return None


def _check_values(node: Node, closed: Closed) -> None:
    if node.data != "relation":
        return
    for name, values in _compared(node):
        for value in values:
            why = never(name, value, closed)
            if why:
                raise error_at(node, why)


def _compared(node: Node) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Facts of a comparison for equality, with the constants that they are compared with."""
    operator = as_node(node.children[0])
    if operator.data not in ("relation_eq", "relation_ne", "relation_in"):
        return
    left, right = core(operator.children[0]), core(node.children[1])
    for fact, other in ((left, right), (right, left)):
        name = dotted(fact)
        if name is None or name not in facts_in(fact) or facts_in(other):
            continue
        try:
            value = compile_part(other).run({})
        except ConditionError:  # a variable of a macro around it
            continue
        if value is not UNKNOWN:
            yield name, tuple(value) if isinstance(value, (tuple, list)) else (value,)
