"""The cluster as its page shows it: nodes with their GPUs, namespaces with their quotas, pods, disks, requests."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.cluster import Heard, SimulatedCluster
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.quantities import amount
from lessor.sandbox.kubernetes.troubles import troubles

Obj = dict[str, Any]
HOLD = "sandbox.lessor.dev/hold"
"""The finalizer by which the page keeps a namespace from going, and the name of the object that has it."""

_LEASE, _TEAM = "lessor.dev/lease", "lessor.dev/team"
_SYSTEM = {"default", "kube-system", "kube-public", "lessor"}
_SHOWN = 60


def picture(cluster: SimulatedCluster) -> Obj:
    """Plain JSON."""
    with cluster.lock:
        return {
            "now": cluster.clock.now().astimezone(UTC).isoformat(timespec="seconds"),
            "nodes": [_node(cluster, one) for one in cluster.objects("Node")],
            "namespaces": [_namespace(cluster, one) for one in cluster.objects("Namespace") if not _is_system(one)],
            "pods": [pod(cluster, one) for one in cluster.objects("Pod")],
            "claims": [_claim(one) for one in cluster.objects("PersistentVolumeClaim")],
            "volumes": [_volume(one) for one in cluster.objects("PersistentVolume")],
            "heard": [_heard(one) for one in reversed(cluster.heard[-_SHOWN:])],
            "troubles": {name: one.is_on(cluster) for name, one in troubles().items()},
            "settings": cluster.settings.to_json(),
        }


def pod(cluster: SimulatedCluster, obj: Obj) -> Obj:
    """One pod, with the GPUs that it holds and the node that they are on."""
    meta, spec, status = obj["metadata"], obj["spec"], obj.get("status", {})
    devices = {name: int(value) for name, value in pods.requests(spec).items() if "/" in name and value}
    node = cluster.store.get(kind("Node"), "", spec.get("nodeName") or "") or {"metadata": {}}
    owner = pods.owner(obj) or {}
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "phase": "Terminating" if "deletionTimestamp" in meta else status.get("phase", ""),
        "running": status.get("phase") == "Running" and "deletionTimestamp" not in meta,
        "started": status.get("startTime", ""),
        "why": _why(status),
        "node": spec.get("nodeName", ""),
        "owner": f"{owner['kind']} {owner['name']}" if owner else "",
        "devices": devices,
        "labels": node["metadata"].get("labels") or {},
    }


def _why(status: Obj) -> str:
    """Why it does not run."""
    for one in status.get("conditions") or []:
        if one["type"] == "PodScheduled" and one["status"] == "False":
            return str(one.get("message", ""))
    for one in status.get("containerStatuses") or []:
        waiting = one["state"].get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating"):
            return f"{waiting['reason']}: {waiting.get('message', '')}"
    return ""


def _node(cluster: SimulatedCluster, obj: Obj) -> Obj:
    name, labels = obj["metadata"]["name"], obj["metadata"].get("labels") or {}
    have = {one: int(amount(value)) for one, value in obj["status"]["allocatable"].items() if "/" in one}
    used: Counter[str] = Counter()
    for one in cluster.objects("Pod"):
        if one["spec"].get("nodeName") == name and not pods.finished(one):
            used.update({of: int(value) for of, value in pods.requests(one["spec"]).items() if of in have})
    product = labels.get("nvidia.com/gpu.product") or labels.get("amd.com/gpu.product-name") or ""
    devices = [{"name": of, "total": total, "used": used[of]} for of, total in have.items() if total]
    return {
        "name": name,
        "product": product,
        "devices": devices,
        "ready": pods.condition(obj, "Ready") == "True",
        "cordoned": bool(obj["spec"].get("unschedulable")),
    }


def _namespace(cluster: SimulatedCluster, obj: Obj) -> Obj:
    meta = obj["metadata"]
    labels, told = meta.get("labels") or {}, meta.get("annotations") or {}
    name = meta["name"]
    quotas = cluster.objects("ResourceQuota", name)
    holding = cluster.store.get(kind("ConfigMap"), name, HOLD.partition("/")[2])
    return {
        "name": name,
        "phase": obj["status"]["phase"],
        "lease": labels.get(_LEASE, ""),
        "team": labels.get(_TEAM, ""),
        "told": {
            key.removeprefix("lessor.dev/"): value for key, value in told.items() if key.startswith("lessor.dev/")
        },
        "quotas": [line for one in quotas for line in _quota(one)],
        "conditions": [one["message"] for one in obj["status"].get("conditions") or [] if one["status"] == "True"],
        "held": holding is not None,
    }


def _quota(obj: Obj) -> list[Obj]:
    used = obj.get("status", {}).get("used") or {}
    return [{"name": name, "hard": hard, "used": used.get(name)} for name, hard in obj["spec"].get("hard", {}).items()]


def _claim(obj: Obj) -> Obj:
    size = obj["spec"]["resources"]["requests"]["storage"]
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else obj["status"]["phase"]
    return {"namespace": obj["metadata"]["namespace"], "name": obj["metadata"]["name"], "size": size, "phase": phase}


def _volume(obj: Obj) -> Obj:
    reference = obj["spec"].get("claimRef") or {}
    claim = f"{reference.get('namespace', '')}/{reference.get('name', '')}"
    size = obj["spec"]["capacity"]["storage"]
    return {"name": obj["metadata"]["name"], "claim": claim, "size": size, "phase": obj["status"]["phase"]}


def _heard(one: Heard) -> Obj:
    what = "/".join(filter(None, (one.namespace, one.resource, one.name)))
    who = one.user.rpartition(":")[2] if one.user.startswith("system:serviceaccount:lessor:") else one.user
    return {
        "at": one.at.isoformat(timespec="milliseconds"),
        "who": who,
        "verb": one.verb,
        "what": what,
        "code": one.code,
    }


def _is_system(obj: Obj) -> bool:
    return obj["metadata"]["name"] in _SYSTEM
