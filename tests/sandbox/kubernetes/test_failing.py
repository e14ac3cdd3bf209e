"""What goes wrong in the simulated cluster when it is told to."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from tests.sandbox.kubernetes.objects import condition, deployment, pod, stateful_set

PODS = "/api/v1/namespaces/work/pods"


def test_an_error_hits_what_it_is_meant_for_and_as_often_as_said(lab: RunningCluster) -> None:
    lab.fail(code=503, verb="list", resource="pods", namespace="work", times=2)
    assert lab.ask("GET", "/api/v1/namespaces/default/pods").code == 200
    assert [lab.ask("GET", PODS).code for _ in range(3)] == [503, 503, 200]


def test_too_many_requests_say_how_long_to_wait(lab: RunningCluster) -> None:
    lab.fail(code=429, seconds=3)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{lab.base_url}{PODS}", timeout=60)
    assert (refused.value.code, refused.value.headers["retry-after"]) == (429, "3")
    refused.value.close()


def test_a_lost_answer_has_had_its_effect_and_a_lost_request_has_not(lab: RunningCluster) -> None:
    lab.fail("lose-request", verb="create")
    assert lab.ask("POST", PODS, pod("a")).lost
    assert lab.exists("Pod", "work") == []
    lab.fail("lose-answer", verb="create")
    assert lab.ask("POST", PODS, pod("a")).lost
    assert lab.exists("Pod", "work") == ["work/a"]


def test_a_connection_breaks_where_an_answer_is_lost(lab: RunningCluster) -> None:
    lab.fail("lose-answer")
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(f"{lab.base_url}/version", timeout=60)


def test_without_capacity_pods_wait_and_say_so(lab: RunningCluster) -> None:
    lab.set(scheduling=False)
    lab.create("Pod", pod("a", 1), "work")
    lab.settle()
    told = condition(lab.get("Pod", "a", "work"), "PodScheduled")  # type: ignore[arg-type]
    assert told["message"].startswith("0/6 nodes are available: 6 Insufficient nvidia.com/gpu")
    lab.set(scheduling=True)
    lab.settle()
    assert lab.get("Pod", "a", "work")["status"]["phase"] == "Running"  # type: ignore[index]


def test_an_image_that_cannot_be_pulled_holds_the_gpu(lab: RunningCluster) -> None:
    lab.set(pulling=False)
    lab.create("Pod", pod("a", 1), "work")
    lab.settle()
    stuck = lab.get("Pod", "a", "work")
    assert stuck is not None
    assert stuck["spec"]["nodeName"] == "gpu-a100-1"
    assert stuck["status"]["phase"] == "Pending"
    assert stuck["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"


def test_a_finalizer_keeps_a_namespace_and_says_what_holds_it(lab: RunningCluster) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    lab.create("ConfigMap", held, "work")
    lab.create("Deployment", deployment("train", gpus=1), "work")
    lab.settle()
    lab.delete("Namespace", "work")
    lab.settle()
    namespace = lab.get("Namespace", "work")
    assert namespace is not None
    assert namespace["status"]["phase"] == "Terminating"
    assert lab.exists("Pod", "work") == []
    remains = condition(namespace, "NamespaceContentRemaining")
    assert remains["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
    holds = condition(namespace, "NamespaceFinalizersRemaining")
    assert holds["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    )
    lab.change("ConfigMap", "held", {"metadata": {"finalizers": None}}, "work")
    lab.settle()
    assert lab.get("Namespace", "work") is None


def test_a_group_that_is_away_keeps_namespaces_from_going(lab: RunningCluster) -> None:
    lab.set(unavailable=["resource.k8s.io"])
    assert lab.ask("GET", "/apis/resource.k8s.io/v1").code == 503
    lab.delete("Namespace", "work")
    lab.settle()
    told = condition(lab.get("Namespace", "work"), "NamespaceDeletionDiscoveryFailure")  # type: ignore[arg-type]
    assert (told["status"], "resource.k8s.io" in told["message"]) == ("True", True)
    lab.set(unavailable=[])
    lab.settle()
    assert lab.get("Namespace", "work") is None


def test_disks_that_cannot_be_deleted_stay_and_say_so(lab: RunningCluster) -> None:
    lab.create("StatefulSet", stateful_set("shell"), "work")
    lab.settle()
    lab.set(disks_stuck=True)
    lab.delete("Namespace", "work")
    lab.settle()
    (volume,) = lab.cluster.objects("PersistentVolume")
    assert (volume["status"]["phase"], volume["status"]["reason"]) == ("Failed", "VolumeFailedDelete")
    lab.set(disks_stuck=False)
    lab.settle()
    assert lab.exists("PersistentVolume") == []


def test_a_node_that_does_not_answer_keeps_its_pods(lab: RunningCluster) -> None:
    lab.create("Pod", pod("a", 1), "work")
    lab.settle()
    lab.status("Node", "gpu-a100-1", {"conditions": [{"type": "Ready", "status": "Unknown"}]})
    lab.delete("Pod", "a", "work")
    lab.advance(minutes=5)
    left = lab.get("Pod", "a", "work")
    assert left is not None
    assert "deletionTimestamp" in left["metadata"]


def test_what_was_asked_is_remembered_with_the_options_of_deletions(lab: RunningCluster) -> None:
    lab.create("Pod", pod("a"), "work")
    lab.settle()
    made = lab.get("Pod", "a", "work")
    assert made is not None
    options = {"propagationPolicy": "Background", "preconditions": {"uid": made["metadata"]["uid"]}}
    lab.ask("DELETE", f"{PODS}/a", options)
    (heard,) = lab.heard("delete", "pods")
    assert (heard.namespace, heard.name, heard.code, heard.options) == ("work", "a", 200, options)
