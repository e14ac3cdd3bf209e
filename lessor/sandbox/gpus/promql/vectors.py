"""Vectors of samples, and what is done with whole vectors: united, narrowed, relabelled."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lessor.sandbox.gpus.promql.errors import execution_error
from lessor.sandbox.gpus.promql.parsing import re2
from lessor.sandbox.gpus.promql.series import NAME

Labels = dict[str, str]


@dataclass(frozen=True)
class Sample:
    """One value of a vector; `time` is when it was taken, in milliseconds."""

    labels: Labels
    value: float
    time: int


Vector = list[Sample]


def combined(op: str, left: Vector, right: Vector) -> Vector:
    """`or`, `and`, `unless`: by all labels but the name."""
    there, here = {_signature(one) for one in right}, {_signature(one) for one in left}
    if op == "or":
        return [*left, *(one for one in right if _signature(one) not in here)]
    return [one for one in left if (_signature(one) in there) == (op == "and")]


def matched(left: Vector, right: Vector) -> list[tuple[Sample, Sample]]:
    """Each sample with the one of the other side that has the same labels but the name, where there is one."""
    there: dict[frozenset[tuple[str, str]], Sample] = {}
    for one in right:
        if there.setdefault(_signature(one), one) is not one:
            raise execution_error("found duplicate series for the match group on the right hand-side of the operation")
    pairs = [(one, there[_signature(one)]) for one in left if _signature(one) in there]
    if len({_signature(one) for one, _ in pairs}) < len(pairs):
        raise execution_error(
            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
        )
    return pairs


def relabelled(vector: Vector, label: str, replacement: str, source: str, pattern: str) -> Vector:
    """What `label_replace` gives: a label is set where the whole of another one matches."""
    try:
        wanted = re2(pattern)
    except re.error as wrong:
        raise execution_error(f"invalid regular expression in label_replace(): {pattern}") from wrong
    if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", label):
        raise execution_error(f"invalid destination label name in label_replace(): {label}")
    result = []
    for one in vector:
        found = wanted.fullmatch(one.labels.get(source, ""))
        labels = one.labels if found is None else {**one.labels, label: _expanded(replacement, found)}
        result.append(Sample({name: text for name, text in labels.items() if text}, one.value, one.time))
    return unique(result)


def nameless(labels: Labels) -> Labels:
    return {label: text for label, text in labels.items() if label != NAME}


def unique(vector: Vector) -> Vector:
    """The same vector. Raises `QueryError` when two of its samples have the same labels."""
    if len({frozenset(one.labels.items()) for one in vector}) < len(vector):
        raise execution_error("vector cannot contain metrics with the same labelset")
    return vector


def _signature(one: Sample) -> frozenset[tuple[str, str]]:
    return frozenset(nameless(one.labels).items())


def _expanded(replacement: str, found: re.Match[str]) -> str:
    """`$1` and `${1}` stand for what the groups found; a group that is not there for nothing."""

    def group(reference: re.Match[str]) -> str:
        number = int(reference[1] or reference[2])
        return (found[number] or "") if number <= found.re.groups else ""

    return re.sub(r"\$(?:(\d+)|\{(\d+)\})", group, replacement)
