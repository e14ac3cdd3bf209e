"""The ways in which a patch can be written: merge (RFC 7396), operations (RFC 6902), and lists merged by their keys."""

from __future__ import annotations

import copy
import json
from typing import Any

from lessor.sandbox.kubernetes.errors import Cause, Refused, bad_request, wrong
from lessor.sandbox.kubernetes.fields import element, keys_of

Obj = dict[str, Any]
MERGE = "application/merge-patch+json"
OPERATIONS = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def patched(target: Obj, patch: Any, content_type: str) -> Obj:
    """The object as the patch makes it. Raises `Refused` (400, 422) for a patch that cannot be applied."""
    if content_type == OPERATIONS:
        return _operated(target, patch)
    if not isinstance(patch, dict):
        raise bad_request("the patch is not an object")
    result: Obj = merge_patched(target, patch) if content_type == MERGE else _strategic(target, patch)
    return result


def merge_patched(target: Any, change: Any) -> Any:
    """RFC 7396."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patched(result.get(key), value)
    return result


def _strategic(target: Any, change: Any, name: str = "") -> Any:
    if isinstance(change, list) and isinstance(target, list) and keys_of(name, change):
        mine = {element(name, change, one): one for one in change}
        gone = {at for at, one in mine.items() if one.get("$patch") == "delete"}
        kept = {element(name, target, one): one for one in target}
        result = [_strategic(one, mine.get(at, {})) for at, one in kept.items() if at not in gone]
        return [*result, *(one for at, one in mine.items() if at not in kept and at not in gone)]
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        elif not key.startswith("$"):
            merged[key] = _strategic(merged.get(key), value, key)
    return merged


def _operated(target: Obj, operations: Any) -> Obj:
    if not isinstance(operations, list):
        raise bad_request("the patch is not a list of operations")
    result = copy.deepcopy(target)
    for one in operations:
        try:
            _operate(result, one["op"], _steps(one["path"]), one.get("value"))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            told = json.dumps(one)
            raise Refused(422, "Invalid", f"the server rejected our request due to an error in our request: {told}",
                          {"causes": [_cause(error, told)]}) from error  # fmt: skip
    return result


def _cause(error: Exception, told: str) -> Cause:
    return wrong("patch", told, str(error))


def _steps(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _operate(target: Any, operation: str, steps: list[str], value: Any) -> None:
    *above, last = steps
    for step in above:
        target = target[int(step)] if isinstance(target, list) else target[step]
    if operation not in ("add", "replace", "remove", "test"):
        raise ValueError(f"unsupported operation {operation}")
    if isinstance(target, list):
        if operation == "add":
            target.insert(len(target) if last == "-" else int(last), value)
            return
        last_: Any = int(last)
    else:
        last_ = last
    if operation == "add":
        target[last_] = value
        return
    have = target[last_]
    if operation == "test" and have != value:
        raise ValueError("testing value failed")
    if operation == "remove":
        del target[last_]
    elif operation == "replace":
        target[last_] = value
