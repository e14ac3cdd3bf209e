"""What stands between a permitted write and the store: namespaces, quotas, limits, accounts, classes of disks."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes import defaults, queues, quotas, security
from lessor.sandbox.kubernetes.errors import forbidden, not_found
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.quantities import amount
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
_IMMORTAL = {"default", "kube-system", "kube-public"}


class Admitting:
    """The admission plug-ins that a server has switched on as shipped, as far as leases meet them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def creating(self, what: Kind, obj: Obj, *, dry: bool) -> None:
        """Complete a new object, or refuse it; what it takes of quotas is noted at once."""
        if what.namespaced:
            self._namespace_lives(what, obj)
            queues.enqueue(self._store, what, obj)
        if what.kind == "Pod":
            self._with_account(what, obj)
            security.admit(self._namespace(obj), what, obj)
            self._with_limits(what, obj)
            self._with_tolerations(obj)
        if what.kind == "PersistentVolumeClaim":
            self._with_class(obj)
        quotas.admit(self._store, what, obj)
        if not dry and what.namespaced:
            quotas.charge(self._store, what, obj)

    def changing(self, what: Kind, before: Obj, after: Obj) -> None:
        """Refuse a change that only a new object could bring."""
        if what.kind == "PersistentVolumeClaim" and before["spec"].get("storageClassName"):
            after["spec"].setdefault("storageClassName", before["spec"]["storageClassName"])

    def deleting(self, what: Kind, name: str) -> None:
        """Some namespaces cannot go."""
        if what.kind == "Namespace" and name in _IMMORTAL:
            raise forbidden(what, name, "this namespace may not be deleted")

    def _namespace(self, obj: Obj) -> Obj:
        return self._store.get(kind("Namespace"), "", obj["metadata"]["namespace"]) or {"metadata": {}}

    def _namespace_lives(self, what: Kind, obj: Obj) -> None:
        name = obj["metadata"]["namespace"]
        namespace = self._store.get(kind("Namespace"), "", name)
        if namespace is None:
            raise not_found(kind("Namespace"), name)
        if "deletionTimestamp" in namespace["metadata"]:
            why = f"unable to create new content in namespace {name} because it is being terminated"
            refused = forbidden(what, obj["metadata"].get("name", ""), why)
            text = f"namespace {name} is being terminated"
            refused.details["causes"] = [
                {"reason": "NamespaceTerminating", "message": text, "field": "metadata.namespace"}
            ]
            raise refused

    def _with_account(self, what: Kind, pod: Obj) -> None:
        spec = pod["spec"]
        name = spec.setdefault("serviceAccountName", "default") or "default"
        spec.setdefault("serviceAccount", name)
        namespace = pod["metadata"]["namespace"]
        account = self._store.get(kind("ServiceAccount"), namespace, name)
        if account is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden(what, pod["metadata"].get("name", ""), why)
        if spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True)):
            volume = "kube-api-access"
            sources = {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}]}
            spec.setdefault("volumes", []).append({"name": volume, "projected": sources | {"defaultMode": 420}})
            mount = {"name": volume, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
            for one in spec.get("containers") or []:
                one.setdefault("volumeMounts", []).append(dict(mount))

    def _with_limits(self, what: Kind, pod: Obj) -> None:
        for limits in self._store.all(kind("LimitRange"), pod["metadata"]["namespace"]):
            for rule in (limits.get("spec") or {}).get("limits") or []:
                if rule.get("type") == "Container":
                    for one in pod["spec"].get("containers") or []:
                        _limited(what, pod, one, rule)
        defaults.requests(pod["spec"])

    def _with_tolerations(self, pod: Obj) -> None:
        has = pod["spec"].setdefault("tolerations", [])
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
            if not any(one.get("key") == key for one in has):
                has.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})

    def _with_class(self, claim: Obj) -> None:
        if claim["spec"].get("storageClassName") is not None:
            return
        mark = "storageclass.kubernetes.io/is-default-class"
        for one in self._store.all(kind("StorageClass")):
            if (one["metadata"].get("annotations") or {}).get(mark) == "true":
                claim["spec"]["storageClassName"] = one["metadata"]["name"]


def _limited(what: Kind, pod: Obj, container: Obj, rule: Obj) -> None:
    resources = container.setdefault("resources", {})
    said = set(resources.get("limits") or {}) | set(resources.get("requests") or {})
    for word, defaults_of in (("limits", "default"), ("requests", "defaultRequest")):
        for name, value in (rule.get(defaults_of) or {}).items():
            if word == "requests" and name in (resources.get("limits") or {}) and name in said:
                continue
            resources.setdefault(word, {}).setdefault(name, value)
    name = pod["metadata"].get("name", "")
    for resource, most in (rule.get("max") or {}).items():
        limit = (resources.get("limits") or {}).get(resource)
        if limit is None or amount(limit) > amount(most):
            text = f"but limit is {limit}" if limit is not None else "but no limit is specified"
            raise forbidden(what, name, f"maximum {resource} usage per Container is {most}, {text}")
    for resource, least in (rule.get("min") or {}).items():
        request = (resources.get("requests") or {}).get(resource)
        if request is None or amount(request) < amount(least):
            text = f"but request is {request}" if request is not None else "but no request is specified"
            raise forbidden(what, name, f"minimum {resource} usage per Container is {least}, {text}")
