"""How a namespace lease begins: what is made, in which order, once, and what becomes of an attempt that fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Need
from lessor.domain.resource import Kind
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import ownership, usable
from lessor.providers.kubernetes.api import (
    LIMIT_RANGE,
    LOCAL_QUEUE,
    NAMESPACE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    ApiKind,
)
from tests.providers.attempts import Beats, Stopped, silent
from tests.providers.kube_leases import BEGIN, ENDS, LEASE, PIECES, Beginning
from tests.providers.kube_nodes import gpu_node, node


@pytest.fixture
def world() -> Beginning:
    return Beginning()


def test_a_namespace_lease_has_its_pieces_and_says_how_to_get_in(world: Beginning) -> None:
    made = world.lease(world.order())
    assert world.api.existing(LEASE) == PIECES
    assert [(r.kind, r.id.partition("@")[0], r.type) for r in made.resources] == [(Kind.NAMESPACE, LEASE, "Namespace")]
    assert made.access.splitlines()[0] == f"lessor access {LEASE} --kubeconfig {LEASE}.kubeconfig"
    assert (made.launched_at, made.hourly, made.stoppable) == (BEGIN, Money(Decimal("5.00")), True)
    assert (made.disk_gib, made.disk_monthly) == (0, None)


def test_limits_stand_before_anybody_gets_in(world: Beginning) -> None:
    world.launch(world.order())
    written = [kind for verb, kind, _, _ in world.api.calls if verb in ("create", "apply")]
    assert written == ["Namespace", "ResourceQuota", "LimitRange", "NetworkPolicy", "ServiceAccount", "RoleBinding"]


def test_the_quota_lets_in_what_was_leased_and_nothing_else_that_computes(world: Beginning) -> None:
    world.api.add(node("node-m", {"nvidia.com/mig-1g.10gb": 7}, {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}))
    world.config = replace(world.config, resources={"example.com/tpu": "TPU"})
    world.launch(world.order(disk_gib=300))
    assert world.hard() == {
        "requests.nvidia.com/gpu": "2",
        "requests.nvidia.com/mig-1g.10gb": "0",
        "requests.nvidia.com/gpu.shared": "0",
        "requests.amd.com/gpu": "0",
        "requests.example.com/tpu": "0",
        "count/resourceclaims.resource.k8s.io": "0",
        "requests.storage": "300Gi",
    }


def test_a_lease_for_slices_does_not_open_whole_cards(world: Beginning) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    world.api.add(node("node-m", {"nvidia.com/mig-1g.10gb": 7}, labels))
    world.lease(world.order(need=Need("A100-80GB-1g.10gb", 3)))
    hard = world.hard()
    assert (hard["requests.nvidia.com/mig-1g.10gb"], hard["requests.nvidia.com/gpu"]) == ("3", "0")
    notes = world.obj(NAMESPACE, LEASE)["metadata"]["annotations"]
    assert notes["lessor.dev/model"] == "A100-80GB-1g.10gb"
    assert (notes["lessor.dev/resource"], notes["lessor.dev/gpus"]) == ("nvidia.com/mig-1g.10gb", "3")


def test_amd_goes_by_its_own_name(world: Beginning) -> None:
    world.api.add(node("node-x", {"amd.com/gpu": 8}, {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}))
    world.lease(world.order(need=Need(instance_type="amd.com/gpu")))
    assert (world.hard()["requests.amd.com/gpu"], world.hard()["requests.nvidia.com/gpu"]) == ("1", "0")


def test_everything_carries_the_lease_and_whose_it_is(world: Beginning) -> None:
    world.launch(world.order())
    for kind, name in [
        (NAMESPACE, LEASE),
        (RESOURCE_QUOTA, "lessor"),
        (LIMIT_RANGE, "lessor"),
        (NETWORK_POLICY, "lessor"),
        (SERVICE_ACCOUNT, "lessor-access"),
        (ROLE_BINDING, "lessor-access"),
    ]:
        meta = world.obj(kind, name)["metadata"]
        ours = {key: value for key, value in meta["labels"].items() if key.startswith("lessor.dev/")}
        assert ours == {"lessor.dev/lease": LEASE, "lessor.dev/team": "ml", "lessor.dev/managed-by": "lessor"}
        assert meta["annotations"]["lessor.dev/owner"] == "U0REQUESTER"
        assert meta["annotations"]["lessor.dev/cost-center"] == "cc-7"
        assert meta["annotations"]["lessor.dev/ends"] == ENDS.isoformat()


def test_the_wall_lets_in_nobody_and_out_everywhere_but_to_the_nodes_credentials(world: Beginning) -> None:
    world.launch(world.order())
    spec = world.obj(NETWORK_POLICY, "lessor")["spec"]
    assert (spec["podSelector"], spec["policyTypes"]) == ({}, ["Ingress", "Egress"])
    assert spec["ingress"] == [{"from": [{"podSelector": {}}]}]
    names, within, outside = spec["egress"]
    assert names == {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}
    assert within == {"to": [{"podSelector": {}}]}
    assert outside["to"][0] == {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}


def test_containers_that_say_nothing_are_counted_and_get_no_gpu(world: Beginning) -> None:
    world.launch(world.order())
    (limit,) = world.obj(LIMIT_RANGE, "lessor")["spec"]["limits"]
    assert limit == {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "256Mi"}}


def test_owner_and_lead_are_let_in_with_the_places_role_and_co_owners_too(world: Beginning) -> None:
    world.config = replace(world.config, role="gpu-user")
    world.launch(replace(world.order(), co_owners=("U0OTHER", "U0LEAD", "U0NOBODY")))
    binding = world.obj(ROLE_BINDING, "lessor-access")
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gpu-user"}
    account, *people = binding["subjects"]
    assert account == {"kind": "ServiceAccount", "name": "lessor-access", "namespace": LEASE}
    assert [one["name"] for one in people] == ["oidc:ana@x.test", "oidc:lea@x.test", "oidc:ben@x.test"]
    assert world.obj(SERVICE_ACCOUNT, "lessor-access")["automountServiceAccountToken"] is False


def test_people_bring_their_own_images_under_the_baseline(world: Beginning) -> None:
    world.launch(world.order())
    labels = world.obj(NAMESPACE, LEASE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    assert labels["pod-security.kubernetes.io/warn"] == "restricted"


# -- once -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LeaseKind.NAMESPACE, LeaseKind.WORKSPACE])
@pytest.mark.parametrize("call", ["launch", "await_usable"])
def test_an_attempt_that_is_stopped_anywhere_is_completed_by_the_next(kind: LeaseKind, call: str) -> None:
    """Also by one that goes on without launching again, as the worker does with what it finds (cases B13, B27)."""
    for stop_at in range(20):
        world, beats = Beginning(), Beats(stop_at)
        order = world.order(kind=kind)
        whole = world.lease(order)
        expected = world.api.existing(LEASE)
        world.delete()
        stopped = False
        try:
            made = world.launch(order, beats if call == "launch" else silent)
            usable.await_usable(world.site, order, made, beats if call == "await_usable" else silent)
        except Stopped:
            stopped = True
        if stopped and (NAMESPACE, "", LEASE) in world.api.objects:
            usable.await_usable(world.site, order, (), silent)
            assert world.api.existing(LEASE) == expected
        again = world.lease(order)
        assert [(r.kind, r.type) for r in again.resources] == [(r.kind, r.type) for r in whole.resources]
        assert world.api.existing(LEASE) == expected
        world.delete()
        assert world.api.existing(LEASE) == []
        if not stopped:
            assert stop_at > 0
            return
    pytest.fail("it never ran through")


def test_what_is_there_is_not_written_again(world: Beginning) -> None:
    order = world.order()
    first = world.lease(order)
    world.now += timedelta(hours=1)
    world.api.calls.clear()
    assert world.lease(order) == first
    assert {verb for verb, *_ in world.api.calls} <= {"get", "list", "served"}


def test_a_lost_answer_leaves_one_namespace(world: Beginning) -> None:
    order = world.order()
    world.api.fail("create", NAMESPACE, after=True)
    with pytest.raises(RetryableError):
        world.launch(order)
    world.lease(order)
    assert world.api.existing(LEASE) == PIECES


def test_somebody_elses_namespace_of_that_name_is_left_alone(world: Beginning) -> None:
    """Case D23: the labels are copied, but the server says that another made it."""
    labels = {"lessor.dev/lease": LEASE, "lessor.dev/managed-by": "lessor"}
    world.api.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE, "labels": labels}})
    with pytest.raises(PermanentError, match="lessor did not make") as caught:
        world.launch(world.order())
    assert caught.value.code == "foreign"
    assert world.api.existing(LEASE) == [f"Namespace/{LEASE}"]
    with pytest.raises(PermanentError, match="lessor did not make"):
        ownership.set_end(world.site, LEASE, ENDS)


def test_nothing_is_made_in_a_namespace_that_is_going(world: Beginning) -> None:
    order = world.order()
    world.launch(order)
    world.obj(LIMIT_RANGE, "lessor")["metadata"]["finalizers"] = ["example.com/slow"]
    world.api.remove((NAMESPACE, "", LEASE))
    with pytest.raises(RetryableError, match="being deleted") as caught:
        world.launch(order)
    assert caught.value.code == "terminating"


def test_a_namespace_that_somebody_deletes_meanwhile_is_begun_anew(world: Beginning) -> None:
    order = world.order()

    def meanwhile(what: str) -> None:
        if what == f"creating NetworkPolicy lessor in {LEASE}":
            world.api.remove((NAMESPACE, "", LEASE))

    with pytest.raises(RetryableError, match="begun anew"):
        world.launch(order, meanwhile)
    assert world.api.existing(LEASE) == []
    world.lease(order)
    assert world.api.existing(LEASE) == PIECES


# -- room -----------------------------------------------------------------------------------------------------------


def test_without_room_nothing_is_made(world: Beginning) -> None:
    world.launch(world.order("gpu-00000001", gpus=15))
    order = world.order(gpus=2)
    with pytest.raises(NoCapacityError) as caught:
        world.launch(order)
    assert caught.value.tried == (str(world.candidate(order)),)
    assert world.api.existing(LEASE) == []


def test_of_two_launches_that_saw_the_same_gpus_one_gets_them(world: Beginning) -> None:
    """The second was made after the first had looked, and before its quota stood."""
    first, second = world.order("gpu-00000001", gpus=10), world.order("gpu-00000002", gpus=10)

    def meanwhile(what: str) -> None:
        if what == "creating the namespace gpu-00000001" and (NAMESPACE, "", "gpu-00000002") not in world.api.objects:
            world.now += timedelta(seconds=1)
            world.launch(second)
            world.now += timedelta(seconds=1)

    with pytest.raises(NoCapacityError):
        world.launch(first, meanwhile)
    assert world.api.existing("gpu-00000001") == []
    assert world.hard("gpu-00000002")["requests.nvidia.com/gpu"] == "10"


@pytest.mark.parametrize("queue", [LOCAL_QUEUE, replace(LOCAL_QUEUE, version="v1beta2")], ids=lambda one: one.version)
def test_where_a_queue_decides_nobody_looks_for_room(world: Beginning, queue: ApiKind) -> None:
    world.api.extra.add(queue)
    world.config = replace(world.config, cluster_queue="gpus")
    world.launch(world.order("gpu-00000001", gpus=15))
    world.lease(world.order(gpus=2))
    assert world.api.existing(LEASE) == sorted([*PIECES, "LocalQueue/default"])
    assert world.obj(queue, "default")["spec"] == {"clusterQueue": "gpus"}
    ownership.set_owner(world.site, LEASE, "U0OTHER", "vision", "4711")
    assert world.obj(queue, "default")["metadata"]["labels"]["lessor.dev/team"] == "vision"


def test_a_queue_that_the_cluster_does_not_have_decides_nothing(world: Beginning) -> None:
    world.config = replace(world.config, cluster_queue="gpus")
    world.launch(world.order("gpu-00000001", gpus=15))
    with pytest.raises(NoCapacityError):
        world.launch(world.order(gpus=2))
    world.lease(world.order(gpus=1))
    assert world.api.existing(LEASE) == PIECES


# -- refusals -------------------------------------------------------------------------------------------------------


def test_what_the_server_calls_wrong_leaves_nothing_behind(world: Beginning) -> None:
    world.api.fail("apply", NETWORK_POLICY, PermanentError("the cluster refuses it", "invalid"))
    with pytest.raises(PermanentError, match=r"the cluster refuses it.*deleted again"):
        world.launch(world.order())
    assert world.api.existing(LEASE) == []


def test_a_right_that_is_missing_deletes_nothing(world: Beginning) -> None:
    """What we may not read or write is unknown, and the workflow takes down what is left (law 1)."""
    world.lease(world.order())
    world.api.fail("get", ROLE_BINDING, PermanentError("the cluster forbids it", "forbidden"))
    with pytest.raises(PermanentError, match="forbids"):
        world.launch(world.order())
    assert world.api.existing(LEASE) == PIECES


def test_a_machine_is_no_lease_of_a_cluster(world: Beginning) -> None:
    with pytest.raises(PermanentError, match="no leases of kind machine"):
        world.launch(world.order(kind=LeaseKind.MACHINE))
    assert world.api.existing(LEASE) == []


def test_an_unknown_rate_stays_unknown(world: Beginning) -> None:
    world.api.add(gpu_node("node-t", product="Tesla-T4", memory=15360))
    assert world.lease(world.order(need=Need("T4", 1))).hourly is None
