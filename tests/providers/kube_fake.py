"""A cluster in memory behind the `Api` port: names, uids, field managers, selectors, finalizers as a server has them.

Its controllers (see `kube_fake_controllers`) run before each read, so that nothing happens by itself between two calls.
"""

from __future__ import annotations

import builtins
import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lessor.ports import PermanentError, ProviderError, RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import FIELD_MANAGER, NAMESPACE, POD, SERVICE_ACCOUNT, ApiKind, Obj
from tests.providers.kube_fake_controllers import Nodes, settle
from tests.providers.kube_fake_selectors import labels_of, placed, selected

KINDS = tuple(value for value in vars(kinds).values() if isinstance(value, ApiKind))
ALWAYS = ("", "apps", "batch", "rbac.authorization.k8s.io", "networking.k8s.io")
Key = tuple[ApiKind, str, str]


@dataclass
class Fault:
    """What the next calls of one kind run into; `after` lets the effect happen and loses the answer."""

    verb: str
    kind: ApiKind | None
    error: ProviderError
    times: int | None = 1
    after: bool = False

    def takes(self, verb: str, kind: ApiKind, after: bool) -> bool:
        hit = self.verb in (verb, "*") and self.kind in (kind, None) and self.after is after and self.times != 0
        if hit and self.times is not None:
            self.times -= 1
        return hit


