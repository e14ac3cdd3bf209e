"""The roles that every cluster has: cluster-admin, admin, edit and view, for people, and what everybody may."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_CORE = ["configmaps", "persistentvolumeclaims", "pods", "services", "serviceaccounts"]
_WORK = {
    "": [*_CORE, "secrets", "pods/attach", "pods/exec", "pods/portforward"],
    "apps": ["daemonsets", "deployments", "deployments/scale", "replicasets", "replicasets/scale", "statefulsets",
             "statefulsets/scale"],
    "batch": ["cronjobs", "jobs"],
    "networking.k8s.io": ["networkpolicies"],
    "resource.k8s.io": ["resourceclaims", "resourceclaimtemplates"],
    "kueue.x-k8s.io": ["workloads", "localqueues"],
    "ray.io": ["rayclusters", "rayjobs"],
    "kubeflow.org": ["pytorchjobs", "notebooks"],
}  # fmt: skip
_SEEN = {**_WORK, "": [*_CORE, "events", "limitranges", "resourcequotas", "namespaces", "pods/log", "pods/status"]}


def shipped() -> list[Obj]:
    """Roles and bindings that are there from the beginning."""
    view = [_rule(group, resources, _READ) for group, resources in _SEEN.items()]
    edit = [*view, *(_rule(group, resources, [*_READ, *_WRITE]) for group, resources in _WORK.items())]
    admin = [*edit, _rule("rbac.authorization.k8s.io", ["roles", "rolebindings"], [*_READ, *_WRITE])]
    everything = [_rule("*", ["*"], ["*"]), {"nonResourceURLs": ["*"], "verbs": ["*"]}]
    rules = {"view": view, "edit": edit, "admin": admin, "cluster-admin": everything}
    return [{"kind": "ClusterRole", "metadata": {"name": name}, "rules": of} for name, of in rules.items()]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Obj:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
