"""The scheduler: a node for each pod, or the reason why there is none."""

from __future__ import annotations

import copy
from collections import Counter
from decimal import Decimal
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.volumes import CLAIM, claims_of
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.quantities import amount
from lessor.sandbox.kubernetes.selectors import expressed

Obj = dict[str, Any]
POD, NODE = kind("Pod"), kind("Node")
_NAME = "default-scheduler"
Free = dict[str, dict[str, Decimal]]


def run(world: World) -> None:
    free = _free(world)
    for pod in sorted(world.store.all(POD), key=lambda one: one["metadata"]["creationTimestamp"]):
        if pod["spec"].get("nodeName") or pods.finished(pod) or "deletionTimestamp" in pod["metadata"]:
            continue
        if pod["spec"]["schedulerName"] != _NAME:
            continue
        if pod["spec"].get("schedulingGates"):
            gates = [one["name"] for one in pod["spec"]["schedulingGates"]]
            _unscheduled(
                world, pod, f"Scheduling is blocked due to non-empty scheduling gates: {gates}", "SchedulingGated"
            )
        else:
            _place(world, pod, free)


def _free(world: World) -> Free:
    free: Free = {}
    for node in world.store.all(NODE):
        have = node.get("status", {}).get("allocatable") or {}
        free[node["metadata"]["name"]] = {name: amount(value) for name, value in have.items()}
    for pod in world.store.all(POD):
        on = pod["spec"].get("nodeName") or ""
        if on in free and not pods.finished(pod):
            _take(free[on], pod)
    return free


def _take(node: dict[str, Decimal], pod: Obj) -> None:
    for name, value in (pods.requests(pod["spec"]) | {"pods": Decimal(1)}).items():
        node[name] = node.get(name, Decimal(0)) - value


def _place(world: World, pod: Obj, free: Free) -> None:
    for name in sorted(claims_of(pod)):
        if world.store.get(CLAIM, pod["metadata"]["namespace"], name) is None:
            nodes = len(free)
            _unscheduled(world, pod, f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" not found.')
            return
    against: Counter[str] = Counter()
    for node in world.store.all(NODE):
        why = _against(world, pod, node, free[node["metadata"]["name"]])
        if not why:
            _bind(world, pod, node)
            _take(free[node["metadata"]["name"]], pod)
            return
        against.update(why)
    total = len(free)
    told = ", ".join(sorted(f"{count} {why}" for why, count in against.items()))
    _unscheduled(world, pod, f"0/{total} nodes are available: {told}. no new claims to deallocate, preemption: "
                 f"0/{total} nodes are available: {total} Preemption is not helpful for scheduling.")  # fmt: skip


def _against(world: World, pod: Obj, node: Obj, free: dict[str, Decimal]) -> list[str]:
    """Why the pod cannot run there, as the scheduler says it."""
    if node["spec"].get("unschedulable"):
        return ["node(s) were unschedulable"]
    taint = next((one for one in _taints(node) if not _tolerated(pod, one)), None)
    if taint:
        value = f": {taint['value']}" if taint.get("value") else ": "
        return [f"node(s) had untolerated taint(s) {{{taint['key']}{value}}}"]
    if not _chosen(pod, node["metadata"].get("labels") or {}):
        return ["node(s) didn't match Pod's node affinity/selector"]
    asked = pods.requests(pod["spec"]) | {"pods": Decimal(1)}
    short = sorted(name for name, value in asked.items() if value and free.get(name, Decimal(0)) < value)
    if not world.settings.scheduling and not short:
        gpus = sorted(name for name in asked if "/" in name)
        short = gpus or ["cpu"]
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]


def _taints(node: Obj) -> list[Obj]:
    taints = [one for one in node["spec"].get("taints") or [] if one["effect"] != "PreferNoSchedule"]
    if pods.condition(node, "Ready") != "True":
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    return taints


def _tolerated(pod: Obj, taint: Obj) -> bool:
    for one in pod["spec"].get("tolerations") or []:
        same_key = not one.get("key") or one["key"] == taint["key"]
        same_value = one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")
        if same_key and same_value and one.get("effect") in (None, "", taint["effect"]):
            return True
    return False


def _chosen(pod: Obj, labels: dict[str, str]) -> bool:
    spec = pod["spec"]
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = (affinity or {}).get("nodeSelectorTerms") or []
    return not affinity or any(
        all(expressed(one, labels) for one in term.get("matchExpressions") or []) for term in terms
    )


def _bind(world: World, pod: Obj, node: Obj) -> None:
    name = node["metadata"]["name"]

    def bound(one: Obj) -> None:
        one["spec"]["nodeName"] = name

    world.registry.change(POD, pod, bound, manager="kube-scheduler", sub="binding")
    status = copy.deepcopy(pod.get("status", {}))
    pods.conditioned(status, "PodScheduled", "True", world.clock.stamp())
    world.registry.change(POD, pod, lambda one: one.update(status=status), manager="kube-scheduler", sub="status")
    namespace = pod["metadata"]["namespace"]
    text = f"Successfully assigned {namespace}/{pod['metadata']['name']} to {name}"
    world.tell(POD, pod, "Scheduled", text, type_="Normal", by="default-scheduler")


def _unscheduled(world: World, pod: Obj, why: str, reason: str = "Unschedulable") -> None:
    status = copy.deepcopy(pod.get("status", {}))
    pods.conditioned(status, "PodScheduled", "False", world.clock.stamp(), reason, why)
    if status != pod.get("status", {}):
        world.status(POD, pod, status)
    if reason == "Unschedulable":
        world.tell(POD, pod, "FailedScheduling", why, by="default-scheduler")
