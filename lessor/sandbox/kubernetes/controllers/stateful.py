"""Stateful sets: pods with names and disks of their own, one after another."""

from __future__ import annotations

import copy
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.replicas import make_pod, pod_from, template_hash
from lessor.sandbox.kubernetes.controllers.volumes import CLAIM
from lessor.sandbox.kubernetes.controllers.world import World, reference
from lessor.sandbox.kubernetes.kinds import kind

Obj = dict[str, Any]
POD, STATEFUL_SET = kind("Pod"), kind("StatefulSet")
_REVISION = "controller-revision-hash"


def run(world: World) -> None:
    for owner in world.store.all(STATEFUL_SET):
        if "deletionTimestamp" not in owner["metadata"]:
            _step(world, owner)
            _tell(world, owner)


def _step(world: World, owner: Obj) -> None:
    """At most one pod more or less, unless all may come at once."""
    meta, spec = owner["metadata"], owner["spec"]
    found = {one["metadata"]["name"]: one for one in world.dependents(POD, owner)}
    one_by_one = spec["podManagementPolicy"] == "OrderedReady"
    revision = template_hash(spec["template"])
    surplus = [one for name, one in found.items() if _ordinal(name) >= spec["replicas"]]
    for one in sorted(surplus, key=lambda pod: -_ordinal(pod["metadata"]["name"])):
        if "deletionTimestamp" not in one["metadata"]:
            world.remove(POD, one)
        if one_by_one:
            return
    for number in range(spec["replicas"]):
        name = f"{meta['name']}-{number}"
        pod = found.get(name)
        if pod is None:
            _claims(world, owner, number)
            make_pod(world, STATEFUL_SET, owner, _pod(owner, number, revision))
        elif "deletionTimestamp" not in pod["metadata"] and (
            pods.finished(pod) or pod["metadata"]["labels"].get(_REVISION) != revision
        ):
            world.remove(POD, pod)
        if one_by_one and not (pod and pods.ready(pod) and "deletionTimestamp" not in pod["metadata"]):
            return


def _pod(owner: Obj, number: int, revision: str) -> Obj:
    name = f"{owner['metadata']['name']}-{number}"
    labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(number)}
    pod = pod_from(STATEFUL_SET, owner, owner["spec"]["template"], name, labels | {_REVISION: revision})
    pod["spec"]["hostname"] = name
    for claim in owner["spec"].get("volumeClaimTemplates") or []:
        title = claim["metadata"]["name"]
        volume = {"name": title, "persistentVolumeClaim": {"claimName": f"{title}-{name}"}}
        others = [one for one in pod["spec"].get("volumes") or [] if one["name"] != title]
        pod["spec"]["volumes"] = [*others, volume]
    return pod


def _claims(world: World, owner: Obj, number: int) -> None:
    meta = owner["metadata"]
    goes = owner["spec"]["persistentVolumeClaimRetentionPolicy"].get("whenDeleted") == "Delete"
    for template in owner["spec"].get("volumeClaimTemplates") or []:
        name = f"{template['metadata']['name']}-{meta['name']}-{number}"
        if world.store.get(CLAIM, meta["namespace"], name):
            continue
        told = {key: dict(template["metadata"].get(key) or {}) for key in ("labels", "annotations")}
        told["labels"] |= owner["spec"]["selector"].get("matchLabels") or {}
        references = {"ownerReferences": [reference(STATEFUL_SET, owner)]} if goes else {}
        claim = {"metadata": {"name": name, **told, **references}, "spec": copy.deepcopy(template["spec"])}
        world.make(CLAIM, meta["namespace"], claim)


def _tell(world: World, owner: Obj) -> None:
    found = world.dependents(POD, owner)
    ready = sum(pods.ready(one) for one in found)
    revision = f"{owner['metadata']['name']}-{template_hash(owner['spec']['template'])}"
    status = {"observedGeneration": owner["metadata"]["generation"], "replicas": len(found), "collisionCount": 0}
    status |= {"currentRevision": revision, "updateRevision": revision, "availableReplicas": ready}
    counts = {"readyReplicas": ready, "currentReplicas": len(found), "updatedReplicas": len(found)}
    status |= {name: count for name, count in counts.items() if count}
    world.status(STATEFUL_SET, owner, status)


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])
