"""Lists in pages, watches, and what the simulated cluster forgets."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.kinds import KUEUE
from tests.sandbox.kubernetes.objects import pod

PODS = "/api/v1/namespaces/work/pods"


@pytest.fixture
def many(lab: RunningCluster) -> RunningCluster:
    for name in "abcde":
        lab.create("Pod", pod(name), "work")
    lab.settle()
    return lab


def test_a_list_comes_in_pages_as_it_was_at_its_beginning(many: RunningCluster) -> None:
    first = many.ask("GET", PODS, limit="2").body
    assert _names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    second = many.ask("GET", PODS, limit="2", **{"continue": first["metadata"]["continue"]}).body
    assert _names(second) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = many.ask("GET", PODS, limit="2", **{"continue": second["metadata"]["continue"]}).body
    assert _names(last) == ["e"]
    assert "continue" not in last["metadata"]


def test_a_page_of_a_forgotten_list_is_gone_and_offers_to_go_on_inconsistently(many: RunningCluster) -> None:
    token = many.ask("GET", PODS, limit="2").body["metadata"]["continue"]
    many.create("Pod", pod("f"), "work")
    many.forget_history()
    gone = many.ask("GET", PODS, limit="2", **{"continue": token})
    assert (gone.code, gone.body["reason"]) == (410, "Expired")
    rest = many.ask("GET", PODS, **{"continue": gone.body["metadata"]["continue"]}).body
    assert _names(rest) == ["c", "d", "e", "f"]


def test_what_people_run_is_what_kubectl_calls_all(lab: RunningCluster) -> None:
    found = [one for path in ("/api/v1", "/apis/apps/v1", "/apis/batch/v1") for one in _served(lab, path)]
    kinds = ["Pod", "Service", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"]
    assert [one["kind"] for one in found if "all" in one.get("categories", [])] == kinds


def test_items_of_built_in_kinds_do_not_say_what_they_are(many: RunningCluster) -> None:
    many.add_on(KUEUE)
    many.create("LocalQueue", {"metadata": {"name": "q"}, "spec": {"clusterQueue": "gpus"}}, "work")
    item = many.ask("GET", PODS).body["items"][0]
    queue = many.ask("GET", "/apis/kueue.x-k8s.io/v1beta1/namespaces/work/localqueues").body["items"][0]
    assert "kind" not in item
    assert (queue["apiVersion"], queue["kind"]) == ("kueue.x-k8s.io/v1beta1", "LocalQueue")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=x", ["a"]),
        ("app!=x", ["b", "c"]),
        ("app in (x,y)", ["a", "b"]),
        ("app notin (x)", ["b", "c"]),
        ("app", ["a", "b"]),
        ("!app", ["c"]),
        ("app=x,tier", []),
    ],
)
def test_labels_are_selected_as_the_server_does(lab: RunningCluster, selector: str, found: list[str]) -> None:
    for name, labels in (("a", {"app": "x"}), ("b", {"app": "y"}), ("c", {})):
        made = pod(name)
        made["metadata"]["labels"] = labels
        lab.create("Pod", made, "work")
    assert _names(lab.ask("GET", PODS, labelSelector=selector).body) == found


def test_pods_are_selected_by_their_node(many: RunningCluster) -> None:
    node = many.get("Pod", "a", "work")["spec"]["nodeName"]  # type: ignore[index]
    assert _names(many.ask("GET", PODS, fieldSelector=f"spec.nodeName={node}").body) == ["a", "b", "c", "d", "e"]
    assert _names(many.ask("GET", PODS, fieldSelector=f"spec.nodeName!={node}").body) == []


def test_a_watch_tells_each_change_after_its_version(many: RunningCluster) -> None:
    version = many.ask("GET", PODS).body["metadata"]["resourceVersion"]
    many.create("Pod", pod("f"), "work")
    many.change("Pod", "f", {"metadata": {"labels": {"x": "y"}}}, "work")
    many.delete("Pod", "f", "work")
    events = list(_watched(many, version))
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in events] == [
        ("ADDED", "f"),
        ("MODIFIED", "f"),
        ("DELETED", "f"),
    ]


def test_a_watch_from_a_forgotten_version_ends_with_an_error(many: RunningCluster) -> None:
    version = many.ask("GET", PODS).body["metadata"]["resourceVersion"]
    many.create("Pod", pod("f"), "work")
    many.forget_history()
    (event,) = _watched(many, version)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_what_is_served_can_be_discovered(lab: RunningCluster) -> None:
    groups = {one["name"] for one in lab.ask("GET", "/apis").body["groups"]}
    assert {"apps", "batch", "rbac.authorization.k8s.io", "resource.k8s.io"} <= groups
    assert "kueue.x-k8s.io" not in groups
    assert lab.ask("GET", "/apis/kueue.x-k8s.io/v1beta1").text == "404 page not found\n"
    lab.add_on(KUEUE)
    listed = {one["name"] for one in lab.ask("GET", "/apis/kueue.x-k8s.io/v1beta1").body["resources"]}
    assert {"localqueues", "clusterqueues", "workloads", "workloads/status"} <= listed


def _names(listed: dict[str, Any]) -> list[str]:
    return [one["metadata"]["name"] for one in listed["items"]]


def _watched(lab: RunningCluster, version: str) -> Iterator[dict[str, Any]]:
    """What a watch of pods tells until it ends by itself."""
    url = f"{lab.base_url}{PODS}?watch=true&timeoutSeconds=0.2&resourceVersion={version}"
    headers = {"authorization": f"Bearer {lab.cluster.accounts.admin()}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        for line in answer:
            yield json.loads(line)


def _served(lab: RunningCluster, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.ask("GET", path).body["resources"]
    return found
