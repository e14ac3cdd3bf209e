"""Add-ons of the simulated cluster: queues of Kueue, Ray, Kubeflow."""

from __future__ import annotations

from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.kinds import KUBEFLOW, KUEUE, RAY
from tests.sandbox.kubernetes.objects import condition, job, pod, pod_spec

GPU = "nvidia.com/gpu"
Obj = dict[str, Any]


@pytest.fixture
def queued(lab: RunningCluster) -> RunningCluster:
    """A cluster with one queue for two GPUs, into which all that runs in `work` has to go."""
    lab.add_on(KUEUE)
    flavor = {"name": "a100", "resources": [{"name": GPU, "nominalQuota": "2"}]}
    lab.create("ResourceFlavor", {"metadata": {"name": "a100"}, "spec": {}})
    spec = {"resourceGroups": [{"coveredResources": [GPU], "flavors": [flavor]}]}
    lab.create("ClusterQueue", {"metadata": {"name": "gpus"}, "spec": spec})
    lab.create("LocalQueue", {"metadata": {"name": "default"}, "spec": {"clusterQueue": "gpus"}}, "work")
    lab.settle()
    return lab


def test_jobs_wait_for_room_and_go_on_when_there_is(queued: RunningCluster) -> None:
    for name in ("a", "b"):
        queued.create("Job", job(name, 2, annotations={"sandbox.lessor.dev/runs-for": "60"}), "work")
        queued.settle()
    assert [one["metadata"]["labels"]["batch.kubernetes.io/job-name"] for one in _pods(queued)] == ["a"]
    (waiting,) = [one for one in queued.cluster.objects("Workload") if "admission" not in one["status"]]
    assert condition(waiting, "QuotaReserved")["message"].endswith(f"insufficient unused quota for {GPU}")
    status = queued.get("ClusterQueue", "gpus")["status"]  # type: ignore[index]
    assert (status["pendingWorkloads"], status["admittedWorkloads"]) == (1, 1)
    queued.advance(seconds=61)
    running = [one for one in _pods(queued) if one["status"]["phase"] == "Running"]
    assert [one["metadata"]["labels"]["batch.kubernetes.io/job-name"] for one in running] == ["b"]


def test_a_pod_is_gated_until_its_queue_lets_it_go(queued: RunningCluster) -> None:
    queued.create("Pod", pod("first", 2), "work")
    queued.settle()
    queued.create("Pod", pod("second", 1), "work")
    queued.settle()
    first, second = _pods(queued)
    assert first["status"]["phase"] == "Running"
    assert second["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}]
    assert condition(second, "PodScheduled")["reason"] == "SchedulingGated"
    queued.delete("Pod", "first", "work")
    queued.settle()
    assert [one["status"]["phase"] for one in _pods(queued)] == ["Running"]


def test_a_queue_that_is_stopped_lets_nothing_run(queued: RunningCluster) -> None:
    queued.create("Job", job("a", 1), "work")
    queued.settle()
    assert len(_pods(queued)) == 1
    queued.change("LocalQueue", "default", {"spec": {"stopPolicy": "HoldAndDrain"}}, "work")
    queued.settle()
    assert _pods(queued) == []
    (workload,) = queued.cluster.objects("Workload")
    assert condition(workload, "Evicted")["reason"] == "LocalQueueStopped"
    queued.change("LocalQueue", "default", {"spec": {"stopPolicy": "None"}}, "work")
    queued.settle()
    assert len(_pods(queued)) == 1


def test_a_ray_cluster_has_pods_until_it_is_suspended(lab: RunningCluster) -> None:
    lab.add_on(RAY)
    template = {"spec": pod_spec(1)}
    workers = [{"groupName": "small", "replicas": 2, "template": template}]
    spec = {"headGroupSpec": {"template": {"spec": pod_spec()}}, "workerGroupSpecs": workers}
    lab.create("RayCluster", {"metadata": {"name": "ray"}, "spec": spec}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == ["work/ray-head-0", "work/ray-small-0", "work/ray-small-1"]
    lab.change("RayCluster", "ray", {"spec": {"suspend": True}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []
    assert lab.get("RayCluster", "ray", "work")["status"]["state"] == "suspended"  # type: ignore[index]


def test_a_pytorch_job_is_suspended_by_its_run_policy(lab: RunningCluster) -> None:
    lab.add_on(KUBEFLOW)
    replicas = {
        "Master": {"template": {"spec": pod_spec(1)}},
        "Worker": {"replicas": 2, "template": {"spec": pod_spec(1)}},
    }
    lab.create("PyTorchJob", {"metadata": {"name": "fit"}, "spec": {"pytorchReplicaSpecs": replicas}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == ["work/fit-master-0", "work/fit-worker-0", "work/fit-worker-1"]
    lab.change("PyTorchJob", "fit", {"spec": {"runPolicy": {"suspend": True}}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []


def test_a_notebook_is_stopped_by_its_annotation(lab: RunningCluster) -> None:
    lab.add_on(KUBEFLOW)
    lab.create("Notebook", {"metadata": {"name": "nb"}, "spec": {"template": {"spec": pod_spec(1)}}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == ["work/nb-0"]
    stopped = {"metadata": {"annotations": {"kubeflow-resource-stopped": "2026-11-28T09:00:00Z"}}}
    lab.change("Notebook", "nb", stopped, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []
    lab.change("Notebook", "nb", {"metadata": {"annotations": {"kubeflow-resource-stopped": None}}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == ["work/nb-0"]


def _pods(lab: RunningCluster) -> list[Obj]:
    return lab.cluster.objects("Pod", "work")
