"""Kueue, where it is installed: jobs and pods wait in a queue until their cluster queue has room for them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.controllers.world import World, reference
from lessor.sandbox.kubernetes.kinds import KUEUE, Kind, kind
from lessor.sandbox.kubernetes.quantities import amount, written
from lessor.sandbox.kubernetes.queues import GATE, QUEUE, queue_of

Obj = dict[str, Any]
JOB, POD = kind("Job"), kind("Pod")
TASK, LOCAL, CLUSTER = kind("Workload"), kind("LocalQueue"), kind("ClusterQueue")


def run(world: World) -> None:
    if KUEUE not in world.served.extensions:
        return
    for what, owner in _waiting(world):
        if not world.dependents(TASK, owner) and "deletionTimestamp" not in owner["metadata"]:
            _submit(world, what, owner)
    for task in sorted(world.store.all(TASK), key=lambda one: one["metadata"]["creationTimestamp"]):
        _decide(world, task)
    _count(world)


def _waiting(world: World) -> Iterator[tuple[Kind, Obj]]:
    """Jobs and single pods that belong to a queue."""
    for job in world.store.all(JOB):
        if QUEUE in (job["metadata"].get("labels") or {}):
            yield JOB, job
    for pod in world.store.all(POD):
        if QUEUE in (pod["metadata"].get("labels") or {}) and not pods.finished(pod):
            yield POD, pod


def _submit(world: World, what: Kind, owner: Obj) -> None:
    meta, spec = owner["metadata"], owner["spec"]
    template = spec["template"] if what == JOB else {"metadata": {"labels": meta.get("labels") or {}}, "spec": spec}
    count = spec["parallelism"] if what == JOB else 1
    name = f"{what.singular}-{meta['name']}-{meta['uid'][:5]}"
    pod_set = {"name": "main", "count": count, "template": copy.deepcopy(template)}
    made = {
        "metadata": {"name": name, "ownerReferences": [reference(what, owner)]},
        "spec": {"queueName": meta["labels"][QUEUE], "podSets": [pod_set], "active": True},
    }
    world.make(TASK, meta["namespace"], made, "kueue-admission")


def _decide(world: World, task: Obj) -> None:
    what, owner = _owner(world, task)
    if owner is None:
        return
    if pods.finished(owner) or any(pods.condition(owner, one) == "True" for one in ("Complete", "Failed")):
        _say(world, task, {"Finished": ("True", "JobFinished", "Job finished")}, keep=True)
        return
    local = queue_of(world.store, task["metadata"]["namespace"], task["spec"]["queueName"])
    held = (local or {"spec": {}})["spec"].get("stopPolicy", "None")
    admitted = pods.condition(task, "QuotaReserved") == "True"
    if admitted and held == "HoldAndDrain":
        _say(world, task, {"QuotaReserved": ("False", "Pending", "the local queue is stopped"),
                           "Admitted": ("False", "NoReservation", "the workload has no reservation"),
                           "Evicted": ("True", "LocalQueueStopped", "the local queue is stopped")})  # fmt: skip
        _hold(world, what, owner)
    elif admitted:
        _let_go(world, what, owner)
    elif local is None or held != "None":
        _pend(world, task, f"LocalQueue {task['spec']['queueName']} is inactive" if local else "no such LocalQueue")
    else:
        _admit(world, task, local)


def _admit(world: World, task: Obj, local: Obj) -> None:
    queue = world.store.get(CLUSTER, "", local["spec"].get("clusterQueue", ""))
    if queue is None:
        _pend(world, task, f"ClusterQueue {local['spec'].get('clusterQueue')} doesn't exist")
        return
    pod_set = task["spec"]["podSets"][0]
    asked = {
        name: value * pod_set["count"] for name, value in pods.requests(pod_set["template"]["spec"], "limits").items()
    }
    for flavor, nominal in _flavors(queue):
        taken = _taken(world, queue, flavor)
        wanted = {name: value for name, value in asked.items() if name in nominal}
        if all(taken.get(name, Decimal(0)) + value <= nominal[name] for name, value in wanted.items()):
            assigned = {
                "name": pod_set["name"],
                "count": pod_set["count"],
                "flavors": dict.fromkeys(wanted, flavor),
                "resourceUsage": {name: written(value) for name, value in wanted.items()},
            }
            admission = {"clusterQueue": queue["metadata"]["name"], "podSetAssignments": [assigned]}
            told = f"Quota reserved in ClusterQueue {queue['metadata']['name']}"
            _say(world, task, {"QuotaReserved": ("True", "QuotaReserved", told),
                               "Admitted": ("True", "Admitted", "The workload is admitted")}, admission)  # fmt: skip
            return
    short = ", ".join(name for name in asked if "/" in name) or "cpu"
    _pend(world, task, f"couldn't assign flavors to pod set main: insufficient unused quota for {short}")


def _flavors(queue: Obj) -> Iterator[tuple[str, dict[str, Decimal]]]:
    for group in queue["spec"].get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            yield flavor["name"], {one["name"]: amount(one["nominalQuota"]) for one in flavor.get("resources") or []}


def _taken(world: World, queue: Obj, flavor: str) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for task in world.store.all(TASK):
        admission = task.get("status", {}).get("admission") or {}
        if admission.get("clusterQueue") != queue["metadata"]["name"] or pods.condition(task, "Finished") == "True":
            continue
        for part in admission["podSetAssignments"]:
            for name, value in part["resourceUsage"].items():
                if part["flavors"][name] == flavor:
                    total[name] = total.get(name, Decimal(0)) + amount(value)
    return total


def _let_go(world: World, what: Kind, owner: Obj) -> None:
    if what == JOB and owner["spec"].get("suspend"):
        world.registry.change(JOB, owner, lambda one: one["spec"].update(suspend=False), manager="kueue-admission")
    elif what == POD and owner["spec"].get("schedulingGates"):
        world.registry.change(POD, owner, _without_gate, manager="kueue-admission")


def _hold(world: World, what: Kind, owner: Obj) -> None:
    if what == JOB:
        world.registry.change(JOB, owner, lambda one: one["spec"].update(suspend=True), manager="kueue-admission")
    else:
        world.remove(POD, owner)


def _without_gate(pod: Obj) -> None:
    pod["spec"]["schedulingGates"] = [one for one in pod["spec"]["schedulingGates"] if one["name"] != GATE]
    if not pod["spec"]["schedulingGates"]:
        del pod["spec"]["schedulingGates"]


def _pend(world: World, task: Obj, why: str) -> None:
    _say(world, task, {"QuotaReserved": ("False", "Pending", why)})


def _say(
    world: World, task: Obj, said: dict[str, tuple[str, str, str]], admission: Obj | None = None, *, keep: bool = False
) -> None:
    status = copy.deepcopy(task.get("status", {}))
    for type_, (value, reason, message) in said.items():
        pods.conditioned(status, type_, value, world.clock.stamp(), reason, message)
    if not keep:
        status.pop("admission", None)
    if admission:
        status["admission"] = admission
    world.status(TASK, task, status)


def _owner(world: World, task: Obj) -> tuple[Kind, Obj | None]:
    (owner,) = task["metadata"].get("ownerReferences") or [{"kind": "Pod", "name": "", "uid": ""}]
    what = kind(owner["kind"])
    found = world.store.get(what, task["metadata"]["namespace"], owner["name"])
    return what, found if found and found["metadata"]["uid"] == owner["uid"] else None


def _count(world: World) -> None:
    """How many wait and how many are in, on both kinds of queue."""
    tasks = [one for one in world.store.all(TASK) if pods.condition(one, "Finished") != "True"]
    for what in (LOCAL, CLUSTER):
        for queue in world.store.all(what):
            mine = [one for one in tasks if _leads_to(world, one, what, queue)]
            kept = sum(pods.condition(one, "QuotaReserved") == "True" for one in mine)
            counts = {"pendingWorkloads": len(mine) - kept, "reservingWorkloads": kept, "admittedWorkloads": kept}
            status = copy.deepcopy(queue.get("status", {})) | counts
            stopped = queue["spec"].get("stopPolicy", "None") != "None"
            value, reason = ("False", "StoppedByPolicy") if stopped else ("True", "Ready")
            pods.conditioned(status, "Active", value, world.clock.stamp(), reason)
            world.status(what, queue, status)


def _leads_to(world: World, task: Obj, what: Kind, queue: Obj) -> bool:
    namespace, name = task["metadata"]["namespace"], task["spec"]["queueName"]
    local = queue_of(world.store, namespace, name)
    if what == LOCAL:
        return local is not None and local["metadata"]["uid"] == queue["metadata"]["uid"]
    return local is not None and local["spec"].get("clusterQueue") == queue["metadata"]["name"]
