"""What `kubectl get` shows: the server itself lays objects out as rows, with the columns of each kind.

A client asks for it by an `Accept` of `application/json;as=Table;g=meta.k8s.io;v=v1`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lessor.sandbox.kubernetes.errors import bad_request
from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.tables import add_ons, cluster, people, storage, workloads
from lessor.sandbox.kubernetes.tables.columns import AGE, DATED, NAME, Columns

Obj = dict[str, Any]
_WANTED = "application/json", {"as": "Table", "g": "meta.k8s.io", "v": "v1"}
_CARRIED = ("None", "Metadata", "Object")
_NOT_CARRIED = "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be {}, or empty"
_COLUMNS: Mapping[str, Columns] = {
    **workloads.COLUMNS,
    **cluster.COLUMNS,
    **storage.COLUMNS,
    **people.COLUMNS,
    **add_ons.COLUMNS,
}


def is_wanted(accept: str) -> bool:
    """Whether the first kind of answer that a client takes and that is served here is a table."""
    for one in accept.split(","):
        media, *given = (part.strip() for part in one.split(";"))
        said = dict(part.partition("=")[::2] for part in given)
        if (media, {name: said.get(name) for name in _WANTED[1]}) == _WANTED:
            return True
        if media in ("application/json", "*/*") and "as" not in said:
            return False
    return False


def carried(query: Mapping[str, str]) -> str:
    """What each row carries of its object. Raises `Refused` (400)."""
    wanted = query.get("includeObject") or "Metadata"
    if wanted not in _CARRIED:
        raise bad_request(_NOT_CARRIED.format(json.dumps(wanted), "'Metadata', 'Object', 'None'"))
    return wanted


def tabled(
    kind: Kind, objects: Sequence[Obj], metadata: Obj, now: datetime, carry: str = "Metadata", *, headed: bool = True
) -> Obj:
    """A Table of these objects; `headed` is false for all but the first of a watch."""
    columns = _columns(kind)
    marked = {"kind": kind.kind, "apiVersion": kind.api_version}
    rows = [_row(columns, marked | one, now, carry) for one in storage.with_default(kind, objects)]
    table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    return table | {"columnDefinitions": [one.definition() for one in columns] if headed else None, "rows": rows}


def _columns(kind: Kind) -> Columns:
    return _COLUMNS.get(kind.kind) or ((NAME, AGE) if kind.extension else (NAME, DATED))


def _row(columns: Columns, obj: Obj, now: datetime, carry: str) -> Obj:
    row: Obj = {"cells": [one.cell(obj, now) for one in columns]}
    ended = obj.get("status", {}).get("phase") if obj["kind"] == "Pod" else ""
    if ended in workloads.ENDED:
        row["conditions"] = [
            {"type": "Completed", "status": "True", "reason": ended, "message": workloads.ENDED[ended]}
        ]
    if carry == "Object":
        return row | {"object": {key: value for key, value in obj.items() if key != storage.DEFAULT}}
    if carry == "Metadata":
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
        return row | {"object": partial}
    return row | {"object": None}
