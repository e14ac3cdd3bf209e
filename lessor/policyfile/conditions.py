"""Compiles a condition in the Common Expression Language into a function over facts.

cel-python's parser reads it. Its evaluators are not used: the interpreter needs 0.6 ms for a short rule, the
transpiler keeps the facts in a module global and gets `!has(x)` wrong, and both turn money into binary floats. Here
kinds are checked once, decimals stay exact, and unknown is a value (docs/adr/0003-conditions.md).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lark import Token

from lessor.policyfile import functions, operators
from lessor.policyfile.facts import documented
from lessor.policyfile.kinds import (
    BOOL,
    EMPTY_LIST,
    INT,
    PYTHON,
    STRING,
    UNKNOWN,
    ConditionError,
    Kind,
    Run,
    Typed,
    Values,
    kind_of,
)
from lessor.policyfile.operators import KindError
from lessor.policyfile.parsing import Node, as_node, core, dotted, error_at, literal, parse

KEPT = 2_000
"""Compiled conditions are kept: a file is checked, then compiled, and read again whenever it changes a little."""

Scope = dict[str, Kind]
"""The variables of `exists` and `all` that are visible here."""


@dataclass(frozen=True)
class Condition:
    """A condition that is ready to be asked; `facts` are those that it looks at, by dotted name in their order."""

    text: str
    run: Run
    tree: Node = field(repr=False, compare=False)
    facts: tuple[str, ...] = ()

    def holds(self, values: Values) -> bool | None:
        """Whether it holds for these facts (by dotted name, UNKNOWN for what is not known); `None` if unknown."""
        result = self.run(values)
        return None if result is UNKNOWN else bool(result)


@lru_cache(maxsize=KEPT)
def compile_condition(text: str) -> Condition:
    """Raises `ConditionError` for a syntax error, an unknown fact or function, or kinds that do not fit."""
    try:
        tree = parse(text)
        compiled = _compile(tree, {})
    except RecursionError:
        raise ConditionError("is nested too deeply; split it into several rules") from None
    if compiled.kind != BOOL:
        raise ConditionError(f"gives {compiled.kind}; a condition has to be true or false")
    return Condition(text, compiled.run, tree, facts_in(tree))


def compile_part(tree: Node) -> Typed:
    """A part of a condition that was compiled as a whole before, and that uses no variable of a part around it."""
    return _compile(tree, {})


def facts_in(tree: Node) -> tuple[str, ...]:
    """The facts that a part of a condition looks at, in their order."""
    inside = {name for node in tree.iter_subtrees() if node.data == "member_dot" and (name := dotted(node)) in _facts()}
    return tuple(name for name in _facts() if name in inside)


def kind_of_fact(name: str) -> Kind:
    """The kind of a fact that there is."""
    return _facts()[name]


def _compile(tree: Node | Token, scope: Scope) -> Typed:
    node = core(tree)
    build = _BUILDERS.get(str(node.data))
    if build is None:
        raise error_at(node, f"uses {str(node.data).replace('_', ' ')}, which conditions do not offer")
    try:
        return build(node, scope)
    except KindError as error:
        raise error_at(node, str(error)) from None


def _literal(node: Node, scope: Scope) -> Typed:
    value = literal(node.children[0])  # type: ignore[arg-type]
    return Typed(PYTHON[type(value)], lambda _: value, literal=value)


def _list(node: Node, scope: Scope) -> Typed:
    items = _arguments(node, scope, start=0)
    if not items:
        return Typed(EMPTY_LIST, lambda _: ())
    first = items[0].kind
    for item in items:
        if not item.kind.fits(first):
            raise KindError(f"mixes {first} and {item.kind} in one list")
    runs = [item.run for item in items]

    def run(values: Values) -> Any:
        made = [part(values) for part in runs]
        return UNKNOWN if any(part is UNKNOWN for part in made) else made

    if all(item.literal is not None for item in items):
        fixed = tuple(item.literal for item in items)
        return Typed(Kind("list", first), lambda _: fixed)
    return Typed(Kind("list", first), run)


def _ident(node: Node, scope: Scope) -> Typed:
    name = str(node.children[0])
    if name in scope:
        return Typed(scope[name], functions.variable(name))
    groups = sorted({fact.partition(".")[0] for fact in _facts()})
    if name in groups:
        raise error_at(node, f"names '{name}' alone; give one of its facts, such as {_inside(name)[0]}")
    raise error_at(node, f"unknown name '{name}'{_near(name, groups)}; facts begin with {', '.join(groups)}")


def _member(node: Node, scope: Scope) -> Typed:
    name = dotted(node)
    if name in _facts():
        return Typed(_facts()[name], _fact(name))
    group = name.partition(".")[0] if name else ""
    if name and group not in scope and _inside(group):
        hint = _near(name, _inside(group))
        raise error_at(node, f"unknown fact '{name}'{hint}; {group} has: {', '.join(_names(group))}")
    holder = _compile(node.children[0], scope)
    key = str(node.children[1])
    return _entry(holder, Typed(PYTHON[str], lambda _: key))


def _index(node: Node, scope: Scope) -> Typed:
    holder_node = core(node.children[0])
    if holder_node.data == "ident" and _inside(str(holder_node.children[0])):
        raise error_at(node, f"looks a fact up by brackets; write {_inside(str(holder_node.children[0]))[0]}")
    return _entry(_compile(holder_node, scope), _compile(node.children[1], scope))


def _entry(holder: Typed, key: Typed) -> Typed:
    if holder.kind.name not in ("map", "list") or holder.kind.element is None:
        raise KindError(f"looks into {holder.kind}, which has nothing inside")
    wanted = STRING if holder.kind.name == "map" else INT
    if key.kind != wanted:
        raise KindError(f"looks into {holder.kind} by {key.kind}; {wanted} is needed")
    return Typed(holder.kind.element, operators.strict(_look_up, holder.run, key.run))


def _look_up(holder: Any, key: Any) -> Any:
    if isinstance(key, int) and key < 0:
        raise LookupError(key)
    return holder[key]


def _binary(build: Callable[[Typed, Typed], Typed]) -> Callable[[Node, Scope], Typed]:
    return lambda node, scope: build(_compile(node.children[0], scope), _compile(node.children[1], scope))


def _relation(node: Node, scope: Scope) -> Typed:
    sign, left, right = _sides(node, scope)
    return operators.contains(left, right) if sign == "relation_in" else operators.compare(sign, left, right)


def _arithmetic(node: Node, scope: Scope) -> Typed:
    sign, left, right = _sides(node, scope)
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%"}
    return operators.arithmetic(signs[sign.rpartition("_")[2]], left, right)


def _sides(node: Node, scope: Scope) -> tuple[str, Typed, Typed]:
    """Operator, left and right of a node whose first child holds the operator around the left side."""
    first = as_node(node.children[0])
    return str(first.data), _compile(first.children[0], scope), _compile(node.children[1], scope)


def _unary(node: Node, scope: Scope) -> Typed:
    build = operators.negate if as_node(node.children[0]).data == "unary_not" else operators.minus
    return build(_compile(node.children[1], scope))


def _ternary(node: Node, scope: Scope) -> Typed:
    test, then, other = (_compile(child, scope) for child in node.children)
    return operators.choose(test, then, other)


def _call(node: Node, scope: Scope) -> Typed:
    name = str(node.children[0])
    if name not in functions.GLOBAL:
        raise error_at(node, f"unknown function {name}(); there are {', '.join(functions.GLOBAL)}")
    if name == "has":
        return _has(node, scope)
    return functions.call(name, _arguments(node, scope))


def _has(node: Node, scope: Scope) -> Typed:
    parts = as_node(node.children[1]).children if len(node.children) > 1 else []
    inner = core(parts[0]) if len(parts) == 1 else None
    if inner is None or inner.data != "member_dot":
        raise error_at(node, "has() takes one name with a dot, such as has(quote.total)")
    if dotted(inner) not in _facts():
        holder = _compile(inner.children[0], scope)
        if holder.kind.name == "map":
            key = str(inner.children[1])
            return Typed(BOOL, operators.strict(lambda held: key in held, holder.run))
    found = _compile(inner, scope)
    return Typed(BOOL, lambda values: found.run(values) is not UNKNOWN)


def _method(node: Node, scope: Scope) -> Typed:
    name = str(node.children[1])
    if name not in functions.METHODS:
        raise error_at(node, f"unknown function {name}(); there are {', '.join(functions.METHODS)}")
    target = _compile(node.children[0], scope)
    if name not in functions.MACROS:
        return functions.method(name, target, _arguments(node, scope, start=2))
    parts = as_node(node.children[2]).children if len(node.children) > 2 else []
    variable = core(parts[0]) if len(parts) == 2 else None
    if variable is None or variable.data != "ident":
        raise error_at(node, f"{name}() takes a name and a test, such as {name}(tag, tag == 'x')")
    word = str(variable.children[0])
    test = _compile(parts[1], scope | {word: functions.items_of(target, name)})
    return functions.over(name, target, word, test)


def _arguments(node: Node, scope: Scope, start: int = 1) -> list[Typed]:
    if len(node.children) <= start:
        return []
    return [_compile(part, scope) for part in as_node(node.children[start]).children]


def _fact(name: str) -> Run:
    return lambda values: values[name]


@lru_cache(maxsize=1)
def _facts() -> dict[str, Kind]:
    return {name: kind_of(hint) for name, (hint, _) in documented().items()}


def _inside(group: str) -> list[str]:
    return [name for name in _facts() if name.startswith(f"{group}.")]


def _names(group: str) -> list[str]:
    return [name.partition(".")[2] for name in _inside(group)]


def _near(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


_BUILDERS: dict[str, Callable[[Node, Scope], Typed]] = {
    "literal": _literal,
    "list_lit": _list,
    "ident": _ident,
    "member_dot": _member,
    "member_index": _index,
    "member_dot_arg": _method,
    "ident_arg": _call,
    "relation": _relation,
    "addition": _arithmetic,
    "multiplication": _arithmetic,
    "conditionaland": _binary(operators.both),
    "conditionalor": _binary(operators.either),
    "unary": _unary,
    "expr": _ternary,
}
