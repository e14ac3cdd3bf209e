"""What the controllers of the simulated cluster do with pods, disks and quotas."""

from __future__ import annotations

from lessor.sandbox.kubernetes import RunningCluster
from tests.sandbox.kubernetes.objects import condition, deployment, job, pod, pod_spec, quota, stateful_set


def test_a_deployment_replaces_a_pod_that_somebody_deletes(lab: RunningCluster) -> None:
    lab.create("Deployment", deployment("train", 2, gpus=1), "work")
    lab.settle()
    before = lab.exists("Pod", "work")
    lab.delete("Pod", before[0].split("/")[1], "work")
    lab.settle()
    after = lab.exists("Pod", "work")
    assert len(before) == len(after) == 2
    assert before[0] not in after
    assert lab.get("Deployment", "train", "work")["status"]["readyReplicas"] == 2  # type: ignore[index]


def test_a_deployment_of_none_has_no_pods(lab: RunningCluster) -> None:
    lab.create("Deployment", deployment("train", 2, gpus=1), "work")
    lab.settle()
    lab.change("Deployment", "train", {"spec": {"replicas": 0}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []
    assert "readyReplicas" not in lab.get("Deployment", "train", "work")["status"]  # type: ignore[index]


def test_disks_of_a_stateful_set_outlive_it(lab: RunningCluster) -> None:
    lab.create("StatefulSet", stateful_set("shell", 2), "work")
    lab.settle()
    assert lab.exists("Pod", "work") == ["work/shell-0", "work/shell-1"]
    lab.delete("StatefulSet", "shell", "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []
    assert lab.exists("PersistentVolumeClaim", "work") == ["work/data-shell-0", "work/data-shell-1"]
    assert len(lab.exists("PersistentVolume")) == 2


def test_a_class_that_keeps_leaves_a_released_volume_behind(lab: RunningCluster) -> None:
    lab.create("StatefulSet", stateful_set("shell", 1, storageClassName="keep"), "work")
    lab.settle()
    (name,) = lab.exists("PersistentVolume")
    lab.delete("Namespace", "work")
    lab.settle()
    assert lab.exists("PersistentVolumeClaim", "work") == []
    volume = lab.get("PersistentVolume", name)
    assert volume is not None
    assert volume["status"]["phase"] == "Released"
    assert volume["spec"]["claimRef"]["namespace"] == "work"


def test_a_claim_stays_while_a_pod_mounts_it(lab: RunningCluster) -> None:
    lab.create("StatefulSet", stateful_set("shell"), "work")
    lab.settle()
    lab.delete("PersistentVolumeClaim", "data-shell-0", "work")
    lab.settle()
    claim = lab.get("PersistentVolumeClaim", "data-shell-0", "work")
    assert claim is not None
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    lab.change("StatefulSet", "shell", {"spec": {"replicas": 0}}, "work")
    lab.settle()
    assert lab.exists("PersistentVolumeClaim", "work") == []


def test_a_suspended_job_has_no_pods_and_goes_on_afterwards(lab: RunningCluster) -> None:
    lab.create("Job", job("train", gpus=1), "work")
    lab.settle()
    assert len(lab.exists("Pod", "work")) == 1
    lab.change("Job", "train", {"spec": {"suspend": True}}, "work")
    lab.settle()
    assert lab.exists("Pod", "work") == []
    assert condition(lab.get("Job", "train", "work"), "Suspended")["status"] == "True"  # type: ignore[arg-type]
    lab.change("Job", "train", {"spec": {"suspend": False}}, "work")
    lab.settle()
    assert len(lab.exists("Pod", "work")) == 1


def test_a_job_ends_when_its_pod_does(lab: RunningCluster) -> None:
    lab.create("Job", job("train", annotations={"sandbox.lessor.dev/runs-for": "60"}), "work")
    lab.settle()
    assert lab.cluster.objects("Pod", "work")[0]["status"]["phase"] == "Running"
    lab.advance(seconds=61)
    assert lab.cluster.objects("Pod", "work")[0]["status"]["phase"] == "Succeeded"
    assert condition(lab.get("Job", "train", "work"), "Complete")["status"] == "True"  # type: ignore[arg-type]


def test_a_cron_job_makes_a_job_at_its_minutes(lab: RunningCluster) -> None:
    template = {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}}
    spec = {"schedule": "* * * * *", "jobTemplate": template, "concurrencyPolicy": "Forbid"}
    lab.create("CronJob", {"metadata": {"name": "nightly"}, "spec": spec}, "work")
    lab.settle()
    assert lab.exists("Job", "work") == []
    lab.advance(minutes=1)
    assert len(lab.exists("Job", "work")) == 1
    lab.change("CronJob", "nightly", {"spec": {"suspend": True}}, "work")
    lab.advance(minutes=5)
    assert len(lab.exists("Job", "work")) == 1


def test_the_scheduler_says_why_a_pod_waits(lab: RunningCluster) -> None:
    lab.create("Pod", pod("big", gpus=9), "work")
    lab.settle()
    waiting = lab.get("Pod", "big", "work")
    assert waiting is not None
    told = condition(waiting, "PodScheduled")
    assert (told["status"], told["reason"]) == ("False", "Unschedulable")
    assert told["message"].startswith("0/6 nodes are available: 6 Insufficient nvidia.com/gpu.")
    (event,) = lab.cluster.objects("Event", "work")
    assert (event["reason"], event["involvedObject"]["name"]) == ("FailedScheduling", "big")


def test_cordoned_nodes_and_taints_keep_pods_away(lab: RunningCluster) -> None:
    for name in ("gpu-a100-1", "gpu-a100-2"):
        lab.change("Node", name, {"spec": {"unschedulable": True}})
    lab.create("Pod", pod("train", 1, tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]), "work")
    lab.settle()
    assert lab.get("Pod", "train", "work")["spec"]["nodeName"] == "gpu-h100-1"  # type: ignore[index]
    lab.create("Pod", pod("stranger", 1, tolerations=[]), "work")
    lab.settle()
    told = condition(lab.get("Pod", "stranger", "work"), "PodScheduled")["message"]  # type: ignore[arg-type]
    assert "2 node(s) were unschedulable" in told
    assert "2 node(s) had untolerated taint(s) {nvidia.com/gpu: present}" in told


def test_a_quota_counts_and_refuses(lab: RunningCluster) -> None:
    lab.create("ResourceQuota", quota(**{"requests.nvidia.com/gpu": "2", "nvidia.com/gpu": "1"}), "work")
    lab.settle()
    lab.create("Deployment", deployment("train", 3, gpus=1), "work")
    lab.settle()
    assert len(lab.exists("Pod", "work")) == 2
    status = lab.get("ResourceQuota", "gpus", "work")["status"]  # type: ignore[index]
    assert status["used"] == {"requests.nvidia.com/gpu": "2"}
    failure = condition(lab.get("Deployment", "train", "work"), "ReplicaFailure")  # type: ignore[arg-type]
    assert failure["message"].endswith(
        "is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, "
        "limited: requests.nvidia.com/gpu=2"
    )


def test_finished_pods_give_their_quota_back(lab: RunningCluster) -> None:
    lab.create("ResourceQuota", quota(**{"requests.nvidia.com/gpu": "1"}), "work")
    lab.settle()
    lab.create("Job", job("train", gpus=1, annotations={"sandbox.lessor.dev/runs-for": "60"}), "work")
    lab.settle()
    used = lab.get("ResourceQuota", "gpus", "work")["status"]["used"]  # type: ignore[index]
    lab.advance(seconds=61)
    after = lab.get("ResourceQuota", "gpus", "work")["status"]["used"]  # type: ignore[index]
    assert (used, after) == ({"requests.nvidia.com/gpu": "1"}, {"requests.nvidia.com/gpu": "0"})
