"""What `kubectl get` shows of each kind, for the simulated cluster to be held to a real one."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kubernetes.objects import deployment, job, pod, pod_spec, quota, stateful_set
from tests.sandbox.kubernetes.scenes import APPS, BATCH, GPU, MERGE, RBAC, Step

Obj = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
SPACE = "api/v1/namespaces/{ns}"
NEVER: Obj = {"schedulerName": "nobody", "nodeSelector": {"never": "there"}}
ADDRESS = {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}
LONG_AGO = "2020-01-01T00:00:00Z"


def scenes() -> dict[str, list[Step]]:
    """Each begins with an empty namespace."""
    return {
        **_of_pods(),
        **_of_workloads(),
        **_of_the_namespace(),
        **_of_disks(),
        **_of_access(),
        **_of_asking(),
    }


def shown(path: str, accept: str = TABLE) -> Step:
    """Asked for as `kubectl get` asks."""
    return Step("GET", path, accept=accept)


def _of_pods() -> dict[str, list[Step]]:
    pods = f"{SPACE}/pods"
    standing: list[Obj] = [
        {"phase": "Running", "containerStatuses": [_container({"running": {}}, ready=True)], **ADDRESS},
        {"containerStatuses": [_container({"waiting": {"reason": "ContainerCreating"}})]},
        {"containerStatuses": [_container({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}})]},
        {"phase": "Succeeded", "containerStatuses": [_ended(0, "Completed")]},
        {"phase": "Failed", "containerStatuses": [_ended(1, "Error")]},
        {"phase": "Failed", "containerStatuses": [_ended(137, "")]},
        {"phase": "Failed", "reason": "Evicted"},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        {"phase": "Running", "containerStatuses": [_container({"running": {}}, ready=True, restarts=3)]},
        {"phase": "Running", "containerStatuses": [_ended(0, "Completed"), _container({"running": {}}, ready=True)]},
        {"initContainerStatuses": [_container({"running": {}})]},
        {"initContainerStatuses": [_ended(2, "Error")]},
        {"initContainerStatuses": [_container({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=2)]},
    ]  # fmt: skip
    steps = []
    for index, status in enumerate(standing):
        name = f"p{index:02}"
        spec = NEVER | (
            {"initContainers": [{"name": "first", "image": "x"}]} if "initContainerStatuses" in status else {}
        )
        steps += [
            Step("POST", pods, pod(name, **spec)),
            Step("PATCH", f"{pods}/{name}/status", {"status": status}, MERGE),
        ]
    held = pod("q", readinessGates=[{"conditionType": "example.com/up"}], **NEVER)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    steps += [Step("POST", pods, held), Step("DELETE", f"{pods}/q")]
    return {
        "pods as a table": [*steps, shown(pods), Step("PATCH", f"{pods}/q", {"metadata": {"finalizers": None}}, MERGE)]
    }


def _of_workloads() -> dict[str, list[Step]]:
    apps, batch = f"{APPS}/namespaces/{{ns}}", f"{BATCH}/namespaces/{{ns}}"
    train = deployment("a", 2, gpus=1, **NEVER)
    train["spec"]["selector"]["matchExpressions"] = [
        {"key": "tier", "operator": "In", "values": ["y", "x"]},
        {"key": "app", "operator": "Exists"},
    ]
    train["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    every_node = {
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": pod_spec(**NEVER)},
    }
    return {
        "workloads as tables": [
            Step("POST", f"{apps}/deployments", train),
            Step("POST", f"{apps}/statefulsets", stateful_set("b", 0)),
            Step("POST", f"{apps}/replicasets", {"metadata": {"name": "c"}, "spec": deployment("c", 0)["spec"]}),
            Step("POST", f"{apps}/daemonsets", {"metadata": {"name": "d"}, "spec": every_node}),
            shown(f"{apps}/statefulsets"),
            shown(f"{apps}/replicasets/c"),
            shown(f"{apps}/daemonsets"),
        ],
        "jobs as tables": [
            Step("POST", f"{batch}/jobs", job("b", suspend=True, completions=3, parallelism=2), settles=True),
            shown(f"{batch}/jobs"),
            Step("POST", f"{batch}/cronjobs", _cron("0 3 * * *", timeZone="Etc/UTC", suspend=True)),
            shown(f"{batch}/cronjobs"),
        ],
    }


def _of_the_namespace() -> dict[str, list[Step]]:
    hard = {f"requests.{GPU}": "2", "limits.cpu": "4", "pods": "10", "requests.cpu": "3"}
    event = {
        "metadata": {"name": "a.1", "namespace": "{ns}"}, "type": "Warning", "reason": "Failed",
        "message": "no such image \n", "firstTimestamp": LONG_AGO, "lastTimestamp": LONG_AGO, "count": 4,
        "involvedObject": {"kind": "Pod", "name": "a", "namespace": "{ns}", "fieldPath": "spec.containers{main}"},
        "source": {"component": "kubelet", "host": "node-1"},
    }  # fmt: skip
    maps = {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
    spec = {"podSelector": {"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["2", "1"]}]}}
    policies = "apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies"
    return {
        "a namespace and what is in it as tables": [
            shown(SPACE),
            Step("POST", f"{SPACE}/resourcequotas", quota(**hard), settles=True),
            shown(f"{SPACE}/resourcequotas"),
            Step("POST", f"{SPACE}/limitranges", {"metadata": {"name": "a"}, "spec": {"limits": []}}),
            shown(f"{SPACE}/limitranges"),
            Step("POST", f"{SPACE}/events", event),
            shown(f"{SPACE}/events"),
            Step("POST", f"{SPACE}/configmaps", maps),
            shown(f"{SPACE}/configmaps/a"),
            Step("POST", f"{SPACE}/secrets", {"metadata": {"name": "a"}, "data": {"x": "eA=="}}),
            shown(f"{SPACE}/secrets"),
            Step("POST", policies, {"metadata": {"name": "a"}, "spec": spec}),
            Step("POST", policies, {"metadata": {"name": "b"}, "spec": {"podSelector": {}}}),
            shown(policies),
        ],
    }


def _of_disks() -> dict[str, list[Step]]:
    claims = f"{SPACE}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteMany", "ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {
        "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "none", "hostPath": {"path": "/x"}, "claimRef": {"namespace": "{ns}", "name": "z"},
    }  # fmt: skip
    classes = "apis/storage.k8s.io/v1/storageclasses"
    return {
        "disks as tables": [
            Step("POST", claims, {"metadata": {"name": "a"}, "spec": spec | {"storageClassName": "none"}}),
            shown(claims),
            Step("POST", "api/v1/persistentvolumes", {"metadata": {"name": "{ns}"}, "spec": volume}, settles=True),
            shown("api/v1/persistentvolumes/{ns}"),
            Step("DELETE", "api/v1/persistentvolumes/{ns}"),
            Step("POST", classes, {"metadata": {"name": "{ns}"}, "provisioner": "x.test/disks"}),
            shown(f"{classes}/{{ns}}"),
            Step("DELETE", f"{classes}/{{ns}}"),
        ],
    }


def _of_access() -> dict[str, list[Step]]:
    roles = f"{RBAC}/namespaces/{{ns}}"
    who = [("User", "u@x.test"), ("User", "v@x.test"), ("Group", "g")]
    subjects = [{"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"} for kind, name in who]
    subjects += [{"kind": "ServiceAccount", "name": "s", "namespace": "{ns}"}]
    binding = {"roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}}
    return {
        "accounts and roles as tables": [
            shown(f"{SPACE}/serviceaccounts/default"),
            Step("POST", f"{roles}/roles", {"metadata": {"name": "r"}, "rules": []}),
            shown(f"{roles}/roles"),
            Step("POST", f"{roles}/rolebindings", {"metadata": {"name": "b"}, "subjects": subjects, **binding}),
            shown(f"{roles}/rolebindings"),
        ],
    }


def _of_asking() -> dict[str, list[Step]]:
    """What is asked for, and what each row is to carry."""
    maps = f"{SPACE}/configmaps"
    return {
        "tables as they are asked for": [
            Step("POST", maps, {"metadata": {"name": "a"}}),
            shown(f"{maps}/a?includeObject=None"),
            shown(f"{maps}/a?includeObject=Object"),
            shown(f"{maps}/a?includeObject=Everything"),
            shown(f"{maps}/a", "application/json"),
            shown(f"{maps}/a", f"application/json,{TABLE}"),
            shown(f"{maps}/none"),
            shown(f"{SPACE}/pods?limit=500"),
        ],
    }


def _container(state: Obj, *, ready: bool = False, restarts: int = 0) -> Obj:
    last = {"terminated": {"exitCode": 1, "finishedAt": LONG_AGO}} if restarts else {}
    about = {"name": "main", "image": "x", "imageID": "", "restartCount": restarts, "ready": ready, "started": ready}
    return about | {"state": state, "lastState": last}


def _ended(code: int, reason: str) -> Obj:
    return _container({"terminated": {"exitCode": code, "reason": reason}})


def _cron(schedule: str, **more: Any) -> Obj:
    template = {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}}
    return {"metadata": {"name": "a"}, "spec": {"schedule": schedule, "jobTemplate": template, **more}}
