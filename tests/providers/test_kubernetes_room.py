"""How much of a cluster is free for a new lease, and what is not known never is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from lessor.contracts import ANNOTATION_PREFIX
from lessor.domain.pools import Census
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import capacity, offers
from lessor.providers.kubernetes.api import NAMESPACE, NODE, POD, RESOURCE_CLAIM, RESOURCE_QUOTA, ApiKind, Obj
from lessor.providers.kubernetes.shapes import GpuShape
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import (
    A100,
    H100,
    a_cluster,
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


def a_full_house(*leases: str) -> FakeApi:
    """Eight GPUs on one node, and these leases of six each."""
    api = a_cluster(gpu_node("node-a"))
    for lease_id in leases:
        lease(api, lease_id, 6)
    return api


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
    assert (pool.total, pool.unhealthy, pool.held, pool.free) == (16, 8, 5, 8)


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


# -- what is not known ------------------------------------------------------------------------------------------------


def taken(refused: ApiKind, error: Exception | None = None, times: int | None = 1) -> Census:
    """A cluster with a pod and a lease, in which one kind cannot be read."""
    api = a_full_house(FIRST)
    api.add(space("team"))
    api.add(pod("train", 1))
    api.fail("list", refused, error, times)  # type: ignore[arg-type]
    return capacity.census(a_site(api))


@pytest.mark.parametrize("refused", [NODE, POD, NAMESPACE, RESOURCE_QUOTA])
def test_what_is_not_read_is_never_free_and_is_said(refused: ApiKind) -> None:
    census = taken(refused)
    assert census.problem == "the cluster does not answer"
    assert not census.complete
    assert {(one.free, one.largest) for one in census.pools} == {(None, None)}
    assert "A100-80GB" in {one.model for one in census.pools}


def test_without_nodes_every_model_with_a_rate_is_there_and_unknown() -> None:
    census = taken(NODE)
    assert [(one.model, one.total, one.held) for one in census.pools] == [
        ("A100-80GB", None, None),
        ("H100", None, None),
    ]
    assert (the_holder(census, "pod team/train").model, the_holder(census, "pod team/train").units) == ("unknown", 1)


def test_without_pods_the_number_that_exists_is_still_known() -> None:
    pool = the_pool(taken(POD, times=None), "A100-80GB")
    assert (pool.total, pool.unhealthy, pool.held, pool.promised, pool.queued) == (8, 0, None, None, None)


def test_where_pods_of_all_namespaces_may_not_be_read_those_of_leases_are_read_one_by_one() -> None:
    api = a_full_house(FIRST, SECOND)
    api.add(space("team"))
    for namespace in (FIRST, SECOND, "team"):
        api.add(pod("train", 1, namespace=namespace))
    refusing = Refusing(api, {"", SECOND})
    census = capacity.census(a_site(refusing))  # type: ignore[arg-type]
    assert [one.ref for one in census.holders] == [f"pod {FIRST}/train"]
    assert census.problem == f"pods everywhere are forbidden; pods in {SECOND} are forbidden"
    assert the_pool(census, "A100-80GB").free is None


class Refusing:
    """A cluster that lets nobody read the pods of some namespaces; empty means of all at once (case D15)."""

    def __init__(self, api: FakeApi, namespaces: set[str]) -> None:
        self._api, self._namespaces = api, namespaces

    def __getattr__(self, name: str) -> object:
        return getattr(self._api, name)

    def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
        if kind == POD and namespace in self._namespaces:
            where = f"in {namespace}" if namespace else "everywhere"
            raise PermanentError(f"pods {where} are forbidden", "forbidden")
        return self._api.list(kind, namespace, labels, fields)


def test_claims_that_cannot_be_read_make_a_census_incomplete() -> None:
    api = a_full_house()
    api.extra.add(RESOURCE_CLAIM)
    api.fail("list", RESOURCE_CLAIM)
    assert not capacity.census(a_site(api)).complete


# -- quotas that promise nothing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [GPU, f"limits.{GPU}"])
def test_D02_a_quota_under_another_name_is_told_as_not_enforced(key: str) -> None:
    api = a_cluster(gpu_node("node-a"), space("team"))
    quota(api, "team", {key: 4})
    assert capacity.census(a_site(api)).notes == (
        f"quota team/gpus is not enforced for {key}; the cluster counts requests.{GPU} only",
    )


def test_D02_a_quota_that_shows_nothing_used_is_told_as_not_enforced() -> None:
    api = a_cluster(gpu_node("node-a"), space("team"))
    quota(api, "team", {f"requests.{GPU}": 4})
    assert capacity.census(a_site(api)).notes == ()
    api.quotas_enforced = False
    assert capacity.census(a_site(api)).notes == (
        f"quota team/gpus is not enforced for requests.{GPU}: the cluster shows nothing used of it",
    )


def test_D02_quotas_of_other_things_are_nobodys_business() -> None:
    api = a_cluster(gpu_node("node-a"), space("team"))
    quota(api, "team", {"limits.memory": 4, "pods": 10})
    assert capacity.census(a_site(api)).notes == ()


def test_a_pool_of_shared_gpus_is_counted_in_its_own_units() -> None:
    labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"}
    api = a_cluster(node("node-a", {GPU: 16}, labels), space("team"), pod("notebook", 3))
    pool = the_pool(capacity.census(a_site(api)), "T4-shared-4")
    assert (pool.total, pool.held, pool.free, pool.share, pool.unit) == (16, 3, 13, Fraction(1, 4), "slice")
