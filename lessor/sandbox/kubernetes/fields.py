"""Sets of fields, as `managedFields` keeps them, and how objects are merged field by field.

A path is a tuple of elements as they stand in `fieldsV1`: `f:spec`, `k:{"name":"main"}` for an item of a list that is
known by keys, `v:"x"` for a member of a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Path = tuple[str, ...]
Fields = frozenset[Path]

_KEYED = {
    "containers": ("name",), "initContainers": ("name",), "ephemeralContainers": ("name",), "volumes": ("name",),
    "env": ("name",), "volumeMounts": ("mountPath",), "volumeDevices": ("devicePath",), "conditions": ("type",),
    "imagePullSecrets": ("name",), "ownerReferences": ("uid",), "resourceClaims": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"), "hostAliases": ("ip",),
}  # fmt: skip
_SETS = {"finalizers"}
_ATOMIC_MAPS = {
    "nodeSelector", "labelSelector", "podSelector", "namespaceSelector", "roleRef", "claimRef", "fieldRef", "objectRef",
    "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "secretRef", "scaleTargetRef", "dataSource",
}  # fmt: skip
_PORT_DEFAULTS = {"protocol": "TCP"}
_NOBODYS = {
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
    "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
}  # fmt: skip
NOTHING: Fields = frozenset()


def owned(obj: dict[str, Any], *, of_status: bool, has_status: bool) -> Fields:
    """The fields of an object that somebody who writes it owns: its status, or all but that."""
    found = set()
    for path in leaves(obj):
        top = path[0]
        if top in ("f:apiVersion", "f:kind") or (top == "f:metadata" and len(path) > 1 and path[1][2:] in _NOBODYS):
            continue
        if has_status and (top == "f:status") is not of_status:
            continue
        found.add(path)
    return frozenset(found)


def leaves(value: Any, path: Path = (), name: str = "", parent: str = "") -> Iterator[Path]:
    """All paths to values that are not looked into any further."""
    if isinstance(value, dict) and value and not _atomic(name, parent):
        for key, one in value.items():
            yield from leaves(one, (*path, f"f:{key}"), key, name)
    elif isinstance(value, list) and value and (name in _SETS or keys_of(name, value)):
        for one in value:
            at = (*path, element(name, value, one))
            yield at
            if isinstance(one, dict):
                yield from leaves(one, at, "", name)
    else:
        yield path


def keys_of(name: str, value: list[Any]) -> tuple[str, ...]:
    """By which keys the items of a list are known; none if the list is one value."""
    if name == "ports":
        first = value[0] if value and isinstance(value[0], dict) else {}
        return ("containerPort", "protocol") if "containerPort" in first else ("port", "protocol")
    return _KEYED.get(name, ())


def element(name: str, value: list[Any], one: Any) -> str:
    if name in _SETS:
        return f"v:{json.dumps(one)}"
    keys = {key: one.get(key, _PORT_DEFAULTS.get(key)) for key in keys_of(name, value)}
    return "k:" + json.dumps(keys, separators=(",", ":"))


def merged(live: Any, applied: Any, name: str = "", parent: str = "") -> Any:
    """What is live with what is applied laid over it."""
    if isinstance(live, dict) and isinstance(applied, dict) and not _atomic(name, parent):
        result = dict(live)
        for key, one in applied.items():
            result[key] = merged(live[key], one, key, name) if key in live else one
        return result
    if isinstance(live, list) and isinstance(applied, list) and live and applied:
        if name in _SETS:
            return [*live, *(one for one in applied if one not in live)]
        if keys_of(name, applied):
            mine = {element(name, applied, one): one for one in applied}
            theirs = {element(name, live, one): one for one in live}
            kept = [merged(one, mine[at], "", name) if at in mine else one for at, one in theirs.items()]
            return [*kept, *(one for at, one in mine.items() if at not in theirs)]
    return applied


def at(value: Any, path: Path, name: str = "") -> Any:
    """The value at a path; `KeyError` where there is none."""
    for step in path:
        if step.startswith("f:"):
            value, name = value[step[2:]], step[2:]
        else:
            value = next((one for one in value if element(name, value, one) == step), None)
            if value is None:
                raise KeyError(step)
    return value


def without(value: Any, gone: Fields, kept: Fields) -> Any:
    """The object without the fields `gone`; containers that become empty go as well, but for those in `kept`."""
    for path in sorted(gone, key=len, reverse=True):
        below = any(one[: len(path)] == path for one in kept)
        if not below:
            value = _removed(value, path, "")
    return value


def to_v1(fields: Iterable[Path]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        if path and not path[-1].startswith("f:"):
            node["."] = {}
    return tree


def from_v1(tree: dict[str, Any], path: Path = ()) -> Fields:
    found: set[Path] = set()
    for step, below in tree.items():
        if step == ".":
            found.add(path)
        elif below:
            found |= from_v1(below, (*path, step))
        else:
            found.add((*path, step))
    return frozenset(found)


def _removed(value: Any, path: Path, name: str) -> Any:
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and step.startswith("f:"):
        key = step[2:]
        if key not in value:
            return value
        below = _removed(value[key], rest, key) if rest else None
        others = {one: of for one, of in value.items() if one != key}
        if below is None or (below in ({}, []) and value[key] != below):
            return others
        return {one: (below if one == key else of) for one, of in value.items()}
    if isinstance(value, list) and not step.startswith("f:"):
        result = []
        for one in value:
            if element(name, value, one) != step:
                result.append(one)
            elif rest:
                result.append(_removed(one, rest, ""))
        return result
    return value


def _atomic(name: str, parent: str) -> bool:
    return name in _ATOMIC_MAPS or (name == "selector" and parent == "spec")
