"""Cases of GPUs that nothing runs on and nobody else can have: reserved by a queue, kept by a device claim."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lessor.providers.kubernetes import capacity
from lessor.providers.kubernetes.api import (
    POD,
    QUEUED_WORKLOAD,
    RESOURCE_CLAIM,
    RESOURCE_FLAVOR,
    RESOURCE_SLICE,
    Obj,
)
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import (
    H100,
    NOW,
    a_cluster,
    a_site,
    ago,
    gpu_node,
    lease,
    pod,
    space,
    the_holder,
    the_pool,
)

GPU = "nvidia.com/gpu"

# -- D18 --------------------------------------------------------------------------------------------------------------

KUEUE = {QUEUED_WORKLOAD, RESOURCE_FLAVOR}


def workload(name: str, units: int, minutes_ago: float, *conditions: str, flavor: str = "a100", **spec: Any) -> Obj:
    """A workload with these conditions, true for `minutes_ago`."""
    part = {"name": "main", "count": 1, "flavors": {GPU: flavor}, "resourceUsage": {GPU: str(units)}}
    true = [
        {"type": one, "status": "True", "reason": one, "lastTransitionTime": ago(minutes=minutes_ago)}
        for one in conditions
    ]
    box = {"name": "main", "resources": {"requests": {GPU: str(units)}}}
    admitted = {"admission": {"clusterQueue": "gpus", "podSetAssignments": [part]}}
    return {
        "apiVersion": QUEUED_WORKLOAD.api_version,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [box]}}}], **spec},
        "status": {
            "conditions": true,
            **(admitted if "QuotaReserved" in conditions else {}),
        },
    }


def a_queue(*objects: Obj) -> FakeApi:
    api = a_cluster(gpu_node("node-a"), space("team"))
    api.extra |= KUEUE
    for obj in objects:
        api.add(obj)
    return api


def test_D18_reserved_and_used_are_two_numbers() -> None:
    running = pod("train-0", 3, metadata={"annotations": {"kueue.x-k8s.io/workload": "train"}})
    census = capacity.census(a_site(a_queue(workload("train", 5, 60, "QuotaReserved", "Admitted"), running)))
    pool = the_pool(census, "A100-80GB")
    assert (pool.held, pool.reserved, pool.free) == (3, 2, 5)
    assert census.notes == ()


def test_D18_reserved_for_ten_minutes_without_a_pod_is_listed_with_its_conditions_and_left_alone() -> None:
    api = a_queue(workload("train", 5, 125, "QuotaReserved", "Admitted", "Evicted"))
    census = capacity.census(a_site(api))
    assert census.notes == (
        "workload team/train keeps 5 nvidia.com/gpu in queue gpus without a pod for 2 h 5 min "
        "(QuotaReserved, Admitted, Evicted); nothing is charged for it, and it was left alone",
    )
    assert (the_pool(census, "A100-80GB").held, the_pool(census, "A100-80GB").reserved) == (0, 5)
    assert census.holders == ()
    assert api.deleted == []
    assert {verb for verb, *_ in api.calls} <= {"list", "served"}


@pytest.mark.parametrize(("minutes", "told"), [(9.9, 0), (10, 1)])
def test_D18_it_has_ten_minutes_to_start(minutes: float, told: int) -> None:
    census = capacity.census(a_site(a_queue(workload("train", 5, minutes, "QuotaReserved", "Admitted"))))
    assert len(census.notes) == told


def test_D18_pods_that_have_ended_have_given_theirs_back() -> None:
    api = a_queue(workload("train", 8, 60, "QuotaReserved", "Admitted"))
    status = api.objects[(QUEUED_WORKLOAD, "team", "train")]["status"]
    status["admission"]["podSetAssignments"][0]["count"] = 4
    status["reclaimablePods"] = [{"name": "main", "count": 3}]
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").reserved == 2


def test_D18_a_finished_workload_keeps_nothing_and_one_that_waits_is_in_the_queue() -> None:
    done = workload("done", 5, 60, "QuotaReserved", "Admitted", "Finished")
    held_back = workload("held-back", 8, 60, active=False)
    census = capacity.census(a_site(a_queue(done, workload("next", 8, 60), held_back)))
    pool = the_pool(census, "A100-80GB")
    assert (pool.reserved, pool.queued, pool.free) == (0, 1, 8)
    assert census.notes == ()


def test_D18_what_a_queue_keeps_is_not_free_for_leases_that_stand_in_it() -> None:
    api = a_queue(workload("train", 5, 2, "QuotaReserved", "Admitted"))
    assert the_pool(capacity.census(a_site(api, cluster_queue="gpus")), "A100-80GB").free == 3
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").free == 8


def test_D18_what_is_kept_for_a_lease_is_promised_to_it_already() -> None:
    api = a_queue()
    lease(api, "gpu-7k3qxa2m", 5)
    kept = workload("train", 5, 2, "QuotaReserved", "Admitted")
    api.add({**kept, "metadata": {"name": "train", "namespace": "gpu-7k3qxa2m"}})
    pool = the_pool(capacity.census(a_site(api, cluster_queue="gpus")), "A100-80GB")
    assert (pool.promised, pool.reserved, pool.free) == (5, 5, 3)


def test_D18_a_flavor_says_which_model_is_reserved() -> None:
    flavor = {
        "apiVersion": RESOURCE_FLAVOR.api_version,
        "kind": "ResourceFlavor",
        "metadata": {"name": "h100"},
        "spec": {"nodeLabels": {"nvidia.com/gpu.product": H100}},
    }
    api = a_queue(flavor, gpu_node("node-b", product=H100), workload("train", 5, 2, "QuotaReserved", flavor="h100"))
    census = capacity.census(a_site(api))
    assert (the_pool(census, "H100").reserved, the_pool(census, "A100-80GB").reserved) == (5, 0)


def test_D18_a_queue_that_cannot_be_read_keeps_an_unknown_number() -> None:
    api = a_queue()
    api.fail("list", QUEUED_WORKLOAD)
    census = capacity.census(a_site(api, cluster_queue="gpus"))
    pool = the_pool(census, "A100-80GB")
    assert (pool.reserved, pool.queued, pool.free, pool.total) == (None, None, None, 8)
    assert not census.complete


# -- D20 --------------------------------------------------------------------------------------------------------------


def a_claim(name: str, devices: int = 1, hours_ago: float = 3, consumer: str = "", **metadata: Any) -> Obj:
    """An allocated claim on devices of one node, reserved for the pod with the uid `consumer`."""
    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "node-a", "device": f"gpu-{number}"}
        for number in range(devices)
    ]
    reserved = [{"resource": "pods", "name": "train", "uid": consumer}] if consumer else []
    return {
        "apiVersion": RESOURCE_CLAIM.api_version,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team", "creationTimestamp": ago(hours=hours_ago), **metadata},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": reserved},
    }


def device_slice(devices: int = 8) -> Obj:
    attributes = {"productName": {"string": "NVIDIA A100-SXM4-80GB"}, "type": {"string": "gpu"}}
    one = {"attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "node-a"}, "nodeName": "node-a"}
    return {
        "apiVersion": RESOURCE_SLICE.api_version,
        "kind": "ResourceSlice",
        "metadata": {"name": "node-a-gpus"},
        "spec": {**spec, "devices": [{"name": f"gpu-{number}", **one} for number in range(devices)]},
    }


def with_claims(*objects: Obj) -> FakeApi:
    api = a_cluster(space("team", owner="vision team"))
    api.extra |= {RESOURCE_CLAIM, RESOURCE_SLICE}
    for obj in (device_slice(), *objects):
        api.add(obj)
    return api


BY_CLAIM = "A100-80GB (by claim)"


def test_D20_an_allocated_claim_holds_its_gpus_without_a_pod() -> None:
    census = capacity.census(a_site(with_claims(a_claim("left", 2))))
    pool = the_pool(census, BY_CLAIM)
    assert (pool.total, pool.held, pool.free) == (8, 2, None)
    found = the_holder(census, "claim team/left")
    assert (found.model, found.units, found.since) == (BY_CLAIM, 2, NOW - timedelta(hours=3))
    assert (found.who, found.flag) == ("vision team", "claim without a consumer (made by somebody)")


def test_D20_claims_made_from_templates_are_told_from_those_that_people_made() -> None:
    template = a_claim("train-gpu-x7", annotations={"resource.kubernetes.io/pod-claim-name": "gpu"})
    found = the_holder(capacity.census(a_site(with_claims(template))), "pod claim team/train-gpu-x7")
    assert found.flag == "claim without a consumer (made from a template)"


def test_D20_deleted_allocated_and_reserved_for_a_pod_that_is_gone_is_still_held() -> None:
    meta: dict[str, Any] = {
        "deletionTimestamp": ago(hours=2),
        "finalizers": ["resource.kubernetes.io/delete-protection"],
    }
    census = capacity.census(a_site(with_claims(a_claim("left", consumer="a-pod-that-was", **meta))))
    assert the_pool(census, BY_CLAIM).held == 1
    assert the_holder(census, "claim team/left").flag == "claim without a consumer (made by somebody, being deleted)"


@pytest.mark.parametrize(("minutes", "flagged"), [(30, False), (31, True)])
def test_D20_half_an_hour_without_a_consumer_makes_an_orphan(minutes: float, flagged: bool) -> None:
    census = capacity.census(a_site(with_claims(a_claim("left", hours_ago=minutes / 60))))
    assert bool(the_holder(census, "claim team/left").flag) is flagged


def test_D20_it_counts_from_the_last_change_where_the_server_tells_it() -> None:
    written = [
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "time": ago(minutes=5)}
    ]
    census = capacity.census(a_site(with_claims(a_claim("left", managedFields=written))))
    assert the_holder(census, "claim team/left").flag == ""


def test_D20_a_claim_with_a_living_pod_is_no_orphan_and_unread_pods_make_none() -> None:
    api = with_claims()
    consumer = api.add(pod("train", 0))
    api.add(a_claim("used", consumer=consumer["metadata"]["uid"]))
    assert the_holder(capacity.census(a_site(api)), "claim team/used").flag == ""
    api.remove((POD, "team", "train"))
    assert the_holder(capacity.census(a_site(api)), "claim team/used").flag
    api.fail("list", POD)
    assert the_holder(capacity.census(a_site(api)), "claim team/used").flag == ""


def test_D20_devices_that_are_no_gpus_and_claims_without_devices_hold_nothing() -> None:
    network = a_claim("network")
    network["status"]["allocation"]["devices"]["results"][0]["driver"] = "dra.net"
    unallocated = a_claim("waits")
    unallocated["status"] = {}
    watching = a_claim("watches")
    watching["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    counted = a_claim("train-nvidia", annotations={"resource.kubernetes.io/extended-resource-claim": "true"})
    assert capacity.census(a_site(with_claims(network, unallocated, watching, counted))).holders == ()


def test_D20_without_the_right_to_see_devices_claims_are_counted_all_the_same() -> None:
    api = with_claims(a_claim("left", 2))
    api.fail("list", RESOURCE_SLICE)
    census = capacity.census(a_site(api))
    assert the_holder(census, "claim team/left").units == 2
    assert [(one.model, one.total, one.held) for one in census.pools] == [("unknown model (by claim)", None, 2)]
    assert "models of claimed devices are not known" in census.notes[0]
