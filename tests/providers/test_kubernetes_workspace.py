"""How a workspace begins: what runs in it, what it may do, and what is told when it does not run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Need, Workload
from lessor.domain.resource import Kind
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import launching, usable
from lessor.providers.kubernetes.api import CLAIM, LOCAL_QUEUE, NAMESPACE, POD, STATEFUL_SET, Obj
from lessor.providers.kubernetes.place import Workspace
from tests.providers.attempts import Beats, silent
from tests.providers.kube_leases import BEGIN, LEASE, Beginning
from tests.providers.kube_nodes import gpu_node


@pytest.fixture
def world() -> Beginning:
    return Beginning()


def a_workspace(world: Beginning, **changes: Any) -> Any:
    return world.order(kind=LeaseKind.WORKSPACE, **changes)


def pod_of(world: Beginning) -> Obj:
    found: Obj = world.obj(STATEFUL_SET, "workspace")["spec"]["template"]
    return found


def box_of(world: Beginning) -> Obj:
    (found,) = pod_of(world)["spec"]["containers"]
    return dict(found)


def test_a_workspace_is_a_namespace_with_one_pod_and_its_disk(world: Beginning) -> None:
    made = world.lease(a_workspace(world))
    volume = world.obj(CLAIM, "data")["spec"]["volumeName"]
    assert [(r.kind, r.id.partition("@")[0]) for r in made.resources] == [
        (Kind.NAMESPACE, LEASE),
        (Kind.WORKLOAD, f"{LEASE}/workspace"),
        (Kind.CLAIM, f"{LEASE}/data"),
        (Kind.VOLUME, volume),
    ]
    assert (made.disk_gib, made.disk_monthly) == (200, Money(Decimal("0.10")))
    assert made.access.splitlines() == [
        f"lessor access {LEASE} --kubeconfig {LEASE}.kubeconfig",
        f"kubectl --kubeconfig {LEASE}.kubeconfig port-forward statefulset/workspace 8888",
        f"kubectl --kubeconfig {LEASE}.kubeconfig exec -it workspace-0 -- sh",
    ]


def test_it_may_do_what_an_ordinary_process_may(world: Beginning) -> None:
    world.launch(a_workspace(world))
    labels = world.obj(NAMESPACE, LEASE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    spec, box = pod_of(world)["spec"], box_of(world)
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert box["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


def test_it_gets_its_gpus_on_nodes_that_have_them(world: Beginning) -> None:
    world.api.add(gpu_node("node-c", product="NVIDIA-A100-80GB-PCIe"))
    world.config = replace(world.config, node_selector={}, tolerations={"nvidia.com/gpu": "", "dedicated": "research"})
    world.launch(a_workspace(world, gpus=3))
    spec, box = pod_of(world)["spec"], box_of(world)
    amounts = {"cpu": "12", "memory": "96Gi", "nvidia.com/gpu": "3"}
    assert box["resources"] == {"requests": amounts, "limits": amounts}
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {
                    "key": "nvidia.com/gpu.product",
                    "operator": "In",
                    "values": ["NVIDIA-A100-80GB-PCIe", "NVIDIA-A100-SXM4-80GB"],
                }
            ]
        }
    ]
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "research"},
    ]


def test_it_stays_on_the_nodes_of_the_place(world: Beginning) -> None:
    world.api.add(gpu_node("node-c", labels={"pool": "research"}))
    world.config = replace(world.config, node_selector={"pool": "research"})
    world.launch(a_workspace(world))
    affinity = pod_of(world)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    assert term["matchExpressions"][1] == {"key": "pool", "operator": "In", "values": ["research"]}


def test_the_image_is_that_of_the_workload_class_and_the_rest_as_configured(world: Beginning) -> None:
    world.config = replace(
        world.config,
        storage_class="fast",
        workspace=Workspace(
            image="example.test/base:1",
            images={"training": "example.test/torch:2"},
            command=("sleep", "infinity"),
            port=2222,
            mount="/home/me",
            cpu="500m",
            memory="1.5Gi",
            user=4711,
        ),
    )
    world.launch(a_workspace(world, workload=Workload.TRAINING, disk_gib=64))
    box, claim = box_of(world), world.obj(CLAIM, "data")
    assert (box["image"], box["command"]) == ("example.test/torch:2", ["sleep", "infinity"])
    assert (box["workingDir"], box["ports"]) == ("/home/me", [{"name": "http", "containerPort": 2222}])
    assert (box["resources"]["limits"]["cpu"], box["resources"]["limits"]["memory"]) == ("1000m", "3Gi")
    assert pod_of(world)["spec"]["securityContext"]["runAsUser"] == 4711
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "64Gi"


def test_it_waits_in_the_queue_where_there_is_one(world: Beginning) -> None:
    world.api.extra.add(LOCAL_QUEUE)
    world.config = replace(world.config, cluster_queue="gpus")
    world.launch(a_workspace(world))
    labels = world.obj(STATEFUL_SET, "workspace")["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "default"
    assert labels["lessor.dev/lease"] == LEASE


# -- waiting --------------------------------------------------------------------------------------------------------


def test_a_pod_without_a_node_is_told_with_the_schedulers_words(world: Beginning) -> None:
    world.api.nodes.room = False
    beats = Beats()
    with pytest.raises(NoCapacityError, match=r"3 Insufficient nvidia\.com/gpu") as caught:
        usable.await_usable(world.site, *launched(world), beats)
    assert timedelta(minutes=15) <= world.now - BEGIN < timedelta(minutes=16)
    why = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu"
    assert caught.value.tried == (f"2 x A100-80GB (nvidia.com/gpu) in lab ({why})",)
    assert world.api.existing(LEASE) == []
    assert any("Insufficient nvidia.com/gpu" in told for told in beats.told)


def test_its_time_is_counted_from_the_pod_whoever_waits(world: Beginning) -> None:
    world.api.nodes.room = False
    order, made = launched(world)
    world.now += timedelta(minutes=15)
    with pytest.raises(NoCapacityError):
        usable.await_usable(world.site, order, made, silent)
    assert world.now - BEGIN == timedelta(minutes=15)


def test_it_costs_from_its_node_on_and_says_the_same_again(world: Beginning) -> None:
    world.api.nodes.room = False
    order, made = launched(world)

    def soon(what: str) -> None:
        world.api.nodes.room = world.now - BEGIN >= timedelta(minutes=7)

    found = usable.await_usable(world.site, order, made, soon)
    assert found.launched_at == BEGIN + timedelta(minutes=7, seconds=5)
    world.now += timedelta(hours=1)
    assert usable.await_usable(world.site, order, made, silent).launched_at == found.launched_at


def test_an_image_that_is_not_there_is_told_and_gives_its_gpus_back(world: Beginning) -> None:
    world.api.nodes.waiting = "ImagePullBackOff"
    with pytest.raises(PermanentError, match="ImagePullBackOff: it is not there") as caught:
        usable.await_usable(world.site, *launched(world), silent)
    assert caught.value.code == "not-started"
    assert world.api.existing(LEASE) == []


def test_a_pod_that_nobody_makes_is_told_with_the_events_words(world: Beginning) -> None:
    order, made = launched(world)
    refused = "create Pod workspace-0 in StatefulSet workspace failed error: violates PodSecurity"
    event = {"involvedObject": {"name": "workspace"}, "type": "Warning", "message": refused}
    world.api.add({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": LEASE}, **event})
    world.obj(STATEFUL_SET, "workspace")["spec"]["replicas"] = 0
    with pytest.raises(PermanentError, match="violates PodSecurity"):
        usable.await_usable(world.site, order, made, silent)
    assert world.api.existing(LEASE) == []


def test_a_pod_that_is_replaced_late_is_waited_for(world: Beginning) -> None:
    """Such as one whose node is drained while it pulls a large image."""
    world.api.nodes.waiting = "ContainerCreating"
    order, made = launched(world)

    def later(_: str) -> None:
        minutes = (world.now - BEGIN) / timedelta(minutes=1)
        pod = world.api.objects.get((POD, LEASE, "workspace-0"))
        if pod is not None and 20 <= minutes < 21:
            pod["metadata"] |= {"finalizers": ["example.com/slow"], "deletionTimestamp": "2026-11-28T09:20:00Z"}
        elif pod is not None and minutes >= 21 and pod["metadata"].pop("finalizers", None):
            world.api.nodes.waiting = ""
            world.api.remove((POD, LEASE, "workspace-0"))

    assert usable.await_usable(world.site, order, made, later).launched_at >= BEGIN + timedelta(minutes=21)


def test_an_attempt_waits_for_a_limited_time(world: Beginning) -> None:
    world.config = replace(world.config, pending_after=timedelta(hours=6))
    world.api.nodes.room = False
    order, made = launched(world)
    with pytest.raises(RetryableError, match="not usable after 0:30:00") as caught:
        usable.await_usable(world.site, order, made, silent)
    assert caught.value.code == "still-waiting"
    assert (POD, LEASE, "workspace-0") in world.api.objects


def test_a_workspace_is_no_larger_than_a_node(world: Beginning) -> None:
    with pytest.raises(PermanentError, match="the largest has 8"):
        world.launch(a_workspace(world, need=Need("A100-80GB", 9)))


def launched(world: Beginning) -> tuple[Any, Any]:
    order = a_workspace(world)
    return order, launching.launch(world.site, order, world.candidate(order), silent)
