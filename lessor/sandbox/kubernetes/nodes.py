"""GPU nodes as device plugins and feature discovery label them, and classes of disks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lessor.sandbox.kubernetes.discovery import VERSION

Obj = dict[str, Any]


@dataclass(frozen=True)
class NodeShape:
    """One node: what it has, and what its labels say."""

    name: str
    gpus: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taint: str = ""
    cpu: int = 128
    memory_gib: int = 1024


def nvidia(name: str, product: str, memory_mib: int, count: int = 8, **more: str) -> NodeShape:
    """A node with whole NVIDIA GPUs."""
    return NodeShape(name, {"nvidia.com/gpu": count}, _labels(product, memory_mib, count) | more, "nvidia.com/gpu")


def sliced(name: str, product: str, memory_mib: int, slices: Mapping[str, int], count: int = 2) -> NodeShape:
    """A node whose GPUs are all cut into slices of several kinds (`1g.10gb`: how many on the node)."""
    gpus = {f"nvidia.com/mig-{profile}": number for profile, number in slices.items()}
    labels = _labels(product, memory_mib, count) | {
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "mixed",
    }
    labels |= {f"nvidia.com/mig-{profile}.count": str(number) for profile, number in slices.items()}
    return NodeShape(name, gpus | {"nvidia.com/gpu": 0}, labels, "nvidia.com/gpu")


def amd(name: str, product: str, vram: str, count: int = 8) -> NodeShape:
    labels = {"amd.com/gpu.product-name": product, "amd.com/gpu.vram": vram, "amd.com/gpu.family": "AI"}
    return NodeShape(name, {"amd.com/gpu": count}, labels, "amd.com/gpu")


def lab() -> tuple[NodeShape, ...]:
    """The nodes of the sandbox's cluster `lab`."""
    return (
        nvidia("gpu-a100-1", "NVIDIA-A100-SXM4-80GB", 81_920),
        nvidia("gpu-a100-2", "NVIDIA-A100-SXM4-80GB", 81_920),
        nvidia("gpu-h100-1", "NVIDIA-H100-80GB-HBM3", 81_559),
        sliced("gpu-mig-1", "NVIDIA-A100-SXM4-80GB", 81_920, {"1g.10gb": 8, "3g.40gb": 2}),
        amd("gpu-amd-1", "AMD_Instinct_MI300X_OAM", "192G"),
        NodeShape("cpu-1", cpu=32, memory_gib=128),
    )


STORAGE_CLASSES = (
    ("standard", "Delete", True),
    ("keep", "Retain", False),
)


def node(shape: NodeShape) -> Obj:
    """The Node object of a shape, without its status."""
    taints = [{"key": shape.taint, "value": "present", "effect": "NoSchedule"}] if shape.taint else []
    labels = {"kubernetes.io/hostname": shape.name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": shape.name, "labels": labels | dict(shape.labels)}, "spec": spec}


def node_status(shape: NodeShape, now: str) -> Obj:
    have = {"cpu": str(shape.cpu), "memory": f"{shape.memory_gib}Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    have |= {name: str(count) for name, count in shape.gpus.items()}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now}
    info = {"kubeletVersion": VERSION["gitVersion"], "osImage": "simulated", "architecture": "amd64"}
    return {"capacity": have, "allocatable": dict(have), "conditions": [ready], "nodeInfo": info}


def storage_class(name: str, reclaim: str, default: bool) -> Obj:
    told = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "metadata": {"name": name, "annotations": told},
        "provisioner": "disks.sandbox.lessor.dev",
        "reclaimPolicy": reclaim,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _labels(product: str, memory_mib: int, count: int) -> dict[str, str]:
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.memory": str(memory_mib),
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/mig.capable": "false",
        "nvidia.com/mig.strategy": "single",
    }
