"""Deployments, replica sets and daemon sets: as many pods as are wanted."""

from __future__ import annotations

import copy
import hashlib
import json
from datetime import timedelta
from functools import partial
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.world import World, reference
from lessor.sandbox.kubernetes.kinds import Kind, kind

Obj = dict[str, Any]
POD, NODE = kind("Pod"), kind("Node")
DEPLOYMENT, REPLICA_SET, DAEMON_SET = kind("Deployment"), kind("ReplicaSet"), kind("DaemonSet")
_HASH = "pod-template-hash"
_AGAIN = timedelta(seconds=1)


def run(world: World) -> None:
    for deployment in world.store.all(DEPLOYMENT):
        if "deletionTimestamp" not in deployment["metadata"]:
            _roll(world, deployment)
    for one in world.store.all(REPLICA_SET):
        if "deletionTimestamp" not in one["metadata"]:
            _fill(world, one)
    for one in world.store.all(DAEMON_SET):
        if "deletionTimestamp" not in one["metadata"]:
            _everywhere(world, one)


def template_hash(template: Obj) -> str:
    text = json.dumps(template, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def pod_from(of: Kind, owner: Obj, template: Obj, name: str = "", labels: dict[str, str] | None = None) -> Obj:
    """A new pod of an owner; without a name it gets one of its own."""
    meta = copy.deepcopy(template.get("metadata") or {})
    meta = {key: value for key, value in meta.items() if key in ("labels", "annotations", "finalizers")}
    meta["labels"] = (meta.get("labels") or {}) | (labels or {})
    meta["ownerReferences"] = [reference(of, owner)]
    meta |= {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    return {"metadata": meta, "spec": copy.deepcopy(template["spec"])}


def active(found: list[Obj]) -> list[Obj]:
    return [one for one in found if not pods.finished(one) and "deletionTimestamp" not in one["metadata"]]


def make_pod(world: World, of: Kind, owner: Obj, pod: Obj) -> Obj | None:
    """Create a pod for its owner, or tell the owner why not; what was refused is tried again only after a while."""
    uid, now = owner["metadata"]["uid"], world.clock.now()
    if now < world.seen.get((uid, "refused"), now):
        return None
    made = world.make(POD, owner["metadata"]["namespace"], pod)
    if made is None and world.refusal and world.refusal.code != 409:
        world.seen[uid, "refused"] = now + _AGAIN
        world.tell(of, owner, "FailedCreate", f"Error creating: {world.refusal.message}")
    return made


def _roll(world: World, deployment: Obj) -> None:
    spec, meta = deployment["spec"], deployment["metadata"]
    mark = template_hash(spec["template"])
    sets = world.dependents(REPLICA_SET, deployment)
    current = next((one for one in sets if one["metadata"]["labels"].get(_HASH) == mark), None)
    if current is None:
        current = _new_set(world, deployment, mark)
    for one in sets:
        wanted = spec["replicas"] if current and one["metadata"]["uid"] == current["metadata"]["uid"] else 0
        if one["spec"]["replicas"] != wanted:
            world.registry.change(REPLICA_SET, one, partial(_sized, wanted))
    status = copy.deepcopy(deployment.get("status", {}))
    states = [one.get("status", {}) for one in sets]
    for name in ("replicas", "readyReplicas", "availableReplicas"):
        status = _counted(status, name, sum(one.get(name, 0) for one in states))
    status = _counted(status, "updatedReplicas", (current or {}).get("status", {}).get("replicas", 0))
    status["observedGeneration"] = meta["generation"]
    enough = status.get("availableReplicas", 0) >= spec["replicas"]
    reason = "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"
    pods.conditioned(status, "Available", "True" if enough else "False", world.clock.stamp(), reason)
    failed = [one for state in states for one in state.get("conditions") or [] if one["type"] == "ReplicaFailure"]
    status["conditions"] = [one for one in status["conditions"] if one["type"] != "ReplicaFailure"] + failed[:1]
    world.status(DEPLOYMENT, deployment, status)


def _new_set(world: World, deployment: Obj, mark: str) -> Obj | None:
    spec, meta = deployment["spec"], deployment["metadata"]
    template = copy.deepcopy(spec["template"])
    template["metadata"]["labels"] = (template["metadata"].get("labels") or {}) | {_HASH: mark}
    selector = copy.deepcopy(spec["selector"])
    selector["matchLabels"] = (selector.get("matchLabels") or {}) | {_HASH: mark}
    made = {
        "metadata": {
            "name": f"{meta['name']}-{mark}",
            "labels": dict(template["metadata"]["labels"]),
            "ownerReferences": [reference(DEPLOYMENT, deployment)],
        },
        "spec": {"replicas": spec["replicas"], "selector": selector, "template": template},
    }
    return world.make(REPLICA_SET, meta["namespace"], made)


def _fill(world: World, owner: Obj) -> None:
    """As many pods as wanted: the newest go first."""
    wanted, found = owner["spec"]["replicas"], world.dependents(POD, owner)
    alive = active(found)
    status = copy.deepcopy(owner.get("status", {}))
    world.refusal = None
    for _ in range(wanted - len(alive)):
        if make_pod(world, REPLICA_SET, owner, pod_from(REPLICA_SET, owner, owner["spec"]["template"])) is None:
            break
    surplus = sorted(alive, key=lambda one: (pods.ready(one), one["metadata"]["name"]))
    for one in surplus[: max(len(alive) - wanted, 0)]:
        world.remove(POD, one)
    alive = active(world.dependents(POD, owner))
    status["replicas"] = len(alive)
    for name in ("readyReplicas", "availableReplicas"):
        status = _counted(status, name, sum(pods.ready(one) for one in alive))
    status["observedGeneration"] = owner["metadata"]["generation"]
    if len(alive) >= wanted:
        status.pop("conditions", None)
    elif world.refusal:
        now, why = world.clock.stamp(), world.refusal.message
        pods.conditioned(status, "ReplicaFailure", "True", now, "FailedCreate", why)
    world.status(REPLICA_SET, owner, status)


def _everywhere(world: World, owner: Obj) -> None:
    nodes = [one for one in world.store.all(NODE) if not one["spec"].get("unschedulable")]
    selector = owner["spec"]["template"]["spec"].get("nodeSelector") or {}
    nodes = [one for one in nodes if selector.items() <= (one["metadata"].get("labels") or {}).items()]
    found = {one["spec"].get("nodeName"): one for one in active(world.dependents(POD, owner))}
    for node in nodes:
        name = node["metadata"]["name"]
        if name not in found:
            pod = pod_from(DAEMON_SET, owner, owner["spec"]["template"])
            pod["spec"]["nodeName"] = name
            make_pod(world, DAEMON_SET, owner, pod)
    for name, pod in found.items():
        if name not in {one["metadata"]["name"] for one in nodes}:
            world.remove(POD, pod)
    ready = sum(pods.ready(one) for one in found.values())
    counts = {"currentNumberScheduled": len(found), "desiredNumberScheduled": len(nodes), "numberReady": ready}
    generation = owner["metadata"]["generation"]
    world.status(DAEMON_SET, owner, counts | {"numberMisscheduled": 0, "observedGeneration": generation})


def _sized(wanted: int, owner: Obj) -> None:
    owner["spec"]["replicas"] = wanted


def _counted(status: Obj, name: str, count: int) -> Obj:
    """Zeros are left out, as the server leaves them out."""
    rest = {key: value for key, value in status.items() if key != name}
    return rest | ({name: count} if count else {})
