"""From a request to its answer: who asks, may they, what shall go wrong, and what the registry says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from lessor.sandbox.kubernetes import discovery, errors, openapi, tables
from lessor.sandbox.kubernetes.calls import CONNECTING, Call, Target, is_served, target, verb
from lessor.sandbox.kubernetes.cluster import Heard, SimulatedCluster
from lessor.sandbox.kubernetes.errors import Refused
from lessor.sandbox.kubernetes.faults import Fault
from lessor.sandbox.kubernetes.inside.entering import LOG, Entering, Following, entering, log
from lessor.sandbox.kubernetes.kinds import Kind
from lessor.sandbox.kubernetes.managed import APPLY, UPDATE, Writer
from lessor.sandbox.kubernetes.patches import MERGE, OPERATIONS, STRATEGIC
from lessor.sandbox.kubernetes.rbac import Access
from lessor.sandbox.kubernetes.reading import chosen, listing
from lessor.sandbox.kubernetes.registry import Request, User
from lessor.sandbox.kubernetes.reviews import reviewed

Obj = dict[str, Any]
_APPLY = "application/apply-patch+yaml"
_RETURNED = {
    "Pod",
    "Namespace",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "ResourceQuota",
    "ServiceAccount",
    "Service",
    "StorageClass",
}
"""Kinds of which the last state is answered when they are deleted."""


@dataclass(frozen=True)
class Watching:
    """A watch that begins after that version; `wanted` says which objects it is about. `carry` is what rows carry
    when each change is told as a table, and empty when it is not."""

    kind: Kind
    namespace: str
    since: int
    wanted: Callable[[Obj], bool]
    seconds: float
    carry: str = ""


@dataclass(frozen=True)
class Answer:
    """What is sent. `delay` in seconds; with `lost` the connection breaks instead of an answer, and `text` is
    sent as it is. What goes on after it is `watching`, `following` or `entering`."""

    code: int
    body: Obj = field(default_factory=dict)
    watching: Watching | None = None
    delay: float = 0.0
    lost: bool = False
    text: str | None = None
    following: Following | None = None
    entering: Entering | None = None


NOWHERE = Answer(404, text="404 page not found\n")
"""What is answered under groups and versions that are not served at all: no Status object."""


def answer(cluster: SimulatedCluster, call: Call) -> Answer:
    """The answer to one request; everything it changes has happened then."""
    with cluster.lock:
        before = cluster.store.version
        given = _Asked(cluster, call).answer()
        if cluster.store.version != before:
            cluster.on_change()
        return given


class _Asked:
    def __init__(self, cluster: SimulatedCluster, call: Call) -> None:
        self._cluster, self._call = cluster, call
        self._user = User("")
        self._access = Access(call.method.lower(), "", call.path)

    def answer(self) -> Answer:
        fault = None
        try:
            served = is_served(self._cluster.served, self._call.path)
            of = target(self._cluster.served, self._call.path) if served else None
            if of is not None:
                self._access = of.access(verb(self._call, of))
            fault = self._cluster.faults.take(lambda one: one.matches(self._access))
            if fault and fault.kind == "error":
                raise fault.refused(self._access)
            if fault and fault.kind == "lose-request":
                return self._noted(Answer(0, lost=True))
            self._user = self._cluster.accounts.known(self._call.headers.get("authorization", ""))
            given = self._allowed(of) if of is not None else self._discovered() if served else NOWHERE
        except Refused as refused:
            given = Answer(refused.code, refused.body())
        return self._noted(_spoilt(given, fault))

    def _noted(self, given: Answer) -> Answer:
        access, cluster = self._access, self._cluster
        options = self._call.document() if access.verb in ("delete", "deletecollection") and given.code < 300 else {}
        where = access.namespace, access.name
        cluster.note(
            Heard(cluster.clock.now(), self._user.name, access.verb, access.resource, *where, given.code, options)
        )
        return given

    def _discovered(self) -> Answer:
        served, parts = self._cluster.served, [part for part in self._call.path.split("/") if part]
        away = self._cluster.settings.unavailable
        if parts[:1] == ["apis"] and len(parts) == 3 and parts[1] in away:
            raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        found: Obj | None = {
            "version": discovery.VERSION,
            "api": discovery.versions(self._call.headers.get("host", "")),
            "apis": discovery.groups(served),
        }.get("/".join(parts))
        if found is None and parts[:1] == ["api"] and len(parts) == 2:
            found = discovery.resources(served, "", parts[1])
        elif found is None and parts[:1] == ["apis"]:
            found = (
                discovery.resources(served, parts[1], parts[2])
                if len(parts) == 3
                else discovery.group(served, parts[1])
            )
        elif found is None and parts[:1] == [openapi.ROOT]:
            found = openapi.described(served, parts)
        return Answer(200, found) if found else NOWHERE

    def _allowed(self, of: Target) -> Answer:
        if of.group in self._cluster.settings.unavailable:
            raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        self._cluster.rights.check(self._user, self._access)
        if of.kind is None:
            return Answer(201, reviewed(self._cluster, self._user, of, self._call.document()))
        if of.sub in {LOG, *CONNECTING}:
            return self._inside(of)
        acts = {
            "get": self._get, "list": self._list, "watch": self._watch, "create": self._create, "update": self._update,
            "patch": self._patch, "delete": self._delete, "deletecollection": self._delete_all,
        }  # fmt: skip
        return acts[self._access.verb](of, of.kind)

    def _inside(self, of: Target) -> Answer:
        """The log of a pod, or a way into it, which takes the right to create one also where it is asked for by GET."""
        store, now = self._cluster.store, self._cluster.clock.now
        if of.sub == LOG:
            found = log(store, now(), of, self._call)
            if isinstance(found, Following):
                return Answer(200, following=found)
            return Answer(200 if found else 204, text=found)
        self._cluster.rights.check(self._user, of.access("create"))
        return Answer(101, entering=entering(store, now, of, self._call))

    def _get(self, of: Target, kind: Kind) -> Answer:
        obj = self._cluster.registry.get(kind, of.namespace, of.name)
        if of.sub == "scale":
            return Answer(200, _scale(kind, obj))
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        return Answer(200, self._as_table(kind, [obj], version) if self._carry() else obj)

    def _list(self, of: Target, kind: Kind) -> Answer:
        listed = listing(self._cluster.store, of, self._call)
        return Answer(200, self._as_table(kind, listed["items"], listed["metadata"]) if self._carry() else listed)

    def _as_table(self, kind: Kind, objects: list[Obj], metadata: Obj) -> Obj:
        return tables.tabled(kind, objects, metadata, self._cluster.clock.now(), self._carry())

    def _carry(self) -> str:
        """What each row carries of its object, where a table is asked for."""
        return tables.carried(self._call.query) if tables.is_wanted(self._call.headers.get("accept", "")) else ""

    def _watch(self, of: Target, kind: Kind) -> Answer:
        store, query = self._cluster.store, self._call.query
        since = query.get("resourceVersion") or ""
        begin = int(since) if since.isdigit() and since != "0" else store.version
        seconds = float(query.get("timeoutSeconds") or 3600)
        wanted = chosen(of, self._call)
        return Answer(200, watching=Watching(kind, of.namespace, begin, wanted, seconds, self._carry()))

    def _create(self, of: Target, kind: Kind) -> Answer:
        document = self._call.document()
        if of.sub == "token":
            account = self._cluster.registry.get(kind, of.namespace, of.name)
            return Answer(201, self._cluster.accounts.request(kind, account, document))
        self._cluster.rights.check_grant(self._user, kind, _placed(document, of.namespace))
        return Answer(201, self._cluster.registry.create(kind, of.namespace, document, self._request(of)))

    def _update(self, of: Target, kind: Kind) -> Answer:
        document = self._call.document()
        if of.sub == "scale":
            return self._scaled(of, kind, document)
        self._cluster.rights.check_grant(self._user, kind, _placed(document, of.namespace))
        return Answer(200, self._cluster.registry.replace(kind, of.namespace, of.name, document, self._request(of)))

    def _patch(self, of: Target, kind: Kind) -> Answer:
        call, registry = self._call, self._cluster.registry
        if call.content_type == _APPLY:
            if not call.query.get("fieldManager"):
                raise errors.invalid(_OPTIONS, "", [errors.missing("fieldManager", "is required for apply patch")])
            wish = call.document()
            if not wish.get("apiVersion") or not wish.get("kind"):
                what = f"{wish.get('apiVersion') or '/'}, Kind={wish.get('kind') or ''}"
                raise errors.bad_request(f"invalid object type: {what}")
            exists = self._cluster.store.get(kind, of.namespace, of.name) is not None
            if not exists:
                self._cluster.rights.check(self._user, of.access("create"))
            self._cluster.rights.check_grant(self._user, kind, _placed(wish, of.namespace))
            obj, new = registry.apply(
                kind, of.namespace, of.name, wish, self._request(of, APPLY), force=call.flag("force")
            )
            return Answer(201 if new else 200, obj)
        if call.content_type not in (MERGE, OPERATIONS, STRATEGIC):
            raise errors.unknown_format()
        if of.sub == "scale":
            return self._scaled(of, kind, call.document())
        change = call.json()
        return Answer(200, registry.patch(kind, of.namespace, of.name, change, self._request(of), call.content_type))

    def _scaled(self, of: Target, kind: Kind, document: Obj) -> Answer:
        change = {"spec": {"replicas": (document.get("spec") or {}).get("replicas", 0)}}
        obj = self._cluster.registry.patch(kind, of.namespace, of.name, change, self._request(of))
        return Answer(200, _scale(kind, obj))

    def _delete(self, of: Target, kind: Kind) -> Answer:
        options = self._options()
        self._cluster.registry.get(kind, of.namespace, of.name)
        self._cluster.admission.deleting(kind, of.name)
        obj = self._cluster.registry.delete(kind, of.namespace, of.name, options, dry=self._is_dry())
        if "deletionTimestamp" in obj["metadata"] or kind.kind in _RETURNED:
            return Answer(200, obj)
        details = {"name": of.name, "group": of.group, "kind": of.plural, "uid": obj["metadata"]["uid"]}
        details = {key: value for key, value in details.items() if value}
        return Answer(
            200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        )

    def _delete_all(self, of: Target, kind: Kind) -> Answer:
        wanted = chosen(of, self._call)
        found = [obj for obj in self._cluster.store.all(kind, of.namespace) if wanted(obj)]
        for obj in found:
            meta = obj["metadata"]
            self._cluster.registry.delete(kind, meta.get("namespace", ""), meta["name"], self._options())
        return Answer(200, {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": {}, "items": found})

    def _options(self) -> Obj:
        query = self._call.query
        given = {name: query[name] for name in ("propagationPolicy",) if name in query}
        if "gracePeriodSeconds" in query:
            given["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])  # type: ignore[assignment]
        return {**given, **self._call.document()}

    def _is_dry(self) -> bool:
        return self._call.query.get("dryRun") == "All"

    def _request(self, of: Target, operation: str = UPDATE) -> Request:
        agent = self._call.headers.get("user-agent", "unknown").partition("/")[0]
        manager = self._call.query.get("fieldManager") or agent
        writer = Writer(manager, operation, of.sub if of.sub in ("status", "finalize") else "")
        return Request(self._user, writer, self._is_dry(), self._call.query.get("fieldValidation") == "Strict")


_OPTIONS = Kind("PatchOptions", "patchoptions", "meta.k8s.io")


def _placed(document: Obj, namespace: str) -> Obj:
    return document | {"metadata": (document.get("metadata") or {}) | {"namespace": namespace}}


def _scale(kind: Kind, obj: Obj) -> Obj:
    meta = {key: obj["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    replicas = obj.get("status", {}).get("replicas", 0)
    spec = {"replicas": obj["spec"]["replicas"]} if obj["spec"].get("replicas") else {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": meta,
        "spec": spec,
        "status": {"replicas": replicas},
    }


def _spoilt(given: Answer, fault: Fault | None) -> Answer:
    if fault is None:
        return given
    delay = fault.seconds if fault.kind == "slow" else 0.0
    return replace(given, delay=delay, lost=fault.kind == "lose-answer")
