"""Who wrote which field: `metadata.managedFields`, kept by the server and by nobody else."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessor.sandbox.kubernetes import fields
from lessor.sandbox.kubernetes.errors import Refused
from lessor.sandbox.kubernetes.fields import NOTHING, Fields
from lessor.sandbox.kubernetes.kinds import Kind

Obj = dict[str, Any]
APPLY, UPDATE = "Apply", "Update"


@dataclass(frozen=True)
class Writer:
    """One entry's identity: the manager's name, how it writes, and the subresource that it writes."""

    manager: str
    operation: str = UPDATE
    subresource: str = ""


Managed = dict[Writer, Fields]


def read(obj: Mapping[str, Any]) -> tuple[Managed, dict[Writer, str]]:
    """Fields, and the time of the last change, by writer."""
    found: Managed = {}
    times: dict[Writer, str] = {}
    for entry in obj["metadata"].get("managedFields", ()):
        writer = Writer(entry["manager"], entry["operation"], entry.get("subresource", ""))
        found[writer] = fields.from_v1(entry.get("fieldsV1", {}))
        times[writer] = entry.get("time", "")
    return found, times


def written(obj: Obj, managed: Managed, times: Mapping[Writer, str]) -> Obj:
    """The object with these entries."""
    entries = [
        {
            "manager": writer.manager,
            "operation": writer.operation,
            "apiVersion": obj["apiVersion"],
            "time": times.get(writer, ""),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields.to_v1(owned),
            **({"subresource": writer.subresource} if writer.subresource else {}),
        }
        for writer, owned in managed.items()
        if owned
    ]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return obj | {"metadata": metadata | ({"managedFields": entries} if entries else {})}


def after_update(kind: Kind, before: Obj | None, after: Obj, writer: Writer, now: str) -> Obj:
    """`after` with entries as they are when `writer` made it out of `before`."""
    of_status = writer.subresource == "status"
    managed, times = read(before) if before else ({}, {})
    new = fields.owned(after, of_status=of_status, has_status=kind.status)
    old = fields.owned(before, of_status=of_status, has_status=kind.status) if before else NOTHING
    changed = frozenset(path for path in new if path not in old or fields.at(before, path) != fields.at(after, path))
    gone = old - new
    if not changed and not gone:
        return written(after, managed, times)
    for other in managed:
        if other != writer:
            managed[other] -= changed | gone
    managed[writer] = (managed.get(writer, NOTHING) | changed) - gone
    return written(after, managed, times | {writer: now})


def applied(kind: Kind, live: Obj, wish: Obj, writer: Writer, now: str, *, force: bool) -> Obj:
    """Server-side apply of `wish` onto `live`. Raises `Refused` (409) where another owns a field that would change."""
    wish = copy.deepcopy(wish)
    mine = fields.owned(wish, of_status=writer.subresource == "status", has_status=kind.status)
    managed, times = read(live)
    against = _conflicts(live, wish, mine, managed, writer)
    if against and not force:
        raise _conflict(against)
    lost = frozenset(path for _, path in against)
    before = managed.get(writer, NOTHING)
    for other in managed:
        if other != writer:
            managed[other] -= lost
    others = frozenset().union(*(of for other, of in managed.items() if other != writer))
    result = fields.without(fields.merged(live, wish), before - mine - others, mine | others)
    managed[writer] = mine
    if mine != before or _content(result) != _content(live):
        times = times | {writer: now}
    return written(result, managed, times)


def _conflicts(
    live: Obj, wish: Obj, mine: Fields, managed: Managed, writer: Writer
) -> list[tuple[Writer, fields.Path]]:
    found = []
    for other, owned in managed.items():
        if other == writer:
            continue
        for path in sorted(mine & owned):
            if path[-1].startswith("f:") and _differs(live, wish, path):
                found.append((other, path))
    return found


def _differs(live: Obj, wish: Obj, path: fields.Path) -> bool:
    try:
        return bool(fields.at(live, path) != fields.at(wish, path))
    except KeyError:
        return False


def _conflict(against: list[tuple[Writer, fields.Path]]) -> Refused:
    told = [(f'"{writer.manager}"', _spelt(path)) for writer, path in against]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": where} for who, where in told
    ]
    plural = "conflicts" if len(told) > 1 else "conflict"
    text = f"Apply failed with {len(told)} {plural}: " + ", ".join(f"conflict with {who}: {at}" for who, at in told)
    return Refused(409, "Conflict", text, {"causes": causes})


def _spelt(path: fields.Path) -> str:
    """As errors name a field: `.spec.containers[name="main"].image`."""
    told = ""
    for step in path:
        if step.startswith("k:"):
            keys = json.loads(step[2:])
            told += "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in keys.items()) + "]"
        else:
            told += f".{step[2:]}"
    return told


def _content(obj: Obj) -> Obj:
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}
