"""One HTTP request as the API server reads it: which object, and what is to be done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from lessor.sandbox.kubernetes.errors import Refused, bad_request, no_such_path
from lessor.sandbox.kubernetes.kinds import Kind, Served
from lessor.sandbox.kubernetes.rbac import Access

Obj = dict[str, Any]
_REVIEWS = {"selfsubjectaccessreviews": "authorization.k8s.io", "selfsubjectrulesreviews": "authorization.k8s.io",
            "selfsubjectreviews": "authentication.k8s.io"}  # fmt: skip
_JSON_ONLY = (
    "the body of the request was in an unknown format - accepted media types include: application/json, "
    "application/yaml. The simulated cluster reads no protobuf: write the object into a file, and kubectl apply -f it"
)
_SUBS = {"status", "scale", "token", "finalize"}
CONNECTING = {"exec", "portforward"}
"""Parts of pods that are a way into them."""


@dataclass(frozen=True)
class Call:
    """A request. Header names are lower case; `several` has what a query says more than once."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    several: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def every(self, name: str) -> tuple[str, ...]:
        """All values of that name in the query."""
        return self.several.get(name) or tuple(self.query[one] for one in (name,) if one in self.query)

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "application/json").partition(";")[0].strip()

    def json(self) -> Any:
        """The body, of any shape. Raises `Refused` (400)."""
        try:
            return json.loads(self.body or b"{}")
        except ValueError as error:
            raise bad_request(f"error decoding patch: {error}") from error

    def document(self) -> Obj:
        """The body. Raises `Refused`: 400 for what is no object, 415 for what only a real API server can read."""
        if not self.body:
            return {}
        if self.content_type.endswith("protobuf"):
            raise Refused(415, "UnsupportedMediaType", _JSON_ONLY)
        try:
            found = yaml.safe_load(self.body) if "yaml" in self.content_type else json.loads(self.body)
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(
                f"the object provided is unrecognized (must be of type {self.content_type}): {error}"
            ) from error
        if not isinstance(found, dict):
            raise bad_request("the body of the request is not an object")
        return found


@dataclass(frozen=True)
class Target:
    """What a request is about. `kind` is nothing for reviews, whose `plural` says which."""

    group: str
    version: str
    plural: str
    kind: Kind | None
    namespace: str = ""
    name: str = ""
    sub: str = ""

    def access(self, verb: str) -> Access:
        resource = f"{self.plural}/{self.sub}" if self.sub else self.plural
        where = self.name if self.plural == "namespaces" and not self.group else self.namespace
        return Access(verb, self.group, resource, where, self.name)


def is_served(served: Served, path: str) -> bool:
    """Whether there is anything under the group and version of a path."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["apis"] and len(parts) > 2:
        return parts[2] in served.groups().get(parts[1], [])
    return parts[:1] != ["api"] or len(parts) < 2 or parts[1] == "v1"


def target(served: Served, path: str) -> Target | None:
    """What the path names; nothing for paths of discovery. Raises `Refused` (404) for what is not served."""
    parts = [part for part in path.split("/") if part]
    start = 2 if parts[:1] == ["api"] else 3
    if parts[:1] not in (["api"], ["apis"]) or len(parts) <= start:
        return None
    group, version = ("", parts[1]) if start == 2 else (parts[1], parts[2])
    rest, namespace = parts[start:], ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _SUBS:
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        raise no_such_path()
    plural, name, sub = (*rest, "", "")[:3]
    if _REVIEWS.get(plural) == group:
        return Target(group, version, plural, None)
    found = served.find(group, version, plural)
    if found is None or (namespace and not found.namespaced) or (sub and not _has(found, sub)):
        raise no_such_path()
    if found.namespaced and name and not namespace:
        raise no_such_path()
    return Target(group, version, plural, found, namespace, name, sub)


def verb(call: Call, of: Target) -> str:
    """As rules of access name it. Raises `Refused` (405)."""
    if of.sub in {"log", *CONNECTING} and call.method not in ("GET", "POST"):
        raise _not_allowed()
    plain = {"POST": "create", "PUT": "update", "PATCH": "patch"}
    if call.method == "GET":
        if call.flag("watch"):
            return "watch"
        return "get" if of.name else "list"
    if call.method == "DELETE":
        return "delete" if of.name else "deletecollection"
    fits = not of.name or of.sub in {"token", *CONNECTING} if call.method == "POST" else bool(of.name)
    if call.method not in plain or not fits:
        raise _not_allowed()
    return plain[call.method]


def _not_allowed() -> Refused:
    return Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _has(kind: Kind, sub: str) -> bool:
    return (
        (sub == "status" and kind.status)
        or (sub == "scale" and kind.scalable)
        or (sub == "token" and kind.kind == "ServiceAccount")
        or (sub == "finalize" and kind.kind == "Namespace")
        or (sub in {"log", *CONNECTING} and kind.kind == "Pod")
    )
