"""Requests whose answers are the same in every cluster, for the simulated one to be held to a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.sandbox.kubernetes.objects import deployment, job, pod, pod_spec, quota, stateful_set

Obj = dict[str, Any]
GPU = "nvidia.com/gpu"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
OTHER_UID = "12345678-1234-1234-1234-123456789012"
APPS, BATCH, RBAC = "apis/apps/v1", "apis/batch/v1", "apis/rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Step:
    """One request. `{ns}` in the path is the scene's own namespace, which exists.

    `settles` waits for controllers to see what was made. A real server sees what was just written a moment later where
    it decides on pods: `refused` are requests that are tried without effect until they are refused. `accept` is the
    kind of answer that is asked for.
    """

    method: str
    path: str
    body: Any = None
    content: str = "application/json"
    settles: bool = False
    refused: bool = False
    accept: str = ""


def scenes() -> dict[str, list[Step]]:
    """Each begins with an empty namespace."""
    return {
        **_of_metadata(),
        **_of_applying(),
        **_of_pods(),
        **_of_quotas(),
        **_of_devices(),
        **_of_workloads(),
        **_of_disks(),
        **_of_ends(),
    }


def _of_metadata() -> dict[str, list[Step]]:
    spaces = "api/v1/namespaces"
    return {
        "names and labels": [
            Step("POST", spaces, {"metadata": {"name": "Work_1"}}),
            Step("POST", spaces, {"metadata": {"name": "{ns}"}}),
            Step("POST", spaces, {"metadata": {"name": "x", "labels": {"owner": "a@b.test"}}}),
            Step("POST", spaces, {"metadata": {"name": "x", "labels": {"owner": "a" * 64}}}),
            Step("POST", spaces, {"metadata": {"name": "x", "labels": {"-x/y z": "a"}}}),
            Step("POST", spaces, {"metadata": {"name": "x", "annotations": {"x": "a" * 270_000}}}),
        ],
        "what is not there": [
            Step("GET", "api/v1/namespaces/none"),
            Step("GET", "apis/none.example.com/v1/things"),
            Step("GET", "api/v1/none"),
            Step("DELETE", "api/v1/namespaces/none"),
            Step("POST", "api/v1/namespaces/none/pods", pod("a")),
            Step("DELETE", "api/v1/namespaces/default"),
        ],
        "other uids and versions": [
            Step("PATCH", "api/v1/namespaces/{ns}", {"metadata": {"uid": OTHER_UID}}, MERGE),
            Step(
                "PATCH", "api/v1/namespaces/{ns}", {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}, MERGE
            ),
            Step("DELETE", "api/v1/namespaces/{ns}", {"preconditions": {"uid": OTHER_UID}}),
        ],
        "selectors": [
            Step("GET", "api/v1/namespaces/{ns}/pods?fieldSelector=spec.foo%3Dbar"),
            Step("GET", "api/v1/namespaces/{ns}/pods?labelSelector=a%20in%20(b,c),!d"),
        ],
        "tokens": [
            Step("POST", "api/v1/namespaces/{ns}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 60}}),
            Step("POST", "api/v1/namespaces/{ns}/serviceaccounts/none/token", {"spec": {"expirationSeconds": 600}}),
        ],
    }


def _of_applying() -> dict[str, list[Step]]:
    def applied(manager: str, *, force: bool = False, **meta: Any) -> Step:
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}", **meta}}
        return Step("PATCH", "api/v1/namespaces/{ns}" + query, body, APPLY)

    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
    return {
        "fields and their managers": [
            applied("one", labels={"a": "1", "b": "2"}, annotations={"x": "y"}),
            applied("two", labels={"a": "2"}),
            applied("two", labels={"a": "2"}, force=True),
            applied("one", labels={"b": "2"}),
            Step("PATCH", "api/v1/namespaces/{ns}", {"metadata": {"labels": {"b": "3", "c": "4"}}}, MERGE),
            applied("one", labels={}),
            applied("two", uid=OTHER_UID),
        ],
        "apply that is none": [
            Step("PATCH", "api/v1/namespaces/{ns}", body, APPLY),
            Step("PATCH", "api/v1/namespaces/{ns}?fieldManager=one", {"metadata": {}}, APPLY),
            Step("PATCH", "api/v1/namespaces/{ns}?fieldManager=one", body | {"foo": 1}, APPLY),
            Step("PATCH", "api/v1/namespaces/{ns}", {}, "application/foo"),
        ],
    }


def _of_pods() -> dict[str, list[Step]]:
    pods = "api/v1/namespaces/{ns}/pods"

    def asking(**resources: Obj) -> Obj:
        made = pod("a")
        made["spec"]["containers"][0]["resources"] = resources
        return made

    return {
        "what pods may ask for": [
            Step("POST", pods, asking(requests={GPU: "1"})),
            Step("POST", pods, asking(limits={GPU: "2"}, requests={GPU: "1"})),
            Step("POST", pods, asking(limits={GPU: "x"})),
            Step("POST", pods, asking(limits={GPU: "-1"})),
            Step("POST", pods, asking(limits={"cpu": "1"}, requests={"cpu": "2"})),
            Step("POST", pods, {"metadata": {"name": "a"}, "spec": {"containers": []}}),
            Step("POST", pods, pod("a", serviceAccountName="nobody")),
        ],
        "what of pods may change": [
            Step("POST", pods, pod("a", nodeSelector={"never": "there"})),
            Step("PATCH", f"{pods}/a", {"spec": {"nodeName": "elsewhere"}}, MERGE),
            Step("PATCH", f"{pods}/a", {"spec": {"restartPolicy": "Never"}}, MERGE),
            Step("PATCH", f"{pods}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE),
        ],
        "security standards": [
            Step("PATCH", "api/v1/namespaces/{ns}", _enforced("baseline"), MERGE),
            Step("POST", pods, pod("a", hostNetwork=True), refused=True),
            Step("PATCH", "api/v1/namespaces/{ns}", _enforced("restricted"), MERGE),
            Step("POST", pods, pod("a"), refused=True),
        ],
    }


def _of_quotas() -> dict[str, list[Step]]:
    quotas, pods = "api/v1/namespaces/{ns}/resourcequotas", "api/v1/namespaces/{ns}/pods"

    def made(name: str, **hard: str) -> Step:
        return Step("POST", quotas, {"metadata": {"name": name}, "spec": {"hard": hard}}, settles=True)

    return {
        "names that count": [
            made("bare", **{GPU: "1"}),
            made("limits", **{f"limits.{GPU}": "1"}),
            made("requests", **{f"requests.{GPU}": "1"}),
            made("wrong", gpus="1"),
            made("negative", **{f"requests.{GPU}": "-1"}),
            *(Step("GET", f"{quotas}/{name}") for name in ("bare", "limits", "requests")),
            Step("POST", pods, pod("two", 2), refused=True),
            Step("POST", pods, pod("one", 1)),
            Step("POST", pods, pod("more", 1), refused=True),
            Step("POST", pods, pod("none")),
        ],
        "what has to be said": [
            made("computing", **{"requests.cpu": "1", "limits.memory": "1Gi"}),
            Step("POST", pods, pod("silent"), refused=True),
        ],
    }


def _of_devices() -> dict[str, list[Step]]:
    claims, of = "apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims", ".deviceclass.resource.k8s.io/devices"

    def claim(name: str, *requests: Obj) -> Step:
        spec = {"devices": {"requests": [{"name": f"r{at}", **one} for at, one in enumerate(requests)]}}
        return Step("POST", claims, {"metadata": {"name": name}, "spec": spec})

    def exactly(of: str, count: int) -> Obj:
        return {"deviceClassName": of, "allocationMode": "ExactCount", "count": count}

    either = [{"name": "x", **exactly("a", 1)}, {"name": "y", **exactly("b", 1)}]
    hard = {f"a{of}": "2", f"b{of}": "0"}
    return {
        "claimed devices": [
            Step("POST", "api/v1/namespaces/{ns}/resourcequotas", quota(**hard), settles=True),
            claim("over", {"exactly": exactly("a", 1)}, {"exactly": exactly("a", 2)}),
            claim("all", {"exactly": {"deviceClassName": "a", "allocationMode": "All"}}),
            claim("either", {"firstAvailable": either}),
            claim("other", {"exactly": exactly("b", 1)}),
            claim("within", {"exactly": exactly("a", 2)}),
            claim("more", {"exactly": exactly("a", 1)}),
            claim("unlimited", {"exactly": exactly("c", 9)}),
        ],
    }


def _of_workloads() -> dict[str, list[Step]]:
    apps, batch = f"{APPS}/namespaces/{{ns}}", f"{BATCH}/namespaces/{{ns}}"
    roles = f"{RBAC}/namespaces/{{ns}}/rolebindings"
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "edit"}
    other = deployment("a", 0)
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    mounted = deployment("a", 0)
    mounted["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "x", "mountPath": "/x"}]
    kept = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    return {
        "deployments": [
            Step("POST", f"{apps}/deployments", other),
            Step("POST", f"{apps}/deployments", mounted),
            Step("POST", f"{apps}/deployments", deployment("a", 0)),
            Step("PATCH", f"{apps}/deployments/a", {"spec": {"replicas": -1}}, MERGE),
            Step("PATCH", f"{apps}/deployments/a", {"spec": {"selector": {"matchLabels": {"app": "x"}}}}, MERGE),
        ],
        "stateful sets": [
            Step("POST", f"{apps}/statefulsets", stateful_set("a", 0)),
            Step("PATCH", f"{apps}/statefulsets/a", {"spec": {"serviceName": "other"}}, MERGE),
            Step("PATCH", f"{apps}/statefulsets/a", {"spec": {"podManagementPolicy": "Parallel"}}, MERGE),
            Step("PATCH", f"{apps}/statefulsets/a", {"spec": {"volumeClaimTemplates": []}}, MERGE),
            Step("PATCH", f"{apps}/statefulsets/a", {"spec": {"persistentVolumeClaimRetentionPolicy": kept}}, MERGE),
            Step("PATCH", f"{apps}/statefulsets/a", {"spec": {"replicas": 0}}, MERGE),
        ],
        "jobs": [
            Step("POST", f"{batch}/jobs", job("a", suspend=True)),
            Step("PATCH", f"{batch}/jobs/a", {"spec": {"selector": {"matchLabels": {"x": "y"}}}}, MERGE),
            Step("POST", f"{batch}/cronjobs", _cron("* *")),
            Step("POST", f"{batch}/cronjobs", _cron("0 3 * * *")),
        ],
        "bindings": [
            Step("POST", roles, {"metadata": {"name": "a"}, "roleRef": reference, "subjects": [_subject("User")]}),
            Step("POST", roles, {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [_subject("Person")]}),
            Step("POST", roles, {"metadata": {"name": "b"}, "subjects": [_subject("User")]}),
        ],
    }


def _of_disks() -> dict[str, list[Step]]:
    return {
        "disks": [
            Step("POST", "api/v1/namespaces/{ns}/persistentvolumeclaims", {"metadata": {"name": "a"}, "spec": {}}),
            Step("POST", "api/v1/namespaces/{ns}/persistentvolumeclaims", _claim()),
            Step("PATCH", "api/v1/namespaces/{ns}/persistentvolumeclaims/a", {"spec": {"accessModes": ["x"]}}, MERGE),
        ],
    }


def _of_ends() -> dict[str, list[Step]]:
    pods = "api/v1/namespaces/{ns}/pods"
    held = pod("held", nodeSelector={"never": "there"})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    return {
        "finalizers": [
            Step("POST", pods, held),
            Step("DELETE", f"{pods}/held"),
            Step("PATCH", f"{pods}/held", {"metadata": {"finalizers": ["example.com/hold", "example.com/two"]}}, MERGE),
            Step("DELETE", "api/v1/namespaces/{ns}"),
            Step("DELETE", "api/v1/namespaces/{ns}"),
            Step("POST", pods, pod("late"), refused=True),
            Step("PATCH", f"{pods}/held", {"metadata": {"finalizers": None}}, MERGE),
        ],
        "foreground": [
            Step("POST", f"{APPS}/namespaces/{{ns}}/deployments", deployment("a", 0)),
            Step("DELETE", f"{APPS}/namespaces/{{ns}}/deployments/a", {"propagationPolicy": "Foreground"}),
        ],
    }


def _enforced(level: str) -> Obj:
    return {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}}


def _cron(schedule: str) -> Obj:
    template = {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}}
    return {"metadata": {"name": "a"}, "spec": {"schedule": schedule, "jobTemplate": template}}


def _claim() -> Obj:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    return {"metadata": {"name": "a"}, "spec": spec}


def _subject(kind: str) -> Obj:
    return {"kind": kind, "name": "a@x.test"}
