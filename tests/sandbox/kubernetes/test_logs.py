"""The logs of simulated pods: honest lines, cut as they are asked for, and followed until the end."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from tests.sandbox.kubernetes.objects import pod

LOG = "/api/v1/namespaces/work/pods/train/log"
SIMULATED = "This container is simulated: registry.example.com/train:1 was not pulled, and nothing runs in it."
PORT = "Port 8888: kubectl port-forward train 8888 shows a small page of the simulator."
ENDS = {"sandbox.lessor.dev/runs-for": "60", "sandbox.lessor.dev/exit-code": "3"}


@pytest.fixture
def running(lab: RunningCluster) -> RunningCluster:
    made: dict[str, Any] = pod("train", 1, restartPolicy="Never")
    made["metadata"]["annotations"] = ENDS
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 8888}]
    lab.create("Pod", made, "work")
    lab.settle()
    return lab


def test_they_say_that_nothing_runs_and_what_is_held(running: RunningCluster) -> None:
    node = running.get("Pod", "train", "work")["spec"]["nodeName"]  # type: ignore[index]
    held = f"It holds 1 x nvidia.com/gpu (NVIDIA-A100-SXM4-80GB) on {node}."
    assert running.ask("GET", LOG).text == f"{SIMULATED}\n{held}\n{PORT}\n"


def test_they_are_cut_as_they_are_asked_for(running: RunningCluster) -> None:
    begun = running.get("Pod", "train", "work")["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]  # type: ignore[index]
    assert running.ask("GET", LOG, tailLines="1").text == f"{PORT}\n"
    assert running.ask("GET", LOG, tailLines="0").text == ""
    assert running.ask("GET", LOG, tailLines="1", timestamps="true").text == f"{begun} {PORT}\n"
    assert running.ask("GET", LOG, limitBytes="4").text == SIMULATED[:4]
    running.advance(minutes=2)
    assert running.ask("GET", LOG, sinceSeconds="90").text == "It ended with exit code 3.\n"
    assert running.ask("GET", LOG, tailLines="x").code == 400


def test_what_has_not_started_has_no_log_and_says_why(lab: RunningCluster) -> None:
    lab.set(pulling=False)
    lab.create("Pod", pod("train"), "work")
    lab.settle()
    refused = lab.ask("GET", LOG).body
    assert (refused["code"], refused["reason"]) == (400, "BadRequest")
    assert refused["message"] == 'container "main" in pod "train" is waiting to start: ImagePullBackOff'


def test_a_container_that_never_ended_before_has_no_previous_log(running: RunningCluster) -> None:
    refused = running.ask("GET", LOG, previous="true").body
    assert refused["message"] == 'previous terminated container "main" in pod "train" not found'


def test_a_node_that_is_away_is_an_error_and_no_empty_log(running: RunningCluster) -> None:
    node = running.get("Pod", "train", "work")["spec"]["nodeName"]  # type: ignore[index]
    running.status("Node", node, {"conditions": [{"type": "Ready", "status": "Unknown"}]})
    refused = running.ask("GET", LOG)
    assert refused.code == 500
    assert refused.body["message"] == f"error dialing backend: the simulated node {node} does not answer"


def test_what_is_said_before_they_are_followed_is_not_lost(running: RunningCluster) -> None:
    log = running.ask("GET", LOG, follow="true").following
    assert log is not None
    running.advance(minutes=2)
    assert [line for _, line in log.lines()[log.known :]] == ["It ended with exit code 3."]


def test_they_are_followed_until_the_container_ends(running: RunningCluster) -> None:
    headers = {"authorization": f"Bearer {running.cluster.accounts.admin()}"}
    url = f"{running.base_url}{LOG}?follow=true&tailLines=1"
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as log:
        assert log.readline().decode() == f"{PORT}\n"
        running.advance(minutes=2)
        assert log.read().decode() == "It ended with exit code 3.\n"


def test_who_may_only_look_sees_logs(running: RunningCluster) -> None:
    for name, role in (("looks", "view"), ("nobody", "")):
        running.create("ServiceAccount", {"metadata": {"name": name}}, "work")
        account = {"kind": "ServiceAccount", "name": name, "namespace": "work"}
        if role:
            of = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
            running.create("RoleBinding", {"metadata": {"name": name}, "roleRef": of, "subjects": [account]}, "work")
    codes = {name: running.ask("GET", LOG, token=token_of(running, name)).code for name in ("looks", "nobody")}
    assert codes == {"looks": 200, "nobody": 403}


def token_of(lab: RunningCluster, name: str) -> str:
    account = lab.get("ServiceAccount", name, "work")
    assert account is not None
    return lab.cluster.accounts.issue(account, 600)[0]
