"""Something to run in a namespace, for those who have no kubectl at hand."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.metadata import generated

Obj = dict[str, Any]
_PREFIX = "requests."


def workload(cluster: SimulatedCluster, namespace: str, count: int) -> Obj:
    """A Deployment with one pod that asks for `count` GPUs, of the kind that the namespace's quota names."""
    name, resource = generated("train-"), _resource(cluster, namespace)
    limits = {"cpu": "2", "memory": "8Gi"} | ({resource: str(count)} if count else {})
    secure = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    main = {
        "name": "train",
        "image": "registry.example.com/train:1",
        "resources": {"limits": limits},
        "securityContext": secure,
    }
    profile = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {
        "containers": [main],
        "securityContext": profile,
        "automountServiceAccountToken": False,
        "tolerations": [{"key": resource, "operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    made = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": made}


def _resource(cluster: SimulatedCluster, namespace: str) -> str:
    for quota in cluster.objects("ResourceQuota", namespace):
        for name in quota["spec"].get("hard") or {}:
            if name.startswith(_PREFIX) and "/" in name:
                return str(name.removeprefix(_PREFIX))
    return "nvidia.com/gpu"
