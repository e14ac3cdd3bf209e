"""Label and field selectors, as lists and watches take them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lessor.sandbox.kubernetes.errors import bad_request

Obj = dict[str, Any]
Test = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"^\s*(!?)\s*([^\s!=,()]+)\s*(?:(in|notin)\s*\(([^()]*)\)|(==|=|!=)\s*([^\s=!,()]*))?\s*$")
_FIELDS = {
    "Pod": {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
            "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
    "Event": {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
              "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
              "reason", "reportingComponent", "source", "type"},
    "Node": {"spec.unschedulable"},
    "Namespace": {"status.phase"},
    "Secret": {"type"},
    "Job": {"status.successful"},
    "ReplicaSet": {"status.replicas"},
}  # fmt: skip


def labelled(selector: str) -> Test:
    """What a label selector lets through. Raises `Refused` (400) for one that cannot be read."""
    tests = [_requirement(part) for part in _parts(selector)]
    return lambda labels: all(test(labels) for test in tests)


def fielded(kind: str, selector: str) -> Callable[[Obj], bool]:
    """What a field selector lets through. Raises `Refused` (400) for fields that this kind cannot be selected by."""
    wanted = []
    for part in filter(None, selector.split(",")):
        found = re.match(r"^([^=!]+)(==|=|!=)(.*)$", part)
        if found is None:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{part}'")
        name = found[1].strip()
        if name not in {"metadata.name", "metadata.namespace"} | _FIELDS.get(kind, set()):
            raise bad_request(f"field label not supported: {name}")
        wanted.append((name, found[2] != "!=", found[3].strip()))
    return lambda obj: all((_field(obj, name) == value) is same for name, same, value in wanted)


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector of an object (matchLabels, matchExpressions) takes these labels; an absent one takes none."""
    if selector is None:
        return False
    exact = selector.get("matchLabels") or {}
    if any(labels.get(name) != value for name, value in exact.items()):
        return False
    return all(expressed(one, labels) for one in selector.get("matchExpressions") or [])


def expressed(one: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One expression of a selector, also of those that nodes are chosen by."""
    key, values, operator = one["key"], one.get("values") or [], one["operator"]
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator in ("Gt", "Lt"):
        try:
            have, want = int(labels[key]), int(values[0])
        except (KeyError, ValueError, IndexError):
            return False
        return have > want if operator == "Gt" else have < want
    return (labels.get(key) in values) is (operator == "In")


def _parts(selector: str) -> list[str]:
    return [part for part in re.split(r",(?![^(]*\))", selector) if part.strip()]


def _requirement(part: str) -> Test:
    found = _SET.match(part)
    if found is None or (found[1] and (found[3] or found[5])):
        raise bad_request(f"unable to parse requirement: found '{part.strip()}', expected: a label selector")
    absent, key, word, values, sign, value = found.groups()
    if absent:
        return lambda labels: key not in labels
    if word:
        allowed = {one.strip() for one in values.split(",")}
        return lambda labels: (labels.get(key) in allowed) is (word == "in")
    if sign:
        return lambda labels: (labels.get(key) == value) is (sign != "!=")
    return lambda labels: key in labels


def _field(obj: Obj, path: str) -> str:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
