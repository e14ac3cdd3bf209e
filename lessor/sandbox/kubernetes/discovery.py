"""How clients find out what the cluster serves."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes.kinds import OBJECT_VERBS, Kind, Served

Obj = dict[str, Any]
VERSION = {"major": "1", "minor": "37", "gitVersion": "v1.37.0+sandbox", "platform": "linux/amd64"}
_ALL = {"Pod", "Service", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"}
"""What `kubectl get all` shows."""


def versions(address: str) -> Obj:
    """`/api`"""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(served: Served) -> Obj:
    """`/apis`"""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*one) for one in served.groups().items()]}


def group(served: Served, name: str) -> Obj | None:
    """`/apis/GROUP`"""
    found = served.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, found)} if found else None


def resources(served: Served, name: str, version: str) -> Obj | None:
    """`/api/v1` and `/apis/GROUP/VERSION`"""
    kinds = [one for one in served if (one.group, one.version) == (name, version)]
    reviews = {
        "authorization.k8s.io": ("SelfSubjectAccessReview", "SelfSubjectRulesReview"),
        "authentication.k8s.io": ("SelfSubjectReview",),
    }
    listed = [line for one in kinds for line in _lines(one)]
    listed += [_line(f"{one.lower()}s", one, False, ["create"]) for one in reviews.get(name, ())]
    if not listed:
        return None
    shown = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": shown, "resources": listed}


def _group(name: str, found: list[str]) -> Obj:
    listed = [{"groupVersion": f"{name}/{one}", "version": one} for one in found]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _lines(kind: Kind) -> list[Obj]:
    lines = [_line(kind.plural, kind.kind, kind.namespaced, list(OBJECT_VERBS)) | {"singularName": kind.singular}]
    if kind.short:
        lines[0]["shortNames"] = list(kind.short)
    if kind.kind in _ALL:
        lines[0]["categories"] = ["all"]
    if kind.status:
        lines.append(_line(f"{kind.plural}/status", kind.kind, kind.namespaced, ["get", "patch", "update"]))
    if kind.scalable:
        scale = _line(f"{kind.plural}/scale", "Scale", True, ["get", "patch", "update"])
        lines.append(scale | {"group": "autoscaling", "version": "v1"})
    if kind.kind == "ServiceAccount":
        token = _line("serviceaccounts/token", "TokenRequest", True, ["create"])
        lines.append(token | {"group": "authentication.k8s.io", "version": "v1"})
    if kind.kind == "Pod":
        lines.append(_line("pods/log", "Pod", True, ["get"]))
        lines.append(_line("pods/exec", "PodExecOptions", True, ["create", "get"]))
        lines.append(_line("pods/portforward", "PodPortForwardOptions", True, ["create", "get"]))
    return lines


def _line(name: str, kind: str, namespaced: bool, verbs: list[str]) -> Obj:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}
