"""Claims get volumes, and volumes whose claim is gone are deleted or kept, as their class says."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import kind

Obj = dict[str, Any]
CLAIM, VOLUME, POD, CLASS = (
    kind(name) for name in ("PersistentVolumeClaim", "PersistentVolume", "Pod", "StorageClass")
)
_PVC, _PV = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"


def run(world: World) -> None:
    for claim in world.store.all(CLAIM):
        if "deletionTimestamp" in claim["metadata"]:
            _let_go(world, claim)
        elif not claim["spec"].get("volumeName"):
            _provide(world, claim)
    for volume in world.store.all(VOLUME):
        _follow(world, volume)


def used_by(world: World, claim: Obj) -> list[Obj]:
    """Pods that have it mounted."""
    name = claim["metadata"]["name"]
    return [
        pod
        for pod in world.store.all(POD, claim["metadata"]["namespace"])
        if name in claims_of(pod) and not pods.finished(pod)
    ]


def claims_of(pod: Obj) -> set[str]:
    """Names of the claims that a pod mounts."""
    volumes = pod["spec"].get("volumes") or []
    return {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one}


def _let_go(world: World, claim: Obj) -> None:
    if _PVC in (claim["metadata"].get("finalizers") or []) and not used_by(world, claim):
        world.registry.change(CLAIM, claim, lambda one: one["metadata"]["finalizers"].remove(_PVC))


def _provide(world: World, claim: Obj) -> None:
    """A disk for the claim: at once, or once a pod that wants it has got a node, as its class says."""
    class_ = world.store.get(CLASS, "", claim["spec"].get("storageClassName") or "")
    if class_ is None:
        return
    waits = class_.get("volumeBindingMode") == "WaitForFirstConsumer"
    if waits and not any(pod["spec"].get("nodeName") for pod in used_by(world, claim)):
        return
    meta, size = claim["metadata"], claim["spec"]["resources"]["requests"]["storage"]
    name = f"pvc-{meta['uid']}"
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta["namespace"]}
    reference |= {"name": meta["name"], "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": claim["spec"]["accessModes"],
        "storageClassName": class_["metadata"]["name"],
        "persistentVolumeReclaimPolicy": class_["reclaimPolicy"],
        "csi": {"driver": class_["provisioner"], "volumeHandle": f"vol-{meta['uid'][:8]}"},
        "claimRef": reference,
    }
    made = {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": class_["provisioner"]}}
    world.make(VOLUME, "", {"metadata": made, "spec": spec}, "csi-provisioner")
    world.registry.change(CLAIM, claim, lambda one: one["spec"].update(volumeName=name))
    bound = {"phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": {"storage": size}}
    world.registry.change(CLAIM, claim, lambda one: one.update(status=bound), sub="status")


def _follow(world: World, volume: Obj) -> None:
    reference = volume["spec"].get("claimRef")
    claim = world.store.get(CLAIM, reference["namespace"], reference["name"]) if reference else None
    if claim and claim["metadata"]["uid"] == reference.get("uid"):
        world.status(VOLUME, volume, volume.get("status", {}) | {"phase": "Bound"})
        return
    if reference is None or "uid" not in reference:
        world.status(VOLUME, volume, volume.get("status", {}) | {"phase": "Available"})
    elif world.settings.disks_stuck:
        told = "rpc error: code = Internal desc = the volume is still attached"
        world.status(VOLUME, volume, {"phase": "Failed", "reason": "VolumeFailedDelete", "message": told})
    else:
        world.status(VOLUME, volume, {"phase": "Released"})
        goes = volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        if goes and "deletionTimestamp" not in volume["metadata"]:
            world.remove(VOLUME, volume)
    now = world.store.get(VOLUME, "", volume["metadata"]["name"])
    if now and "deletionTimestamp" in now["metadata"] and _PV in (now["metadata"].get("finalizers") or []):
        world.registry.change(VOLUME, now, lambda one: one["metadata"]["finalizers"].remove(_PV))
