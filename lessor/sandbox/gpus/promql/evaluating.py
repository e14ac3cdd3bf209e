"""Computes a query at one instant. Where Prometheus would refuse to, so does this."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lessor.sandbox.gpus.promql.errors import execution_error
from lessor.sandbox.gpus.promql.numbers import BETWEEN, GROUPED, OVER_TIME
from lessor.sandbox.gpus.promql.parsing import COMPARISONS, SETS
from lessor.sandbox.gpus.promql.series import Database
from lessor.sandbox.gpus.promql.tree import (
    Aggregate,
    Binary,
    Call,
    Negated,
    Node,
    Number,
    Range,
    Selector,
    String,
    Subquery,
)
from lessor.sandbox.gpus.promql.vectors import Labels, Sample, Vector, combined, matched, nameless, relabelled, unique

Points = list[tuple[int, float]]


def evaluate(node: Node, data: Database, now: int) -> Vector | float:
    """The value of a query at `now`, in milliseconds. Raises `QueryError`."""
    if node.kind not in ("scalar", "vector"):
        raise execution_error(f"a query has to give a scalar or an instant vector, not a {node.kind}")
    evaluation = _Evaluation(data, now)
    return evaluation.number(node) if node.kind == "scalar" else evaluation.vector(node)


@dataclass(frozen=True)
class _Evaluation:
    """The parser sees to it that every node gets arguments of its kinds; the two methods here go by kind."""

    data: Database
    now: int

    def number(self, node: Node) -> float:
        match node:
            case Number():
                return node.value
            case Negated():
                return -self.number(node.of)
            case Binary():
                return float(BETWEEN[node.op](self.number(node.left), self.number(node.right)))
            case Call(name="scalar"):
                found = self.vector(node.arguments[0])
                return found[0].value if len(found) == 1 else math.nan
            case _:
                return self.now / 1000

    def vector(self, node: Node) -> Vector:
        match node:
            case Selector():
                found = self._selected(node)
            case Aggregate():
                found = self._aggregated(node)
            case Binary() if node.op in SETS:
                found = combined(node.op, self.vector(node.left), self.vector(node.right))
            case Binary():
                found = self._computed(node)
            case Negated():
                found = [Sample(nameless(one.labels), -one.value, self.now) for one in self.vector(node.of)]
            case Call():
                found = self._called(node)
            case _:
                raise execution_error(f"a {node.kind} cannot stand here")
        return found

    def _selected(self, node: Selector) -> Vector:
        at = node.shift.applied(self.now)
        found = ((series.labels, series.at(at)) for series in self.data.select(node.matchers))
        return [Sample(labels, sample[1], sample[0]) for labels, sample in found if sample is not None]

    def _aggregated(self, node: Aggregate) -> Vector:
        groups: dict[frozenset[tuple[str, str]], list[float]] = {}
        for one in self.vector(node.of):
            labels = nameless(one.labels).items()
            kept = frozenset((name, text) for name, text in labels if (name in node.labels) != node.without)
            groups.setdefault(kept, []).append(one.value)
        return [Sample(dict(key), GROUPED[node.op](values), self.now) for key, values in groups.items()]

    def _computed(self, node: Binary) -> Vector:
        compute = BETWEEN[node.op]
        if node.left.kind == "scalar":
            other = self.number(node.left)
            pairs = [(one, compute(other, one.value)) for one in self.vector(node.right)]
        elif node.right.kind == "scalar":
            other = self.number(node.right)
            pairs = [(one, compute(one.value, other)) for one in self.vector(node.left)]
        else:
            both = matched(self.vector(node.left), self.vector(node.right))
            pairs = [(one, compute(one.value, there.value)) for one, there in both]
        if node.op in COMPARISONS and not node.boolean:
            return [Sample(one.labels, one.value, self.now) for one, holds in pairs if holds]
        return unique([Sample(nameless(one.labels), float(value), self.now) for one, value in pairs])

    def _called(self, node: Call) -> Vector:
        first = node.arguments[0]
        if node.name in OVER_TIME:
            found = [
                (labels, OVER_TIME[node.name]([value for _, value in points])) for labels, points in self._matrix(first)
            ]
            # Only `last_over_time` keeps the name of what it is about.
            named = node.name == "last_over_time"
            return unique([Sample(labels if named else nameless(labels), value, self.now) for labels, value in found])
        if node.name == "timestamp":
            direct = isinstance(first, Selector)
            taken = [(one.labels, one.time if direct else self.now) for one in self.vector(first)]
            return unique([Sample(nameless(labels), time / 1000, self.now) for labels, time in taken])
        if node.name == "vector":
            return [Sample({}, self.number(first), self.now)]
        return relabelled(self.vector(first), *(one.value for one in node.arguments[1:] if isinstance(one, String)))

    def _matrix(self, node: Node) -> list[tuple[Labels, Points]]:
        if isinstance(node, Range):
            until = node.of.shift.applied(self.now)
            series = self.data.select(node.of.matchers)
            return [(one.labels, points) for one in series if (points := one.between(until - node.length, until))]
        if not isinstance(node, Subquery):
            raise execution_error(f"a {node.kind} cannot stand here")
        until = node.shift.applied(self.now)
        first = -(-(until - node.length) // node.step) * node.step
        found: dict[frozenset[tuple[str, str]], tuple[Labels, Points]] = {}
        for step in range(first, until + 1, node.step):
            for one in _Evaluation(self.data, step).vector(node.of):
                found.setdefault(frozenset(one.labels.items()), (one.labels, []))[1].append((step, one.value))
        return list(found.values())
