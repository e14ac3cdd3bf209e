"""What pods hold of the GPUs that a namespace is promised, as the meter asks the cluster for it once a tick."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.usage import Held
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import occupancy
from lessor.providers.kubernetes.api import NAMESPACE, POD, QUEUED_WORKLOAD, RESOURCE_CLAIM, RESOURCE_FLAVOR, Obj
from tests.cases.test_d_reserved import KUEUE, a_claim, workload
from tests.providers.kube_fake import FakeApi, Fault
from tests.providers.kube_nodes import NOW, a_cluster, a_site, ago, gpu_node, lease, pod

ONE, OTHER = "gpu-00000001", "gpu-00000002"
MINUTE = timedelta(minutes=1)


def a_lease_of_four(*objects: Obj, extra: set[Any] | None = None) -> FakeApi:
    """Eight GPUs on one node, and a namespace that is promised four of them with these objects in it."""
    api = a_cluster(gpu_node("node-a"))
    api.extra = extra or set()
    lease(api, ONE, 4)
    for obj in objects:
        api.add({**obj, "metadata": {**obj["metadata"], "namespace": ONE}})
    return api


def held(api: FakeApi, *leases: str) -> dict[str, Held]:
    return occupancy.held(a_site(api), NOW - MINUTE, leases or (ONE,))


def test_pods_with_a_node_hold_whatever_they_do_and_those_without_wait() -> None:
    crashing = {"containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
    api = a_lease_of_four(pod("runs", 1), pod("stuck", 1, phase="Pending", status=crashing), pod("waits", 2, on=""))
    assert held(api) == {ONE: Held(2, 2)}


def test_without_any_pod_nothing_is_held() -> None:
    assert held(a_lease_of_four()) == {ONE: Held(0, 0)}


def test_pods_that_ask_for_no_gpus_or_are_somebody_elses_hold_none_of_them() -> None:
    api = a_lease_of_four(pod("web", 0))
    lease(api, OTHER, 2)
    api.add(pod("train", 2, namespace=OTHER))
    assert held(api, ONE, OTHER) == {ONE: Held(0, 0), OTHER: Held(2, 0)}


@pytest.mark.parametrize(("seconds", "units"), [(59, 3), (61, 0)])
def test_a_pod_that_ended_since_the_last_look_held_in_it(seconds: int, units: int) -> None:
    done = {"state": {"terminated": {"startedAt": ago(minutes=2), "finishedAt": ago(seconds=seconds)}}, "name": "main"}
    api = a_lease_of_four(pod("short", 3, phase="Succeeded", status={"containerStatuses": [done]}))
    assert held(api) == {ONE: Held(units, 0)}


def test_devices_of_claims_are_held_too() -> None:
    api = a_lease_of_four(a_claim("two", 2), extra={RESOURCE_CLAIM})
    assert held(api) == {ONE: Held(2, 0)}


def test_what_a_queue_keeps_or_lets_wait_is_awaited_and_its_gated_pods_are_not_counted_twice() -> None:
    gated = pod("job-1-a", 1, on="", phase="Pending", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    waits, kept = workload("job-1", 1, 5), workload("job-2", 2, 5, "QuotaReserved", "Admitted")
    api = a_lease_of_four(waits, kept, gated, extra=KUEUE)
    assert held(api) == {ONE: Held(0, 3)}


def test_a_workspace_is_left_out_as_its_pod_is_ours() -> None:
    api = a_lease_of_four()
    api.objects[(NAMESPACE, "", ONE)]["metadata"]["annotations"]["lessor.dev/kind"] = "workspace"
    assert held(api) == {}


@pytest.mark.parametrize("kind", [NAMESPACE, POD, RESOURCE_CLAIM, QUEUED_WORKLOAD, RESOURCE_FLAVOR])
def test_what_is_not_read_whole_is_a_problem_of_all_and_never_nothing(kind: Any) -> None:
    api = a_lease_of_four(extra={RESOURCE_CLAIM, *KUEUE})
    lease(api, OTHER, 2)
    api.faults.append(Fault("list", kind, RetryableError("cluster lab gave no answer", "timeout")))
    unread = Held(problem="cluster lab gave no answer")
    assert held(api, ONE, OTHER) == {ONE: unread, OTHER: unread}


def test_where_pods_may_be_read_by_namespace_only_the_one_that_may_not_spoils_no_other() -> None:
    api = a_lease_of_four(pod("train", 1))
    lease(api, OTHER, 2)
    refused = PermanentError("cluster lab forbids to list pods", "forbidden")
    api.faults += [Fault("list", POD, refused, times=1), Fault("list", POD, refused, times=1)]
    assert held(api, ONE, OTHER) == {ONE: Held(problem="cluster lab forbids to list pods"), OTHER: Held(0, 0)}


def test_a_namespace_that_is_missing_foreign_or_spoilt_is_unknown() -> None:
    api = a_lease_of_four()
    api.add(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER, "labels": {"lessor.dev/lease": OTHER}}}
    )
    api.objects[(NAMESPACE, "", ONE)]["metadata"]["annotations"]["lessor.dev/gpus"] = "many"
    found = held(api, ONE, OTHER, "gpu-00000003")
    assert "do not say any more what it is for" in found.pop(ONE).problem
    shows = "cluster lab shows no namespace {} that lessor made and nobody deletes"
    assert found == {one: Held(problem=shows.format(one)) for one in (OTHER, "gpu-00000003")}
