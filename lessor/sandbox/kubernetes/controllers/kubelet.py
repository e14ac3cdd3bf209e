"""The nodes: pods start, run, end, and take their time to go."""

from __future__ import annotations

import copy
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.volumes import CLAIM, claims_of
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import kind

Obj = dict[str, Any]
POD, NODE = kind("Pod"), kind("Node")
RUNS_FOR, EXIT_CODE = "sandbox.lessor.dev/runs-for", "sandbox.lessor.dev/exit-code"
"""Annotations of pods that shall end by themselves: after so many seconds, with this code."""


def run(world: World) -> None:
    for pod in world.store.all(POD):
        node = world.store.get(NODE, "", pod["spec"].get("nodeName") or "")
        if node is None or pods.condition(node, "Ready") != "True":
            continue
        if "deletionTimestamp" in pod["metadata"]:
            _stop(world, pod)
        elif pod.get("status", {}).get("phase") == "Pending":
            _start(world, pod)
        elif pod.get("status", {}).get("phase") == "Running":
            _end(world, pod)


def _stop(world: World, pod: Obj) -> None:
    grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
    if not world.waited(pod, "stopping", min(world.settings.stop_seconds, grace)):
        return
    if pod["metadata"].get("finalizers") and not pods.finished(pod):
        world.status(POD, pod, _ended(world, pod, 0))
    now = world.store.get(POD, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if now is not None and grace:
        world.remove(POD, now, gracePeriodSeconds=0)


def _start(world: World, pod: Obj) -> None:
    namespace = pod["metadata"]["namespace"]
    claims = [world.store.get(CLAIM, namespace, name) for name in claims_of(pod)]
    mounted = all(one and one.get("status", {}).get("phase") == "Bound" for one in claims)
    if not mounted or not world.waited(pod, "starting", world.settings.start_seconds):
        world.status(POD, pod, _waiting(world, pod, "ContainerCreating", ""))
        return
    if not world.settings.pulling:
        image = pod["spec"]["containers"][0]["image"]
        text = f'Back-off pulling image "{image}": not found'
        world.status(POD, pod, _waiting(world, pod, "ImagePullBackOff", text))
        world.tell(POD, pod, "Failed", f'Failed to pull image "{image}": not found', by="kubelet")
        return
    status = _begun(world, pod) | {"phase": "Running"}
    for type_ in ("Initialized", "ContainersReady", "Ready"):
        pods.conditioned(status, type_, "True", world.clock.stamp())
    state = {"running": {"startedAt": world.clock.stamp()}}
    status["containerStatuses"] = [_container(one, state, ready=True) for one in pod["spec"]["containers"]]
    status["podIP"] = f"10.244.0.{int(pod['metadata']['uid'][:2], 16)}"
    world.status(POD, pod, status)


def _end(world: World, pod: Obj) -> None:
    told = pod["metadata"].get("annotations") or {}
    if RUNS_FOR in told and world.waited(pod, "running", float(told[RUNS_FOR])):
        world.status(POD, pod, _ended(world, pod, int(told.get(EXIT_CODE, "0"))))


def _begun(world: World, pod: Obj) -> Obj:
    status: Obj = copy.deepcopy(pod.get("status", {}))
    status.setdefault("startTime", world.clock.stamp())
    status["qosClass"] = "Burstable"
    return status


def _waiting(world: World, pod: Obj, reason: str, message: str) -> Obj:
    status = _begun(world, pod)
    pods.conditioned(status, "Ready", "False", world.clock.stamp(), "ContainersNotReady")
    waiting = {"reason": reason} | ({"message": message} if message else {})
    status["containerStatuses"] = [
        _container(one, {"waiting": waiting}, ready=False) for one in pod["spec"]["containers"]
    ]
    return status


def _ended(world: World, pod: Obj, code: int) -> Obj:
    status, now = _begun(world, pod), world.clock.stamp()
    status["phase"] = "Failed" if code else "Succeeded"
    for type_ in ("Ready", "ContainersReady"):
        pods.conditioned(status, type_, "False", now, "PodFailed" if code else "PodCompleted")
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now}}
    status["containerStatuses"] = [_container(one, state, ready=False) for one in pod["spec"]["containers"]]
    return status


def _container(one: Obj, state: Obj, *, ready: bool) -> Obj:
    return {
        "name": one["name"],
        "image": one["image"],
        "imageID": "",
        "restartCount": 0,
        "ready": ready,
        "started": ready,
        "state": state,
        "lastState": {},
    }
