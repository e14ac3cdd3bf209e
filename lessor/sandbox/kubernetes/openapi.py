"""The part of the API's description without which kubectl writes nothing: that the server itself checks fields.

kubectl asks for it before it creates or applies anything. It finds that the server knows the parameter
`fieldValidation` for a kind, and then leaves the check to the server.
"""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes.kinds import Kind, Served

Obj = dict[str, Any]
ROOT = "openapi"
_CHECKED = {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}}


def described(served: Served, parts: list[str]) -> Obj | None:
    """`/openapi/v3`, and `/openapi/v3/` with a group and version such as `apis/apps/v1`; `parts` are the path's."""
    by_path: dict[str, list[Kind]] = {}
    for one in served:
        by_path.setdefault(_path(one), []).append(one)
    if parts == [ROOT, "v3"]:
        return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in by_path}}
    found = by_path.get("/".join(parts[2:])) if parts[:2] == [ROOT, "v3"] else None
    return _document(found) if found else None


def _document(kinds: list[Kind]) -> Obj:
    paths = {f"/{_path(one)}/{_place(one)}{one.plural}/{{name}}": {"patch": _patch(one)} for one in kinds}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "sandbox"}, "paths": paths}


def _patch(kind: Kind) -> Obj:
    of = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return {"parameters": [_CHECKED], "x-kubernetes-group-version-kind": of, "responses": {}}


def _path(kind: Kind) -> str:
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def _place(kind: Kind) -> str:
    return "namespaces/{namespace}/" if kind.namespaced else ""
