"""Something to run in a namespace, for those who have no kubectl at hand."""

from __future__ import annotations

from typing import Any

from lessor.catalog import load_catalogue
from lessor.sandbox.kubernetes.cluster import SimulatedCluster
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.metadata import generated
from lessor.sandbox.kubernetes.quantities import amount

Obj = dict[str, Any]
_PREFIX, _MODEL = "requests.", "lessor.dev/model"
_PRODUCTS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")


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
    nodes = _nodes(cluster, namespace)
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec | ({"nodeSelector": nodes} if nodes else {})}
    made = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": made}


def _resource(cluster: SimulatedCluster, namespace: str) -> str:
    """What the quota allows at all; without one, whole NVIDIA GPUs."""
    for quota in cluster.objects("ResourceQuota", namespace):
        for name, hard in (quota["spec"].get("hard") or {}).items():
            if name.startswith(_PREFIX) and "/" in name and amount(hard):
                return str(name.removeprefix(_PREFIX))
    return "nvidia.com/gpu"


def _nodes(cluster: SimulatedCluster, namespace: str) -> dict[str, str]:
    """The label of nodes with the model that the namespace was leased for; nothing where none has it."""
    found = cluster.registry.get(kind("Namespace"), "", namespace)
    model = (found["metadata"].get("annotations") or {}).get(_MODEL)
    for node in cluster.objects("Node"):
        labels = node["metadata"]["labels"]
        for label in _PRODUCTS:
            memory = int(labels.get("nvidia.com/gpu.memory", "0"))
            if label in labels and load_catalogue().reported(labels[label], memory).name == model:
                return {label: labels[label]}
    return {}
