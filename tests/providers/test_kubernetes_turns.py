"""Whose turn it is in a cluster: the place in Kueue's queue, the place among pods by age, and turns that are kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lessor.contracts import QUEUED
from lessor.domain.request import LeaseKind
from lessor.ports import NoCapacityError, RetryableError
from lessor.providers.kubernetes import inventory, turns, usable
from lessor.providers.kubernetes.api import LOCAL_QUEUE, POD, QUEUED_WORKLOAD, RESOURCE_FLAVOR, Obj
from tests.providers.attempts import silent
from tests.providers.kube_fake import Fault
from tests.providers.kube_leases import BEGIN, LEASE, Beginning
from tests.providers.kube_nodes import lease, pod, space

KUEUE = {QUEUED_WORKLOAD, RESOURCE_FLAVOR, LOCAL_QUEUE}
GATED = [{"name": "kueue.x-k8s.io/admission"}]
EARLIER, LATER = "2026-11-28T08:00:00Z", "2026-11-28T10:00:00Z"


@pytest.fixture
def world() -> Beginning:
    made = Beginning()
    made.api.extra |= KUEUE
    made.api.nodes.room = False
    made.config = replace(made.config, cluster_queue="gpus")
    made.api.add(space("team"))
    return made


def workload(world: Beginning, name: str, namespace: str, made: str, priority: int = 0, **spec: Any) -> Obj:
    """One that waits in the queue `default` of its namespace."""
    box = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "2"}}}
    parts = [{"name": "main", "count": 1, "template": {"spec": {"containers": [box]}}}]
    world.api.add(
        {
            "apiVersion": QUEUED_WORKLOAD.api_version,
            "kind": "Workload",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"queueName": "default", "podSets": parts, "priority": priority, **spec},
        }
    )
    found = world.obj(QUEUED_WORKLOAD, name, namespace)
    found["metadata"]["creationTimestamp"] = made
    return found


def queue(world: Beginning, namespace: str, leads_to: str = "gpus") -> None:
    kind = {"apiVersion": LOCAL_QUEUE.api_version, "kind": "LocalQueue"}
    world.api.add({**kind, "metadata": {"name": "default", "namespace": namespace}, "spec": {"clusterQueue": leads_to}})


def waits(world: Beginning) -> tuple[Any, Any]:
    """A workspace whose pod Kueue keeps back since 09:00."""
    order = world.order(kind=LeaseKind.WORKSPACE)
    made = world.launch(order)
    held = world.obj(POD, "workspace-0")
    held["spec"]["schedulingGates"] = GATED
    workload(world, "statefulset-workspace", LEASE, "2026-11-28T09:00:00Z")
    return order, made


def test_priority_comes_first_then_who_has_waited_longer(world: Beginning) -> None:
    waits(world)
    queue(world, "team")
    workload(world, "older", "team", EARLIER)
    workload(world, "newer", "team", LATER)
    workload(world, "urgent", "team", LATER, priority=100)
    workload(world, "held", "team", EARLIER, active=False)
    assert str(turns.in_queue(world.site, LEASE)) == "number 3 of 4 that wait in queue gpus"
    assert str(turns.in_queue(world.site, "team")) == "number 1 of 4 that wait in queue gpus"
    assert turns.in_queue(world.site, "nobody") is None


def test_who_waits_in_another_queue_is_not_before_it(world: Beginning) -> None:
    waits(world)
    queue(world, "team", "others")
    workload(world, "older", "team", EARLIER)
    assert str(turns.in_queue(world.site, LEASE)) == "number 1 of 1 that wait in queue gpus"


def test_where_a_queue_cannot_be_told_only_how_many_wait_is_said(world: Beginning) -> None:
    waits(world)
    workload(world, "older", "team", EARLIER)
    assert str(turns.in_queue(world.site, LEASE)) == "2 wait in its queues, in an order that nobody can tell"


def test_a_cluster_without_queues_has_no_turns() -> None:
    assert turns.in_queue(Beginning().site, LEASE) is None


def test_pods_without_a_node_stand_by_age_among_those_that_want_the_same(world: Beginning) -> None:
    world.api.add(pod("first", 1, on="", phase="Pending"))
    world.api.add(pod("mine", 1, on="", phase="Pending"))
    world.api.add(pod("slice", 1, on="", phase="Pending", resource="nvidia.com/mig-1g.10gb"))
    world.api.add(pod("gated", 1, on="", phase="Pending", spec={"schedulingGates": GATED}))
    mine = world.obj(POD, "mine", "team")
    world.obj(POD, "first", "team")["metadata"]["creationTimestamp"] = EARLIER
    said = "number 2 of 2 pods that wait for nvidia.com/gpu, by age"
    assert str(turns.among_pods(world.site, mine)) == said
    world.api.remove((POD, "team", "first"))
    assert turns.among_pods(world.site, mine) is None


def test_a_workspace_in_a_queue_is_told_its_place_and_keeps_its_turn(world: Beginning) -> None:
    order, made = waits(world)
    queue(world, "team")
    workload(world, "older", "team", EARLIER)
    with pytest.raises(NoCapacityError) as caught:
        usable.await_usable(world.site, order, made, silent)
    assert timedelta(minutes=15) <= world.now - BEGIN < timedelta(minutes=16)
    stands = "2 x A100-80GB (nvidia.com/gpu) in lab, number 2 of 2 that wait in queue gpus"
    assert (caught.value.code, caught.value.tried) == (QUEUED, (stands,))
    assert str(caught.value) == (
        f"{LEASE} waits in the queue of cluster lab: {stands}. It keeps its turn, and costs nothing meanwhile"
    )
    assert (POD, LEASE, "workspace-0") in world.api.objects
    assert world.hard()["requests.nvidia.com/gpu"] == "2"


def test_what_waits_in_the_whole_cluster_is_read_only_to_tell_of_it(world: Beginning) -> None:
    order, made = waits(world)
    world.now += timedelta(minutes=14)
    world.api.calls.clear()
    with pytest.raises(NoCapacityError):
        usable.await_usable(world.site, order, made, silent)
    assert world.api.calls.count(("list", "Workload", "", "")) == 1


def test_its_place_is_left_out_where_it_cannot_be_read(world: Beginning) -> None:
    order, made = waits(world)
    world.now += timedelta(minutes=15)
    world.api.faults.append(Fault("list", QUEUED_WORKLOAD, RetryableError("no answer"), times=None))
    with pytest.raises(NoCapacityError) as caught:
        usable.await_usable(world.site, order, made, silent)
    assert (caught.value.code, caught.value.tried) == (QUEUED, ("2 x A100-80GB (nvidia.com/gpu) in lab",))


def test_when_its_turn_comes_hours_later_it_has_the_whole_time_to_find_a_node(world: Beginning) -> None:
    order, made = waits(world)
    world.now = BEGIN + timedelta(hours=5)
    admitted(world, world.now)
    with pytest.raises(NoCapacityError) as caught:
        usable.await_usable(world.site, order, made, silent)
    assert timedelta(minutes=15) <= world.now - BEGIN - timedelta(hours=5) < timedelta(minutes=16)
    assert caught.value.code == "unschedulable"
    assert world.api.existing(LEASE) == []


def test_when_its_turn_comes_and_there_is_a_node_it_is_usable(world: Beginning) -> None:
    order, made = waits(world)
    world.now = BEGIN + timedelta(hours=5)
    admitted(world, world.now)
    world.api.nodes.room = True
    assert usable.await_usable(world.site, order, made, silent).launched_at == BEGIN + timedelta(hours=5)


def test_owners_of_namespaces_are_told_the_place_of_their_pods(world: Beginning) -> None:
    world.lease(world.order(gpus=4))
    gated = pod("job", 1, on="", namespace=LEASE, phase="Pending", spec={"schedulingGates": GATED})
    world.api.add(gated)
    workload(world, "job", LEASE, LATER)
    queue(world, "team")
    workload(world, "older", "team", EARLIER)
    world.now += timedelta(minutes=15)
    (told,) = [one.fault for one in inventory.look(world.site, LEASE).resources if one.fault]
    assert told == "pod job waits in its queue, number 2 of 2 that wait in queue gpus"
    del world.obj(POD, "job")["spec"]["schedulingGates"]
    world.api.add(pod("first", 1, on="", phase="Pending"))
    world.obj(POD, "first", "team")["metadata"]["creationTimestamp"] = EARLIER
    (told,) = [one.fault for one in inventory.look(world.site, LEASE).resources if one.fault]
    assert told.startswith("pod job finds no node: ")
    assert told.endswith(", number 2 of 2 pods that wait for nvidia.com/gpu, by age")


def admitted(world: Beginning, at: datetime) -> None:
    """Kueue lets the workspace go."""
    stamp = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    true = [{"type": one, "status": "True", "lastTransitionTime": stamp} for one in ("QuotaReserved", "Admitted")]
    world.obj(QUEUED_WORKLOAD, "statefulset-workspace")["status"] = {"conditions": true}
    del world.obj(POD, "workspace-0")["spec"]["schedulingGates"]


def test_a_reading_of_all_leases_asks_once_what_waits_in_the_whole_cluster(world: Beginning) -> None:
    """One batch of work for a place, and never a poll for each lease."""
    for number in range(4):
        name = f"gpu-0000000{number}"
        lease(world.api, name, 1)
        world.api.add(pod(f"free-{number}", 1, "", namespace=name, phase="Pending"))
        gated = world.api.add(pod(f"gated-{number}", 1, "", namespace=name, phase="Pending"))
        world.obj(POD, gated["metadata"]["name"], name)["spec"]["schedulingGates"] = GATED
        workload(world, "job", name, EARLIER)
    world.now += timedelta(hours=2)
    world.api.calls.clear()
    found = [one.fault for one in inventory.conditions(world.site) if one.fault]
    assert len(found) == 4
    everywhere = Counter(kind for verb, kind, *_ in world.api.calls if verb == "list")
    assert (everywhere[QUEUED_WORKLOAD.kind], everywhere[LOCAL_QUEUE.kind], everywhere[POD.kind]) == (1, 1, 2)