@dataclass
class FakeApi:
    """Implements `Api`. `calls` tells what was asked as (verb, kind, namespace, name); `deleted` with which options.

    `extra` are served besides the built-in groups. `denied` are (verb, kind) that `may` answers no to. `nodes` decides
    which pods find a place.
    """

    name: str = "lab"
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    extra: set[ApiKind] = field(default_factory=set)
    denied: set[tuple[str, ApiKind]] = field(default_factory=set)
    nodes: Nodes = field(default_factory=Nodes)
    quotas_enforced: bool = True
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str, str, str]] = field(default_factory=list)
    deleted: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[tuple[str, str, timedelta]] = field(default_factory=list)
    objects: dict[Key, Obj] = field(default_factory=dict)
    applied: dict[tuple[Key, str], Obj] = field(default_factory=dict)
    count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # -- the port ---------------------------------------------------------------------------------------------------

    def get(self, kind: ApiKind, name: str, namespace: str = "") -> Obj | None:
        self._begin("get", kind, namespace, name)
        settle(self)
        return copy.deepcopy(self.objects.get(_key(kind, namespace, name)))

    def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
        self._begin("list", kind, namespace, "")
        settle(self)
        return [
            copy.deepcopy(obj)
            for (held, space, _), obj in sorted(self.objects.items(), key=lambda item: item[0][1:])
            if held == kind and namespace in ("", space) and selected(obj, labels) and placed(obj, fields)
        ]

    def served(self, kind: ApiKind) -> bool:
        self._begin("served", kind, "", "")
        return kind.group in ALWAYS or kind in self.extra

    def apply(self, obj: Mapping[str, Any], manager: str = FIELD_MANAGER) -> Obj:
        kind, key = self._address(obj)
        self._begin("apply", kind, key[1], key[2])
        there = self.objects.get(key)
        uid = obj["metadata"].get("uid", "")
        if uid and (there is None or there["metadata"]["uid"] != uid):
            raise _conflict(key, f"it is not the one with uid {uid}")
        if there is None:
            there = self._new(kind, key, obj)
        _strip(there, self.applied.get((key, manager), {}), obj)
        _merge(there, copy.deepcopy(dict(obj)))
        self.applied[(key, manager)] = copy.deepcopy(dict(obj))
        self._manage(there, manager, "Apply")
        return self._end("apply", kind, key)

    def create(self, obj: Mapping[str, Any], manager: str = FIELD_MANAGER) -> Obj:
        kind, key = self._address(obj)
        self._begin("create", kind, key[1], key[2])
        if key in self.objects:
            raise _conflict(key, "the name is taken")
        there = self._new(kind, key, obj)
        _merge(there, copy.deepcopy(dict(obj)))
        self._manage(there, manager, "Update")
        return self._end("create", kind, key)

    def patch(
        self,
        kind: ApiKind,
        name: str,
        namespace: str,
        change: Mapping[str, Any],
        uid: str = "",
        manager: str = FIELD_MANAGER,
    ) -> Obj | None:
        key = _key(kind, namespace, name)
        self._begin("patch", kind, namespace, name)
        there = self.objects.get(key)
        if there is None:
            return None
        if uid and there["metadata"]["uid"] != uid:
            raise _conflict(key, f"it is not the one with uid {uid}")
        _merge(there, copy.deepcopy(dict(change)), drop=True)
        self._manage(there, manager, "Update")
        return self._end("patch", kind, key)

    def delete(self, kind: ApiKind, name: str, namespace: str, uid: str, *, foreground: bool = False) -> bool:
        key = _key(kind, namespace, name)
        self._begin("delete", kind, namespace, name)
        self.deleted.append({"kind": kind.kind, "name": name, "uid": uid, "foreground": foreground})
        there = self.objects.get(key)
        if there is None:
            return False
        if there["metadata"]["uid"] != uid:
            raise _conflict(key, f"it is not the one with uid {uid}")
        self.remove(key)
        self._after("delete", kind)
        return True

    def token(self, namespace: str, account: str, length: timedelta) -> tuple[str, datetime]:
        self._begin("token", SERVICE_ACCOUNT, namespace, account)
        if _key(SERVICE_ACCOUNT, namespace, account) not in self.objects:
            raise PermanentError(f"there is no service account {namespace}/{account}", "not-found")
        self.tokens.append((namespace, account, length))
        return f"secret-token-{len(self.tokens)}", self.clock() + length

    def may(self, verb: str, kind: ApiKind, namespace: str = "", sub: str = "", name: str = "") -> bool:
        self._begin("may", kind, namespace, sub)
        return (verb, kind) not in self.denied

    def endpoint(self) -> tuple[str, str]:
        return "https://lab.example.test:6443", "-----BEGIN CERTIFICATE-----\nbGFi\n-----END CERTIFICATE-----\n"

    # -- for tests --------------------------------------------------------------------------------------------------

    def fail(
        self,
        verb: str,
        kind: ApiKind | None = None,
        error: ProviderError | None = None,
        times: int | None = 1,
        *,
        after: bool = False,
    ) -> None:
        """Let the next calls fail; `after` the effect, as an answer that is dropped. Without `times` for ever."""
        self.faults.append(
            Fault(verb, kind, error or RetryableError("the cluster does not answer", "timeout"), times, after)
        )

    def existing(self, lease_id: str) -> builtins.list[str]:
        """`Kind/name` of all in the lease's namespace or with its label, but not what controllers made themselves."""
        settle(self)
        return sorted(
            f"{kind.kind}/{name}"
            for (kind, space, name), obj in self.objects.items()
            if lease_id in (space, labels_of(obj).get("lessor.dev/lease")) and "ownerReferences" not in obj["metadata"]
        )

    def remove(self, key: Key) -> None:
        """Begin to delete as the server does: at once, or when the finalizers are gone; namespaces bit by bit."""
        there = self.objects[key]
        stamp = self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if key[0] == NAMESPACE:
            there["metadata"].setdefault("deletionTimestamp", stamp)
            there["status"]["phase"] = "Terminating"
        elif there["metadata"].get("finalizers"):
            there["metadata"].setdefault("deletionTimestamp", stamp)
        else:
            del self.objects[key]
            self.applied = {held: obj for held, obj in self.applied.items() if held[0] != key}

    def add(self, obj: Mapping[str, Any], manager: str = "kubectl", operation: str = "Update") -> Obj:
        """What somebody makes, without being counted as a call of ours."""
        kind, key = self._address(obj)
        there = self._new(kind, key, obj)
        _merge(there, copy.deepcopy(dict(obj)))
        self._manage(there, manager, operation)
        return copy.deepcopy(there)

    # -- below ------------------------------------------------------------------------------------------------------

    def _address(self, obj: Mapping[str, Any]) -> tuple[ApiKind, Key]:
        kind = next(k for k in (*KINDS, *self.extra) if k.kind == obj["kind"] and k.api_version == obj["apiVersion"])
        meta = obj["metadata"]
        return kind, _key(kind, meta.get("namespace", ""), meta["name"])

    def _new(self, kind: ApiKind, key: Key, obj: Mapping[str, Any]) -> Obj:
        if kind.group not in ALWAYS and kind not in self.extra:
            raise PermanentError(f"{self.name} has no {kind.plural}", "not-served")
        space = self.objects.get((NAMESPACE, "", key[1]))
        if kind.namespaced and space is None:
            raise PermanentError(f"{self.name} has no namespace {key[1]}", "not-found")
        if space is not None and "deletionTimestamp" in space["metadata"]:
            raise PermanentError(f"the namespace {key[1]} is being terminated", "terminating")
        number = next(self.count)
        stamp = self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        meta: Obj = {"name": key[2], "uid": f"00000000-0000-4000-8000-{number:012d}", "creationTimestamp": stamp}
        if kind.namespaced:
            meta["namespace"] = key[1]
        made: Obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "status": {}}
        if kind == NAMESPACE:
            made["status"]["phase"] = "Active"
        self.objects[key] = made
        return made

    def _manage(self, there: Obj, manager: str, operation: str) -> None:
        entries = there["metadata"].setdefault("managedFields", [])
        if not any(e["manager"] == manager and e["operation"] == operation for e in entries):
            entries.append({"manager": manager, "operation": operation, "apiVersion": there["apiVersion"]})
        there["metadata"]["resourceVersion"] = str(next(self.count))

    def _begin(self, verb: str, kind: ApiKind, namespace: str, name: str) -> None:
        self.calls.append((verb, kind.kind, namespace, name))
        for fault in self.faults:
            if fault.takes(verb, kind, after=False):
                raise fault.error

    def _after(self, verb: str, kind: ApiKind) -> None:
        for fault in self.faults:
            if fault.takes(verb, kind, after=True):
                raise fault.error

    def _end(self, verb: str, kind: ApiKind, key: Key) -> Obj:
        self._after(verb, kind)
        return copy.deepcopy(self.objects[key])


