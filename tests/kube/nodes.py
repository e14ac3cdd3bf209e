"""What a cluster without machines lacks: nodes with GPUs, kubelets that run what is scheduled on them, and disks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from kubernetes.client import ApiException

NODE_LABEL = "lessor.test/fake"
MARKED = f"{NODE_LABEL}=true"
STORAGE_CLASS = "lessor-test"
EVERY_SECONDS = 0.05
GPUS = "nvidia.com/gpu"
A100, H100 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3"


class Nodes:
    """Nodes that exist on paper, of one cluster: `core` is its `CoreV1Api`, which takes plain objects as well."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def add(self, name: str, product: str = A100, count: int = 4, resources: Mapping[str, int] | None = None) -> None:
        """A ready node with this many GPUs of a product, or with other resources; one of that name is replaced."""
        self._remove(name)
        labels = {NODE_LABEL: "true", "kubernetes.io/hostname": name, "nvidia.com/gpu.product": product}
        labels |= {"nvidia.com/gpu.count": str(count)}
        self._core.create_node({"metadata": {"name": name, "labels": labels}})
        held = {"cpu": "256", "memory": "2Ti", "pods": "110", "ephemeral-storage": "1Ti"}
        held |= {resource: str(n) for resource, n in (resources or {GPUS: count}).items()}
        status = {"capacity": held, "allocatable": held, "conditions": [_condition("Ready", "KubeletReady")]}
        self._core.patch_node_status(name, {"status": status})
        # Every new node is marked as not ready at once; the controller that takes it off does not run here.
        self._core.patch_node(name, {"spec": {"taints": None}})

    def cordon(self, *, off: bool = False) -> None:
        """Let nothing more be scheduled on any of them, or again."""
        for node in self._all():
            self._core.patch_node(node.metadata.name, {"spec": {"unschedulable": None if off else True}})

    def remove(self) -> None:
        """All of them."""
        self._remove("")

    def _remove(self, name: str) -> None:
        for node in self._all():
            if name in ("", node.metadata.name):
                self._core.delete_node(node.metadata.name)

    def _all(self) -> list[Any]:
        return list(self._core.list_node(label_selector=MARKED).items)


@contextmanager
def kubelets(core: Any, storage: Any) -> Iterator[None]:
    """Runs what is scheduled, ends what is deleted, and makes a disk for each claim, as long as the block lasts."""
    _storage_class(storage)
    ended = threading.Event()
    thread = threading.Thread(target=_turn, args=(core, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(10)


def until(true: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something holds in the cluster. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not after {seconds} s")
        time.sleep(EVERY_SECONDS)


def _turn(core: Any, ended: threading.Event) -> None:
    while not ended.wait(EVERY_SECONDS):
        try:
            # Pods on nodes that have a kubelet of their own are none of our business.
            nodes = {node.metadata.name for node in core.list_node(label_selector=MARKED).items}
            for pod in core.list_pod_for_all_namespaces().items:
                if pod.spec.node_name in nodes:
                    _run(core, pod)
            _disks(core)
        except ApiException as error:
            if error.status not in (404, 409):
                raise
        except KeyError:
            # The client looks for proxies in the environment, which pytest changes meanwhile; the next turn does it.
            continue


def _run(core: Any, pod: Any) -> None:
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        core.delete_namespaced_pod(meta.name, meta.namespace, grace_period_seconds=0)
    elif pod.status.phase == "Pending":
        now = datetime.now(UTC).isoformat()
        running = {"name": "", "ready": True, "restartCount": 0, "image": "", "imageID": ""}
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": [_condition(kind, "") for kind in ("Initialized", "Ready", "ContainersReady")],
            "containerStatuses": [
                {**running, "name": container.name, "image": container.image, "state": {"running": {"startedAt": now}}}
                for container in pod.spec.containers
            ],
        }
        core.patch_namespaced_pod_status(meta.name, meta.namespace, {"status": status})


def _disks(core: Any) -> None:
    volumes = {volume.metadata.name: volume for volume in core.list_persistent_volume().items}
    for claim in core.list_persistent_volume_claim_for_all_namespaces().items:
        name = f"pvc-{claim.metadata.uid}"
        ours = claim.spec.storage_class_name == STORAGE_CLASS
        if (
            ours
            and claim.status.phase == "Pending"
            and claim.metadata.deletion_timestamp is None
            and name not in volumes
        ):
            core.create_persistent_volume(_volume(name, claim))
    for volume in volumes.values():
        ours = volume.spec.storage_class_name == STORAGE_CLASS
        if ours and volume.status.phase == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
            core.delete_persistent_volume(volume.metadata.name)


def _volume(name: str, claim: Any) -> dict[str, Any]:
    meta = claim.metadata
    return {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "lessor.test/disks"}},
        "spec": {
            "capacity": {"storage": claim.spec.resources.requests["storage"]},
            "accessModes": claim.spec.access_modes,
            "storageClassName": STORAGE_CLASS,
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "namespace": meta.namespace,
                "name": meta.name,
                "uid": meta.uid,
            },
            "hostPath": {"path": f"/nowhere/{name}"},
        },
    }


def _storage_class(storage: Any) -> None:
    if STORAGE_CLASS not in {one.metadata.name for one in storage.list_storage_class().items}:
        storage.create_storage_class({"metadata": {"name": STORAGE_CLASS}, "provisioner": "lessor.test/disks"})


def _condition(kind: str, reason: str) -> dict[str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now, "lastHeartbeatTime": now}
