"""From what was sent to an object: fields that its kind has, of the right types, in the right namespace."""

from __future__ import annotations

import copy
from typing import Any

from lessor.sandbox.kubernetes import schema
from lessor.sandbox.kubernetes.errors import Refused, bad_request
from lessor.sandbox.kubernetes.kinds import Kind

Obj = dict[str, Any]


def decoded(kind: Kind, namespace: str, given: Obj, *, applied: bool = False, strict: bool = False) -> Obj:
    """The object, without fields that its kind does not have. Raises `Refused` (400) for what is no such object.

    Fields that the kind does not have are an error in what is applied, and where the request is `strict`.
    """
    _check_kind(kind, given)
    try:
        obj, unknown = schema.known(kind, copy.deepcopy(given))
    except schema.WrongTypeError as error:
        raise bad_request(f"{_handled(kind)}: {error}") from error
    if unknown and applied:
        told = "; ".join(f".{one}: field not declared in schema" for one in unknown)
        name = (given.get("metadata") or {}).get("name", "")
        what = f"({namespace}/{name}; {kind.group}/{kind.version}, Kind={kind.kind})"
        raise Refused(500, "", f"failed to create typed patch object {what}: {told}")
    if unknown and strict:
        told = ", ".join(f'unknown field "{one}"' for one in unknown)
        raise bad_request(f"{_handled(kind)}: strict decoding error: {told}")
    obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
    obj["metadata"] = _placed(kind, obj.get("metadata") or {}, namespace)
    whole: Obj = _without_nulls(obj)
    return whole


def _check_kind(kind: Kind, given: Obj) -> None:
    version, name = given.get("apiVersion") or kind.api_version, given.get("kind") or kind.kind
    if (version, name) != (kind.api_version, kind.kind):
        what = f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.kind}'
        raise bad_request(f"{what}: it is {version}, and what is served here is {kind.api_version}")


def _handled(kind: Kind) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'


def _placed(kind: Kind, given: Obj, namespace: str) -> Obj:
    meta = {key: value for key, value in given.items() if value is not None}
    if not kind.namespaced:
        meta.pop("namespace", None)
        return meta
    if meta.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return meta | {"namespace": namespace}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value
