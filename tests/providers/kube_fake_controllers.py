"""The controllers of the cluster in memory: quotas are counted, workloads get pods, pods nodes, claims volumes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from lessor.providers.kubernetes.api import (
    CLAIM,
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    REPLICA_SET,
    RESOURCE_QUOTA,
    STATEFUL_SET,
    VOLUME,
    ApiKind,
    Obj,
)

if TYPE_CHECKING:
    from tests.providers.kube_fake import FakeApi

PARENTS: dict[ApiKind, ApiKind] = {STATEFUL_SET: POD, REPLICA_SET: POD, JOB: POD, DEPLOYMENT: REPLICA_SET}


@dataclass
class Nodes:
    """Whether pods find a node; `reason` is what the scheduler says when they do not, `waiting` what containers say."""

    room: bool = True
    reason: str = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    waiting: str = ""
    reclaim: str = "Delete"
    names: tuple[str, ...] = field(default=("node-a",))


def settle(api: FakeApi) -> None:
    """Run all controllers until nothing changes any more."""
    for _ in range(10):
        before = copy.deepcopy(api.objects)
        _collect(api)
        for parent, child in PARENTS.items():
            for owner in _all(api, parent):
                _scale(api, parent, child, owner)
        for pod in _all(api, POD):
            _schedule(api, pod)
        for claim in _all(api, CLAIM):
            _bind(api, claim)
        for quota in _all(api, RESOURCE_QUOTA):
            _count(api, quota)
        _terminate(api)
        if api.objects == before:
            return


def _all(api: FakeApi, kind: ApiKind) -> list[Obj]:
    return [obj for key, obj in list(api.objects.items()) if key[0] == kind]


def _key(api: FakeApi, obj: Obj) -> tuple[ApiKind, str, str]:
    return next(key for key, held in api.objects.items() if held is obj)


def _collect(api: FakeApi) -> None:
    """Things whose owner is gone go too; released volumes by their reclaim policy."""
    uids = {obj["metadata"]["uid"] for obj in api.objects.values()}
    for key, obj in list(api.objects.items()):
        owners = obj["metadata"].get("ownerReferences") or ()
        if owners and not any(owner["uid"] in uids for owner in owners):
            api.remove(key)
    for volume in _all(api, VOLUME):
        claim = volume["spec"].get("claimRef") or {}
        if claim and claim.get("uid") not in uids:
            volume["status"]["phase"] = "Released"
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                api.remove(_key(api, volume))


def _scale(api: FakeApi, parent: ApiKind, child: ApiKind, owner: Obj) -> None:
    meta, spec = owner["metadata"], owner.get("spec", {})
    children = [o for o in _all(api, child) if any(r["uid"] == meta["uid"] for r in _owners(o))]
    wanted = 0 if spec.get("suspend") else int(spec.get("replicas", spec.get("parallelism", 1)))
    numbered = range(1 if parent == DEPLOYMENT else wanted)
    names = [f"{meta['name']}-{number}" for number in numbered]
    for one in children:
        if one["metadata"]["name"] not in names:
            api.remove(_key(api, one))
    for name in names:
        if not any(one["metadata"]["name"] == name for one in children) and "deletionTimestamp" not in meta:
            _spawn(api, parent, child, owner, name)
    for one in children if child == REPLICA_SET else ():
        one["spec"]["replicas"] = wanted
    ready = [o for o in children if o["status"].get("phase") == "Running" or o["status"].get("readyReplicas")]
    owner["status"]["readyReplicas"] = len(ready) if child == POD else sum(o["status"]["readyReplicas"] for o in ready)
    owner["status"]["replicas"] = len(children) if child == POD else wanted


def _spawn(api: FakeApi, parent: ApiKind, child: ApiKind, owner: Obj, name: str) -> None:
    meta, template = owner["metadata"], owner["spec"].get("template", {})
    reference = {"apiVersion": parent.api_version, "kind": parent.kind, "name": meta["name"], "uid": meta["uid"]}
    made = {
        "apiVersion": child.api_version,
        "kind": child.kind,
        "metadata": {
            **template.get("metadata", {}),
            "name": name,
            "namespace": meta["namespace"],
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": template.get("spec", {}) if child == POD else {"replicas": 0, "template": template},
    }
    space = api.objects.get((NAMESPACE, "", meta["namespace"]), {"metadata": {}})
    if (child, meta["namespace"], name) not in api.objects and "deletionTimestamp" not in space["metadata"]:
        api.add(made, "kube-controller-manager")
        for claim in owner["spec"].get("volumeClaimTemplates", ()) if child == POD else ():
            _claim(api, claim, name, meta["namespace"])


def _claim(api: FakeApi, template: Obj, pod: str, namespace: str) -> None:
    name = f"{template['metadata']['name']}-{pod}"
    if (CLAIM, namespace, name) not in api.objects:
        meta = {**template["metadata"], "name": name, "namespace": namespace}
        api.add({**template, "apiVersion": "v1", "kind": CLAIM.kind, "metadata": meta}, "kube-controller-manager")


def _schedule(api: FakeApi, pod: Obj) -> None:
    status, spec = pod["status"], pod["spec"]
    if status.get("phase") in ("Running", "Succeeded", "Failed"):
        return
    stamp = api.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status["phase"] = "Pending"
    if "nodeName" not in spec:
        reason = {} if api.nodes.room else {"reason": "Unschedulable", "message": api.nodes.reason}
        status["conditions"] = [{"type": "PodScheduled", "status": "True" if api.nodes.room else "False", **reason}]
        if not api.nodes.room:
            return
        spec["nodeName"] = api.nodes.names[0]
        status["conditions"][0]["lastTransitionTime"] = stamp
    if api.nodes.waiting:
        state = {"waiting": {"reason": api.nodes.waiting, "message": "it is not there"}}
        status["containerStatuses"] = [{"name": "main", "ready": False, "state": state}]
        return
    status |= {"phase": "Running", "startTime": stamp}
    status["containerStatuses"] = [{"name": "main", "ready": True, "state": {"running": {"startedAt": stamp}}}]
    status["conditions"].append({"type": "Ready", "status": "True", "lastTransitionTime": stamp})


def _bind(api: FakeApi, claim: Obj) -> None:
    meta = claim["metadata"]
    if claim["status"].get("phase") == "Bound":
        return
    name = f"pv-{meta['uid']}"
    claim["spec"]["volumeName"] = name
    claim["status"] |= {"phase": "Bound", "capacity": dict(claim["spec"]["resources"]["requests"])}
    reference = {"kind": CLAIM.kind, "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    spec: dict[str, Any] = {
        "claimRef": reference,
        "capacity": dict(claim["spec"]["resources"]["requests"]),
        "persistentVolumeReclaimPolicy": api.nodes.reclaim,
    }
    volume = {"apiVersion": "v1", "kind": VOLUME.kind, "metadata": {"name": name}, "spec": spec}
    api.add({**volume, "status": {"phase": "Bound"}}, "external-provisioner")


def _count(api: FakeApi, quota: Obj) -> None:
    if not api.quotas_enforced:
        quota["status"] = {}
        return
    hard = quota["spec"].get("hard", {})
    pods = [p for p in _all(api, POD) if p["metadata"]["namespace"] == quota["metadata"]["namespace"]]
    live = [p for p in pods if p["status"].get("phase") not in ("Succeeded", "Failed")]
    used = {name: str(sum(_asked(pod, name.removeprefix("requests.")) for pod in live)) for name in hard}
    quota["status"] = {"hard": dict(hard), "used": {n: v for n, v in used.items() if n.startswith("requests.")}}


def _asked(pod: Obj, resource: str) -> int:
    boxes = [box.get("resources", {}) for box in pod["spec"].get("containers", ())]
    asked = [box.get("requests", {}).get(resource, box.get("limits", {}).get(resource, 0)) for box in boxes]
    return sum(int(amount) for amount in asked if str(amount).isdecimal())


def _terminate(api: FakeApi) -> None:
    for space in _all(api, NAMESPACE):
        name = space["metadata"]["name"]
        if "deletionTimestamp" not in space["metadata"]:
            continue
        for key in [key for key in api.objects if key[1] == name]:
            api.remove(key)
        left = [(key, obj) for key, obj in api.objects.items() if key[1] == name]
        space["status"]["conditions"] = list(_stuck(left))
        if not left and not space["metadata"].get("finalizers"):
            del api.objects[(NAMESPACE, "", name)]


def _stuck(left: list[tuple[tuple[ApiKind, str, str], Obj]]) -> Iterator[Obj]:
    if left:
        kinds = ", ".join(sorted({f"{key[0].plural}. has 1 resource instances" for key, _ in left}))
        held = {finalizer for _, obj in left for finalizer in obj["metadata"]["finalizers"]}
        names = ", ".join(f"{finalizer} in 1 resource instances" for finalizer in sorted(held))
        for kind, reason, text in (
            ("NamespaceContentRemaining", "SomeResourcesRemain", f"Some resources are remaining: {kinds}"),
            ("NamespaceFinalizersRemaining", "SomeFinalizersRemain", f"Some content has finalizers remaining: {names}"),
        ):
            yield {"type": kind, "status": "True", "reason": reason, "message": text}


def _owners(obj: Obj) -> list[Any]:
    return list(obj["metadata"].get("ownerReferences") or ())
