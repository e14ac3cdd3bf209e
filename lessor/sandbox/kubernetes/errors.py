"""What the API server refuses, in its own words: each error is a Status object with a code and a reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lessor.sandbox.kubernetes.kinds import Kind

Cause = dict[str, str]


class Refused(Exception):
    """A request that is refused; `body` is what the server sends."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}

    def body(self) -> dict[str, Any]:
        """The Status object."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        metadata = self.details.pop("metadata", None)
        if metadata:
            status["metadata"] = metadata
        status |= {"message": self.message} | ({"reason": self.reason} if self.reason else {})
        if self.details:
            status["details"] = self.details
        return status | {"code": self.code}


def not_found(kind: Kind, name: str) -> Refused:
    return Refused(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name))


def no_such_path() -> Refused:
    """For kinds that the cluster does not have, as for any address that is none."""
    return Refused(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> Refused:
    return Refused(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refused:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refused(409, "Conflict", message, _details(kind, name))


def modified(kind: Kind, name: str) -> Refused:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def another_uid(kind: Kind, name: str, wanted: str, found: str) -> Refused:
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(kind, name, why)


def forbidden(kind: Kind, name: str, why: str) -> Refused:
    message = f'{kind.resource} "{name}" is forbidden: {why}'
    return Refused(403, "Forbidden", message, _details(kind, name))


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> Refused:
    """`causes` as `wrong` makes them."""
    told = [f"{one['field']}: {one['message']}" for one in causes]
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    group = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = {"name": name, "group": kind.group, "kind": kind.kind, "causes": list(causes)}
    return Refused(422, "Invalid", f'{group} "{name}" is invalid: {text}', {k: v for k, v in details.items() if v})


def wrong(field: str, value: Any, why: str) -> Cause:
    """One field with a value that is not allowed."""
    shown = json.dumps(value, separators=(",", ":"))
    return {"reason": "FieldValueInvalid", "message": f"Invalid value: {shown}: {why}", "field": field}


def missing(field: str, why: str = "") -> Cause:
    message = f"Required value: {why}" if why else "Required value"
    return {"reason": "FieldValueRequired", "message": message, "field": field}


def unsupported(field: str, value: str, known: Sequence[str]) -> Cause:
    told = ", ".join(f'"{one}"' for one in known)
    message = f'Unsupported value: "{value}": supported values: {told}'
    return {"reason": "FieldValueNotSupported", "message": message, "field": field}


def prohibited(field: str, why: str) -> Cause:
    return {"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": field}


def bad_request(message: str) -> Refused:
    return Refused(400, "BadRequest", message)


def unauthorized() -> Refused:
    return Refused(401, "Unauthorized", "Unauthorized")


def expired(message: str, token: str = "") -> Refused:
    """410: what was asked for is no longer known; `token` goes on with what is known now."""
    details = {"metadata": {"continue": token}} if token else None
    return Refused(410, "Expired", message, details)


def unknown_format() -> Refused:
    return Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def _details(kind: Kind, name: str) -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}
