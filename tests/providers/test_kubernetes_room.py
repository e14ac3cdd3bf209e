"""How much of a cluster is free for a new lease, and what is not known never is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from lessor.contracts import ANNOTATION_PREFIX
from lessor.domain.money import Money
from lessor.ports import NoCapacityError, RetryableError
from lessor.providers.kubernetes import capacity, offers
from lessor.providers.kubernetes.api import NAMESPACE, NODE, POD, RESOURCE_QUOTA
from lessor.providers.kubernetes.shapes import GpuShape
from tests.providers.kube_nodes import (
    A100,
    H100,
    a_cluster,
    a_full_house,
    a_site,
    an_order,
    gpu_node,
    lease,
    node,
    pod,
    quota,
    space,
    the_holder,
    the_pool,
)

GPU = "nvidia.com/gpu"
WHOLE = GpuShape("A100-80GB", GPU, 80, nodes={"nvidia.com/gpu.product": (A100,)})
FIRST, SECOND = "gpu-00000002", "gpu-00000003"


def test_free_is_what_works_less_what_pods_hold_and_what_leases_are_promised() -> None:
    api = a_cluster(
        gpu_node("node-a"),
        gpu_node("node-b", allocatable={GPU: 7}),
        gpu_node("node-c", cordoned=True),
        gpu_node("node-d", ready="Unknown"),
        space("team"),
        pod("train", 3, "node-a"),
        pod("waits", 8, "", phase="Pending"),
    )
    lease(api, "gpu-7k3qxa2m", 4)
    api.add(pod("mine", 1, "node-b", namespace="gpu-7k3qxa2m"))
    site = a_site(api)
    candidate = offers.candidates(site, an_order(site))[0]
    # 8 + 7 that work, less 3 and 1 that are held, less 3 that the lease may still take: 8; on node-b there are 6.
    capacity.require_room(site, WHOLE, 8, candidate)
    capacity.require_room(site, WHOLE, 6, candidate, one_node=True)
    with pytest.raises(NoCapacityError, match="has 8 A100-80GB free; 9 are needed") as caught:
        capacity.require_room(site, WHOLE, 9, candidate)
    assert caught.value.tried == (str(candidate),) == ("nvidia.com/gpu (on-demand)",)
    with pytest.raises(NoCapacityError, match="8 A100-80GB free, 6 of them on one node; 7 are needed"):
        capacity.require_room(site, WHOLE, 7, candidate, one_node=True)


@pytest.mark.parametrize("kind", [NODE, POD, RESOURCE_QUOTA])
def test_what_cannot_be_read_is_no_room_at_all(kind: object) -> None:
    api = a_cluster(gpu_node("node-a"))
    site = a_site(api)
    candidate = offers.candidates(site, an_order(site))[0]
    api.fail("list", kind)  # type: ignore[arg-type]
    with pytest.raises(RetryableError):
        capacity.require_room(site, WHOLE, 1, candidate)


def test_of_two_launches_that_saw_the_same_room_the_second_look_lets_one_through() -> None:
    site = a_site(a_full_house(FIRST, SECOND))
    candidate = offers.candidates(site, an_order(site))[0]
    capacity.require_room(site, WHOLE, 6, candidate, FIRST)
    with pytest.raises(NoCapacityError, match="has 2 A100-80GB free; 6 are needed"):
        capacity.require_room(site, WHOLE, 6, candidate, SECOND)


def test_the_pods_of_the_lease_itself_take_nothing_from_it() -> None:
    api = a_full_house(FIRST)
    api.add(pod("mine", 6, namespace=FIRST))
    site = a_site(api)
    candidate = offers.candidates(site, an_order(site))[0]
    capacity.require_room(site, WHOLE, 6, candidate, FIRST)
    with pytest.raises(NoCapacityError):
        capacity.require_room(site, WHOLE, 6, candidate)


def test_a_lease_takes_the_more_of_what_it_is_promised_and_what_it_holds() -> None:
    api = a_full_house(FIRST)
    api.add(pod("one", 2, namespace=FIRST))
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.held, pool.promised, pool.free, pool.largest) == (2, 4, 2, 2)
    api.add(pod("many", 5, namespace=FIRST))
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.held, pool.promised, pool.free) == (7, 0, 1)


def test_a_promise_is_of_its_own_model_only() -> None:
    api = a_cluster(gpu_node("node-a"), gpu_node("node-b", product=H100))
    lease(api, FIRST, 6, "H100")
    census = capacity.census(a_site(api))
    assert (the_pool(census, "A100-80GB").free, the_pool(census, "H100").free) == (8, 2)


def test_a_promise_of_no_known_model_is_kept_back_from_every_one() -> None:
    api = a_cluster(gpu_node("node-a"), gpu_node("node-b", product=H100))
    lease(api, FIRST, 6, "")
    census = capacity.census(a_site(api))
    assert (the_pool(census, "A100-80GB").free, the_pool(census, "H100").free) == (2, 2)


def test_before_its_quota_is_there_a_lease_is_promised_what_was_ordered() -> None:
    api = a_full_house(FIRST)
    api.remove((RESOURCE_QUOTA, FIRST, "gpus"))
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").promised == 6


def test_a_stopped_lease_is_promised_nothing() -> None:
    api = a_full_house(FIRST)
    api.objects[(RESOURCE_QUOTA, FIRST, "gpus")]["spec"]["hard"] = {f"requests.{GPU}": "0"}
    api.objects[(NAMESPACE, "", FIRST)]["metadata"]["annotations"][f"{ANNOTATION_PREFIX}stopped-at"] = "2026-11-28"
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").free == 8


def test_a_namespace_that_only_says_that_it_is_a_lease_is_promised_nothing() -> None:
    api = a_full_house(FIRST)
    api.objects[(NAMESPACE, "", FIRST)]["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    api.add(pod("train", 2, namespace=FIRST))
    census = capacity.census(a_site(api))
    assert (the_pool(census, "A100-80GB").promised, the_pool(census, "A100-80GB").free) == (0, 6)
    assert the_holder(census, f"pod {FIRST}/train").lease == ""


def test_the_largest_block_is_on_one_node_and_never_more_than_is_free() -> None:
    api = a_cluster(
        gpu_node("node-a"), gpu_node("node-b"), space("team"), pod("one", 5, "node-a"), pod("two", 4, "node-b")
    )
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.free, pool.largest) == (7, 4)
    lease(api, FIRST, 4)
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.free, pool.largest) == (3, 3)


def test_a_node_that_hands_out_fewer_than_are_held_takes_nothing_from_others() -> None:
    away = gpu_node("node-a", allocatable={GPU: 0})
    api = a_cluster(away, gpu_node("node-b"), space("team"), pod("one", 5, "node-a"))
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.total, pool.unhealthy, pool.held, pool.free) == (16, 3, 5, 8)


def test_pods_wait_for_what_they_may_get() -> None:
    chooses = {"nodeSelector": {"nvidia.com/gpu.product": H100}}
    terms = [{"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": [A100]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    gate = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    api = a_cluster(
        gpu_node("node-a"),
        gpu_node("node-b", product=H100),
        space("team"),
        pod("any", 1, "", phase="Pending"),
        pod("h100", 1, "", phase="Pending", spec=chooses),
        pod("a100", 1, "", phase="Pending", spec={"affinity": {"nodeAffinity": required}}),
        pod("in-queue", 1, "", phase="Pending", spec=gate),
    )
    lease(api, FIRST, 1, "H100")
    api.add(pod("leased", 1, "", phase="Pending", namespace=FIRST))
    census = capacity.census(a_site(api))
    assert (the_pool(census, "A100-80GB").queued, the_pool(census, "H100").queued) == (2, 3)


def test_a_pool_of_shared_gpus_is_counted_in_its_own_units() -> None:
    labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"}
    api = a_cluster(node("node-a", {GPU: 16}, labels), space("team"), pod("notebook", 3))
    pool = the_pool(capacity.census(a_site(api)), "T4-shared-4")
    assert (pool.total, pool.held, pool.free, pool.share, pool.unit) == (16, 3, 13, Fraction(1, 4), "slice")


def test_pods_of_a_lease_on_a_node_that_is_out_of_service_do_not_use_up_its_promise() -> None:
    """They have to go somewhere when the node is emptied."""
    api = a_cluster(gpu_node("node-a", cordoned=True), gpu_node("node-b"))
    lease(api, FIRST, 6)
    api.add(pod("train", 4, "node-a", namespace=FIRST))
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.held, pool.promised, pool.free) == (4, 6, 2)


def test_one_node_has_no_more_than_is_free_at_all() -> None:
    api = a_full_house(FIRST)
    site = a_site(api)
    candidate = offers.candidates(site, an_order(site))[0]
    with pytest.raises(NoCapacityError, match="has 2 A100-80GB free, 2 of them on one node; 3 are needed"):
        capacity.require_room(site, WHOLE, 3, candidate, one_node=True)


def test_a_namespace_on_its_way_out_is_promised_nothing_more() -> None:
    api = a_full_house(FIRST)
    api.objects[(NAMESPACE, "", FIRST)]["metadata"]["finalizers"] = ["example.test/wait"]
    api.remove((NAMESPACE, "", FIRST))
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").promised == 0


def test_of_several_quotas_the_least_is_promised() -> None:
    api = a_full_house(FIRST)
    quota(api, FIRST, {f"requests.{GPU}": 2}, name="tighter")
    quota(api, FIRST, {f"requests.{GPU}": 7}, name="wider")
    assert the_pool(capacity.census(a_site(api)), "A100-80GB").promised == 2


def test_a_node_that_is_being_deleted_hands_out_nothing() -> None:
    api = a_cluster(gpu_node("node-a"), gpu_node("node-b"))
    api.objects[(NODE, "", "node-a")]["metadata"]["deletionTimestamp"] = "2026-11-28T11:00:00Z"
    pool = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (pool.total, pool.unhealthy, pool.free) == (16, 8, 8)


def test_pods_on_nodes_that_do_not_count_as_the_place_are_somebody_elses_matter() -> None:
    api = a_cluster(gpu_node("node-a", labels={"pool": "lease"}), gpu_node("node-b"), space("team"))
    api.add(pod("here", 1, "node-a"))
    api.add(pod("there", 1, "node-b"))
    census = capacity.census(a_site(api, node_selector={"pool": "lease"}))
    assert [one.ref for one in census.holders] == ["pod team/here"]


def test_what_a_lease_holds_is_charged_by_the_lease_and_not_once_more() -> None:
    api = a_full_house(FIRST)
    api.add(space("team"))
    for namespace in (FIRST, "team"):
        api.add(pod("train", 1, namespace=namespace))
    census = capacity.census(a_site(api))
    assert the_holder(census, f"pod {FIRST}/train").cost is None
    assert the_holder(census, "pod team/train").cost == Money(Decimal("2.50"))
