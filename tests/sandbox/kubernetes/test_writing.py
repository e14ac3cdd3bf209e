"""How objects are written in the simulated cluster: whose fields they are, which object is meant, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.answering import Answer, answer
from lessor.sandbox.kubernetes.calls import Call
from tests.sandbox.kubernetes.objects import deployment, pod, quota

Obj = dict[str, Any]
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
OTHER_UID = "12345678-1234-1234-1234-123456789012"
WORK, PODS = "/api/v1/namespaces/work", "/api/v1/namespaces/work/pods"


def patch(lab: RunningCluster, path: str, body: Any, content: str = MERGE, **query: str) -> Answer:
    headers = {"authorization": f"Bearer {lab.cluster.accounts.admin()}", "content-type": content}
    return answer(lab.cluster, Call("PATCH", path, query, headers, json.dumps(body).encode()))


def applied(lab: RunningCluster, manager: str, *, force: bool = True, **meta: Any) -> Answer:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work", **meta}}
    return patch(lab, WORK, body, APPLY, fieldManager=manager, force=str(force).lower())


def managers(obj: Obj) -> dict[str, Obj]:
    return {one["manager"]: one["fieldsV1"] for one in obj["metadata"]["managedFields"] if one["operation"] == "Apply"}


def test_what_is_applied_is_noted_by_the_server_and_goes_when_it_is_applied_no_more(lab: RunningCluster) -> None:
    applied(lab, "lessor", labels={"a": "1", "b": "2"})
    made = applied(lab, "lessor", labels={"a": "1"}).body
    assert made["metadata"]["labels"] == {"a": "1", "kubernetes.io/metadata.name": "work"}
    assert managers(made) == {"lessor": {"f:metadata": {"f:labels": {"f:a": {}}}}}


def test_a_copied_label_is_nobodys_proof(lab: RunningCluster) -> None:
    copied = patch(lab, WORK, {"metadata": {"labels": {"lessor.dev/lease": "gpu-7k3qxa2m"}}}).body
    assert managers(copied) == {}


def test_a_field_of_another_manager_is_taken_by_force_only(lab: RunningCluster) -> None:
    applied(lab, "one", labels={"a": "1"})
    refused = applied(lab, "two", force=False, labels={"a": "2"})
    assert (refused.code, refused.body["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "one": .metadata.labels.a',
    )
    taken = applied(lab, "two", labels={"a": "2"}).body
    assert managers(taken) == {"two": {"f:metadata": {"f:labels": {"f:a": {}}}}}


def test_the_same_applied_again_changes_nothing(lab: RunningCluster) -> None:
    first = applied(lab, "lessor", labels={"a": "1"}).body
    assert applied(lab, "lessor", labels={"a": "1"}).body == first


def test_what_people_scale_is_not_taken_back_by_who_does_not_speak_of_it(lab: RunningCluster) -> None:
    path = "/apis/apps/v1/namespaces/work/deployments/train"
    wish = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment("train", 1)}
    del wish["spec"]["replicas"]
    patch(lab, path, wish, APPLY, fieldManager="lessor")
    patch(lab, path, {"spec": {"replicas": 3}})
    assert patch(lab, path, wish, APPLY, fieldManager="lessor").body["spec"]["replicas"] == 3


def test_only_the_very_object_is_changed_or_deleted(lab: RunningCluster) -> None:
    changed = patch(lab, WORK, {"metadata": {"uid": OTHER_UID, "labels": {"a": "1"}}})
    assert (changed.code, changed.body["details"]["causes"][0]["field"]) == (422, "metadata.uid")
    stale = patch(lab, WORK, {"metadata": {"resourceVersion": "1"}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    deleted = lab.ask("DELETE", WORK, {"preconditions": {"uid": OTHER_UID}})
    assert (deleted.code, deleted.body["reason"]) == (409, "Conflict")
    assert "Precondition failed: UID in precondition" in deleted.body["message"]
    namespace = lab.get("Namespace", "work")
    assert namespace is not None
    assert "deletionTimestamp" not in namespace["metadata"]


def test_unknown_fields_are_dropped_refused_when_applied_and_when_one_is_strict(lab: RunningCluster) -> None:
    made = pod("a") | {"colour": "blue"}
    assert "colour" not in lab.ask("POST", PODS, made).body
    strict = lab.ask("POST", PODS, pod("b") | {"colour": "blue"}, fieldValidation="Strict")
    assert (strict.code, 'unknown field "colour"' in strict.body["message"]) == (400, True)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}, "colour": "blue"}
    assert patch(lab, WORK, body, APPLY, fieldManager="one").code == 500


def test_quotas_count_devices_by_their_requests_only(lab: RunningCluster) -> None:
    names = ("nvidia.com/gpu", "limits.nvidia.com/gpu", "requests.nvidia.com/gpu", "pods", "count/deployments.apps")
    lab.create("ResourceQuota", quota(**dict.fromkeys(names, "5")), "work")
    lab.settle()
    lab.create("Deployment", deployment("train", 1, gpus=2), "work")
    lab.settle()
    used = lab.get("ResourceQuota", "gpus", "work")["status"]["used"]  # type: ignore[index]
    assert used == {"requests.nvidia.com/gpu": "2", "pods": "1", "count/deployments.apps": "1"}


def test_quantities_may_be_numbers_and_are_kept_as_text(lab: RunningCluster) -> None:
    """As people write them: `nvidia.com/gpu: 1`, `cpu: 0.5`."""
    written = deployment("web", gpus=1)
    written["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 1, "cpu": 0.5}
    made = lab.create("Deployment", written, "work")
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1", "cpu": "0.5"}
    lab.settle()
    [started] = lab.ask("GET", PODS).body["items"]
    assert started["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "1", "cpu": "0.5"}
    written["metadata"]["name"] = "other"
    written["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": True}
    refused = lab.ask("POST", "/apis/apps/v1/namespaces/work/deployments", written)
    assert (refused.code, refused.body["reason"]) == (400, "BadRequest")


def test_kubectl_leaves_the_check_of_fields_to_the_server(lab: RunningCluster) -> None:
    """It writes nothing before it has read so in the description of the API."""
    root = lab.ask("GET", "/openapi/v3").body["paths"]
    assert root["apis/apps/v1"] == {"serverRelativeURL": "/openapi/v3/apis/apps/v1"}
    paths = lab.ask("GET", "/openapi/v3/apis/apps/v1").body["paths"]
    patched = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patched["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert [one["name"] for one in patched["parameters"]] == ["fieldValidation"]
    assert "/api/v1/nodes/{name}" in lab.ask("GET", "/openapi/v3/api/v1").body["paths"]
    assert lab.ask("GET", "/openapi/v3/apis/apps/v9").code == 404
    assert lab.ask("GET", "/openapi/v2").code == 404


def test_what_is_written_in_protobuf_is_refused_with_what_to_do_instead(lab: RunningCluster) -> None:
    headers = {
        "authorization": f"Bearer {lab.cluster.accounts.admin()}",
        "content-type": "application/vnd.kubernetes.protobuf",
    }
    refused = answer(lab.cluster, Call("POST", PODS, {}, headers, b"k8s\x00\x9c"))
    assert (refused.code, refused.body["reason"]) == (415, "UnsupportedMediaType")
    assert refused.body["message"].endswith("write the object into a file, and kubectl apply -f it")


def test_limits_complete_and_bound_what_pods_ask_for(lab: RunningCluster) -> None:
    rule = {"type": "Container", "defaultRequest": {"cpu": "100m"}, "max": {"memory": "1Gi"}}
    lab.create("LimitRange", {"metadata": {"name": "limits"}, "spec": {"limits": [rule]}}, "work")
    made = lab.ask("POST", PODS, pod("a")).body
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "1Gi"},
    }
    greedy = pod("b")
    greedy["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
    refused = lab.ask("POST", PODS, greedy)
    assert (refused.code, refused.body["message"]) == (
        403,
        'pods "b" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi',
    )


def test_a_dry_run_changes_nothing(lab: RunningCluster) -> None:
    assert lab.ask("POST", PODS, pod("a"), dryRun="All").code == 201
    assert lab.exists("Pod", "work") == []
    assert lab.ask("DELETE", WORK, dryRun="All").code == 200
    assert lab.get("Namespace", "work")["status"]["phase"] == "Active"  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "body", "labels"),
    [
        (MERGE, {"metadata": {"labels": {"a": None, "b": "2"}}}, {"b": "2"}),
        ("application/json-patch+json", [{"op": "replace", "path": "/metadata/labels/a", "value": "3"}], {"a": "3"}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"c": "4"}}}, {"a": "1", "c": "4"}),
    ],
)
def test_patches_come_in_several_ways(lab: RunningCluster, content: str, body: Any, labels: dict[str, str]) -> None:
    made = pod("a")
    made["metadata"]["labels"] = {"a": "1"}
    lab.create("Pod", made, "work")
    changed = patch(lab, f"{PODS}/a", body, content)
    assert (changed.code, changed.body["metadata"]["labels"]) == (200, labels)


def test_deleting_in_the_foreground_waits_for_what_belongs_to_it(lab: RunningCluster) -> None:
    lab.set(stop_seconds=20)
    lab.create("Deployment", deployment("train", 1), "work")
    lab.settle()
    lab.ask("DELETE", "/apis/apps/v1/namespaces/work/deployments/train", {"propagationPolicy": "Foreground"})
    lab.settle()
    left = lab.get("Deployment", "train", "work")
    assert left is not None
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]
    lab.advance(seconds=21)
    assert lab.get("Deployment", "train", "work") is None
    assert lab.exists("Pod", "work") == []


def test_an_orphaned_pod_stays(lab: RunningCluster) -> None:
    lab.create("Deployment", deployment("train", 1), "work")
    lab.settle()
    for plural in ("deployments", "replicasets"):
        listed = lab.ask("GET", f"/apis/apps/v1/namespaces/work/{plural}").body["items"]
        for one in listed:
            path = f"/apis/apps/v1/namespaces/work/{plural}/{one['metadata']['name']}"
            lab.ask("DELETE", path, {"propagationPolicy": "Orphan"})
        lab.settle()
    (left,) = lab.cluster.objects("Pod", "work")
    assert left["metadata"].get("ownerReferences", []) == []
