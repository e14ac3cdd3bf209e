"""What `kubectl get` shows of the simulated cluster: ages, changes as they come, and what add-ons bring."""

from __future__ import annotations

import json
import urllib.request
from datetime import timedelta
from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.answering import answer
from lessor.sandbox.kubernetes.calls import Call
from lessor.sandbox.kubernetes.kinds import KUBEFLOW, KUEUE, RAY
from lessor.sandbox.kubernetes.tables.columns import lasting
from tests.sandbox.kubernetes.objects import pod
from tests.sandbox.kubernetes.table_scenes import TABLE

Obj = dict[str, Any]
PODS = "/api/v1/namespaces/work/pods"


def rows(lab: RunningCluster, path: str, *, wide: bool = False) -> list[dict[str, Any]]:
    """Cells by the names of their columns."""
    table = answer(lab.cluster, Call("GET", path, headers=_taking(lab))).body
    heads = [one for one in table["columnDefinitions"] if wide or not one["priority"]]
    return [{head["name"]: cell for head, cell in zip(heads, row["cells"], strict=wide)} for row in table["rows"]]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0s"), (-2, "<invalid>"), (0, "0s"), (119, "119s"), (120, "2m"), (121, "2m1s"), (599, "9m59s"),
        (600, "10m"), (10_799, "179m"), (10_800, "3h"), (10_860, "3h1m"), (28_800, "8h"), (172_799, "47h"),
        (172_800, "2d"), (176_400, "2d1h"), (691_199, "7d23h"), (691_200, "8d"), (63_071_999, "729d"),
        (63_072_000, "2y"), (63_158_400, "2y1d"), (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_lengths_of_time_are_told_in_few_letters(seconds: int, told: str) -> None:
    assert lasting(timedelta(seconds=seconds)) == told


def test_a_pod_is_seen_to_run_and_where(lab: RunningCluster) -> None:
    lab.create("Pod", pod("train", 1), "work")
    lab.settle()
    lab.advance(minutes=5)
    (row,) = rows(lab, PODS, wide=True)
    node, address = (lab.get("Pod", "train", "work") or {})["spec"]["nodeName"], row.pop("IP")
    assert address.startswith("10.244.0.")
    assert row == {
        "Name": "train", "Ready": "1/1", "Status": "Running", "Restarts": "0", "Age": "5m", "Node": node,
        "Nominated Node": "<none>", "Readiness Gates": "<none>",
    }  # fmt: skip


def test_a_node_says_what_holds_it_back(lab: RunningCluster) -> None:
    lab.change("Node", "gpu-a100-1", {"spec": {"unschedulable": True}})
    (row,) = rows(lab, "/api/v1/nodes/gpu-a100-1")
    assert row["Status"] == "Ready,SchedulingDisabled"
    assert row["Version"] == "v1.37.0+sandbox"


def test_the_class_of_disks_that_is_taken_by_itself_says_so(lab: RunningCluster) -> None:
    path = "/apis/storage.k8s.io/v1/storageclasses"
    assert [row["Name"] for row in rows(lab, path)] == ["keep", "standard (default)"]
    listed = answer(lab.cluster, Call("GET", path, {"includeObject": "Object"}, _taking(lab))).body
    assert listed["rows"][1]["object"] == lab.get("StorageClass", "standard")


def test_a_watch_tells_each_change_as_a_table_and_the_columns_once(lab: RunningCluster) -> None:
    lab.create("Pod", pod("a"), "work")
    lab.settle()
    version = lab.ask("GET", PODS).body["metadata"]["resourceVersion"]
    lab.delete("Pod", "a", "work")
    lab.settle()
    url = f"{lab.base_url}{PODS}?watch=true&timeoutSeconds=0.2&resourceVersion={version}"
    with urllib.request.urlopen(urllib.request.Request(url, headers=_taking(lab)), timeout=60) as told:
        events = [json.loads(line) for line in told]
    assert [(one["type"], one["object"]["kind"]) for one in events] == [("MODIFIED", "Table"), ("DELETED", "Table")]
    assert [one["object"]["rows"][0]["cells"][:3] for one in events] == [["a", "1/1", "Terminating"]] * 2
    assert [one["object"]["columnDefinitions"] is None for one in events] == [False, True]


def test_add_ons_bring_their_columns(lab: RunningCluster) -> None:
    lab.add_on(KUEUE, RAY, KUBEFLOW)
    lab.create("LocalQueue", {"metadata": {"name": "q"}, "spec": {"clusterQueue": "gpus"}}, "work")
    lab.status("LocalQueue", "q", {"pendingWorkloads": 3, "admittedWorkloads": 0}, "work")
    lab.create("RayCluster", {"metadata": {"name": "ray"}, "spec": {}}, "work")
    lab.status("RayCluster", "ray", {"desiredGPU": "4", "state": "ready"}, "work")
    lab.create("Notebook", {"metadata": {"name": "n"}, "spec": {}}, "work")
    (queue,) = rows(lab, "/apis/kueue.x-k8s.io/v1beta1/namespaces/work/localqueues")
    (ray,) = rows(lab, "/apis/ray.io/v1/namespaces/work/rayclusters")
    (notebook,) = rows(lab, "/apis/kubeflow.org/v1/namespaces/work/notebooks")
    assert queue == {"Name": "q", "ClusterQueue": "gpus", "Pending Workloads": 3, "Admitted Workloads": 0}
    assert (ray["gpus"], ray["status"], ray["cpus"]) == ("4", "ready", None)
    assert list(notebook) == ["Name", "Age"]


def _taking(lab: RunningCluster) -> dict[str, str]:
    return {"authorization": f"Bearer {lab.cluster.accounts.admin()}", "accept": TABLE}
