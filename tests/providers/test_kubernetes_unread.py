"""What cannot be read of a cluster is unknown, never free; quotas that nobody enforces are told."""

from __future__ import annotations

from typing import cast

import pytest

from lessor.domain.pools import Census
from lessor.providers.kubernetes import capacity
from lessor.providers.kubernetes.api import NAMESPACE, NODE, POD, RESOURCE_CLAIM, RESOURCE_QUOTA, Api, ApiKind
from lessor.providers.kubernetes.errors import NEXT, no_answer
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.rights import check
from tests.providers.kube_fake import Refusing
from tests.providers.kube_nodes import (
    a_cluster,
    a_full_house,
    a_site,
    ago,
    gpu_node,
    pod,
    quota,
    space,
    the_holder,
    the_pool,
)

GPU = "nvidia.com/gpu"
FIRST, SECOND = "gpu-00000002", "gpu-00000003"


def taken(refused: ApiKind, error: Exception | None = None, times: int | None = 1) -> Census:
    """A cluster with a pod and a lease, in which one kind cannot be read."""
    api = a_full_house(FIRST)
    api.add(space("team"))
    api.add(pod("train", 1))
    api.fail("list", refused, error, times)  # type: ignore[arg-type]
    return capacity.census(a_site(api))


def test_what_to_do_is_said_once_for_all_that_was_not_read() -> None:
    api = a_full_house(FIRST)
    for kind in (NODE, POD):
        api.fail("list", kind, no_answer("lab", f"reading {kind.plural}", "no connection", writing=False), None)
    problem = capacity.census(a_site(api)).problem
    assert problem.count(NEXT) == 1
    assert problem.endswith(f"; what is there is unknown. {NEXT}")
    assert "reading nodes" in problem
    assert "reading pods" in problem


def test_who_checks_a_place_is_not_sent_to_check_it() -> None:
    class Silent:
        def allowed(self, *asked: object, **more: object) -> bool:
            raise no_answer("lab", "asking", "no connection", writing=False)

        def __getattr__(self, name: str) -> object:
            return self.allowed

    told = check(cast(Api, Silent()), KubernetesPlace("lab", context="lab")).problem
    assert told == "cluster lab gave no answer when asking (no connection); what is there is unknown"


@pytest.mark.parametrize("refused", [NODE, POD, NAMESPACE, RESOURCE_QUOTA])
def test_what_is_not_read_is_never_free_and_is_said(refused: ApiKind) -> None:
    census = taken(refused)
    assert census.problem == "the cluster does not answer"
    assert not census.complete
    assert {(one.free, one.largest) for one in census.pools} == {(None, None)}
    assert "A100-80GB" in {one.model for one in census.pools}


def test_a_cluster_that_does_not_answer_says_so_once() -> None:
    api = a_full_house(FIRST)
    api.fail("list", times=None)
    assert capacity.census(a_site(api)).problem == "the cluster does not answer"


def test_without_nodes_every_model_with_a_rate_is_there_and_unknown() -> None:
    census = taken(NODE)
    assert [(one.model, one.total, one.held) for one in census.pools] == [
        ("A100-80GB", None, None),
        ("H100", None, None),
    ]
    assert (the_holder(census, "pod team/train").model, the_holder(census, "pod team/train").units) == ("", 1)


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
    assert capacity.census(a_site(api)).notes == (), "it may not be counted yet"
    api.objects[(RESOURCE_QUOTA, "team", "gpus")]["metadata"]["creationTimestamp"] = ago(minutes=1)
    assert capacity.census(a_site(api)).notes == (
        f"quota team/gpus is not enforced for requests.{GPU}: the cluster shows nothing used of it",
    )


def test_D02_quotas_of_other_things_are_nobodys_business() -> None:
    api = a_cluster(gpu_node("node-a"), space("team"))
    quota(api, "team", {"limits.memory": 4, "pods": 10})
    assert capacity.census(a_site(api)).notes == ()