class Refusing:
    """A cluster that lets nobody read the pods of some namespaces; empty means of all at once (case D15)."""

    def __init__(self, api: FakeApi, namespaces: set[str]) -> None:
        self._api, self._namespaces = api, namespaces

    def __getattr__(self, name: str) -> object:
        return getattr(self._api, name)

    def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
        if kind == POD and namespace in self._namespaces:
            where = f"in {namespace}" if namespace else "everywhere"
            raise PermanentError(f"pods {where} are forbidden", "forbidden")
        return self._api.list(kind, namespace, labels, fields)


def _key(kind: ApiKind, namespace: str, name: str) -> Key:
    return (kind, namespace if kind.namespaced else "", name)


def _merge(target: Obj, change: Mapping[str, Any], *, drop: bool = False) -> None:
    """Maps merged, all else replaced; with `drop` a null takes the field away, as in a merge patch."""
    for name, value in change.items():
        if drop and value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            below = target.setdefault(name, {})
            if not isinstance(below, dict):
                below = target[name] = {}
            _merge(below, value, drop=drop)
        else:
            target[name] = value


def _strip(target: Obj, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Take away what the same manager applied before and does not any more."""
    for name, value in before.items():
        if name not in now:
            if isinstance(value, dict) and isinstance(target.get(name), dict):
                _strip(target[name], value, {})
            else:
                target.pop(name, None)
        elif isinstance(value, dict) and isinstance(now[name], dict) and isinstance(target.get(name), dict):
            _strip(target[name], value, now[name])


def _conflict(key: Key, why: str) -> PermanentError:
    return PermanentError(f"{key[0].kind} {key[2]}: {why}", "conflict")
