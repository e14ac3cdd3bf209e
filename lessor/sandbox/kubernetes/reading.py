"""Lists in pages, and single objects, as they go over the wire."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from lessor.sandbox.kubernetes.calls import Call, Target
from lessor.sandbox.kubernetes.errors import bad_request, expired
from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.selectors import fielded, labelled
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def chosen(of: Target, call: Call) -> Callable[[Obj], bool]:
    """What the selectors of a request let through. Raises `Refused` (400)."""
    assert of.kind is not None
    by_label = labelled(call.query.get("labelSelector", ""))
    by_field = fielded(of.kind.kind, call.query.get("fieldSelector", ""))
    return lambda obj: by_label(obj["metadata"].get("labels") or {}) and by_field(obj)


def listing(store: Store, of: Target, call: Call) -> Obj:
    """A list, or a page of one. Raises `Refused`: 400, and 410 for a page of a list that is no longer known."""
    assert of.kind is not None
    wanted = chosen(of, call)
    limit, version, after = _limit(call), store.version, None
    if call.query.get("continue"):
        version, after = _read(call.query["continue"])
        if version and version < store.forgotten:
            raise expired(_TOO_OLD, _token(0, after))
        version = version or store.version
    found = [obj for obj in store.all(of.kind, of.namespace) if wanted(obj)]
    if after is not None:
        found = [obj for obj in found if _key(obj) > after]
    page, rest = (found[:limit], len(found) - limit) if limit else (found, 0)
    metadata: Obj = {"resourceVersion": str(version)}
    if rest > 0:
        metadata |= {"continue": _token(version, _key(page[-1]))}
        if not call.query.get("labelSelector") and not call.query.get("fieldSelector"):
            metadata |= {"remainingItemCount": rest}
    items = [in_list(of.kind, obj) for obj in page]
    return {"kind": f"{of.kind.kind}List", "apiVersion": of.kind.api_version, "metadata": metadata, "items": items}


def in_list(kind: Kind, obj: Obj) -> Obj:
    """As an item of a list: built-in kinds do not say there what they are."""
    if kind.extension:
        return obj
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _limit(call: Call) -> int:
    try:
        return max(int(call.query.get("limit") or 0), 0)
    except ValueError as error:
        raise bad_request(f"invalid limit: {error}") from error


def _key(obj: Obj) -> list[str]:
    return [obj["metadata"].get("namespace", ""), obj["metadata"]["name"]]


def _token(version: int, after: list[str] | None) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": version, "start": after}
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def _read(token: str) -> tuple[int, list[str]]:
    try:
        document = json.loads(base64.urlsafe_b64decode(token + "=="))
        return int(document["rv"]), [str(part) for part in document["start"]]
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid: " + str(error)) from error
