"""The operators of add-ons: Ray clusters, PyTorch jobs and notebooks have pods while nobody has stopped them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.replicas import active, make_pod, pod_from
from lessor.sandbox.kubernetes.controllers.stateful import STATEFUL_SET
from lessor.sandbox.kubernetes.controllers.world import World, reference
from lessor.sandbox.kubernetes.kinds import Kind, kind

Obj = dict[str, Any]
POD, RAY, PYTORCH, NOTEBOOK = (kind(name) for name in ("Pod", "RayCluster", "PyTorchJob", "Notebook"))
STOPPED = "kubeflow-resource-stopped"
Part = tuple[str, Obj, int]
"""A name, the template of its pods, and how many are wanted."""


def run(world: World) -> None:
    for what, parts, suspended in ((RAY, _of_ray, _ray_stopped), (PYTORCH, _of_pytorch, _pytorch_stopped)):
        if what.extension in world.served.extensions:
            for owner in world.store.all(what):
                if "deletionTimestamp" not in owner["metadata"]:
                    _keep(world, what, owner, [] if suspended(owner) else list(parts(owner)))
    if NOTEBOOK.extension in world.served.extensions:
        for owner in world.store.all(NOTEBOOK):
            if "deletionTimestamp" not in owner["metadata"]:
                _note(world, owner)


def _keep(world: World, what: Kind, owner: Obj, parts: list[Part]) -> None:
    """As many pods of each part as wanted, and none of any other."""
    name = owner["metadata"]["name"]
    wanted = {f"{name}-{part}-{number}": of for part, of, count in parts for number in range(count)}
    found = {one["metadata"]["name"]: one for one in world.dependents(POD, owner)}
    for title, template in wanted.items():
        if title not in found:
            make_pod(world, what, owner, pod_from(what, owner, template, title))
    for title, pod in found.items():
        if title not in wanted and "deletionTimestamp" not in pod["metadata"]:
            world.remove(POD, pod)
    alive = active(world.dependents(POD, owner))
    status = copy.deepcopy(owner.get("status", {}))
    value, reason = ("True", "Suspended") if not parts else ("False", "Resumed")
    pods.conditioned(status, "Suspended", value, world.clock.stamp(), reason)
    status["activePods"] = len(alive)
    if what == RAY:
        status["state"] = "suspended" if not parts and not alive else "ready"
    world.status(what, owner, status)


def _of_ray(owner: Obj) -> Iterator[Part]:
    yield "head", owner["spec"]["headGroupSpec"]["template"], 1
    for group in owner["spec"].get("workerGroupSpecs") or []:
        yield group.get("groupName", "worker"), group["template"], group.get("replicas", 1)


def _of_pytorch(owner: Obj) -> Iterator[Part]:
    for role, part in (owner["spec"].get("pytorchReplicaSpecs") or {}).items():
        yield role.lower(), part["template"], part.get("replicas", 1)


def _ray_stopped(owner: Obj) -> bool:
    return bool(owner["spec"].get("suspend"))


def _pytorch_stopped(owner: Obj) -> bool:
    return bool((owner["spec"].get("runPolicy") or {}).get("suspend"))


def _note(world: World, owner: Obj) -> None:
    """A notebook is a stateful set of one, or of none once its annotation says that it is stopped."""
    meta = owner["metadata"]
    stopped = STOPPED in (meta.get("annotations") or {})
    found = world.store.get(STATEFUL_SET, meta["namespace"], meta["name"])
    wanted = 0 if stopped else 1
    if found is None:
        labels = {"notebook-name": meta["name"]}
        template = copy.deepcopy(owner["spec"]["template"])
        template["metadata"] = {"labels": (template.get("metadata") or {}).get("labels", {}) | labels}
        spec = {
            "replicas": wanted,
            "serviceName": meta["name"],
            "selector": {"matchLabels": labels},
            "template": template,
        }
        made = {"metadata": {"name": meta["name"], "ownerReferences": [reference(NOTEBOOK, owner)]}, "spec": spec}
        world.make(STATEFUL_SET, meta["namespace"], made, "notebook-controller")
    elif found["spec"]["replicas"] != wanted:
        world.registry.change(STATEFUL_SET, found, _sized(wanted), manager="notebook-controller")
    ready = (found or {}).get("status", {}).get("readyReplicas", 0)
    world.status(NOTEBOOK, owner, owner.get("status", {}) | {"readyReplicas": ready})


def _sized(wanted: int) -> Callable[[Obj], None]:
    def change(owner: Obj) -> None:
        owner["spec"]["replicas"] = wanted

    return change
