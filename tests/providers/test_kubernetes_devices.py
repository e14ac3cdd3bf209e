"""Devices that are claimed: shut out of leases, unless the scheduler claims them for what a lease is promised."""

from __future__ import annotations

import pytest

from lessor.domain.request import Market, Need
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import gate, offers
from lessor.providers.kubernetes.api import (
    DEVICE_CLASS,
    NAMESPACE,
    NODE,
    RESOURCE_CLAIM,
    RESOURCE_QUOTA,
    RESOURCE_SLICE,
    Obj,
)
from tests.cases.test_d_reserved import with_claims
from tests.providers.kube_ends import Leased
from tests.providers.kube_leases import LEASE, Beginning
from tests.providers.kube_nodes import a_site

GPU, CLAIMS = "nvidia.com/gpu", "count/resourceclaims.resource.k8s.io"


def device_class(name: str, resource: str = "") -> Obj:
    spec = {"extendedResourceName": resource} if resource else {}
    return {"apiVersion": DEVICE_CLASS.api_version, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def begun(*classes: Obj) -> Beginning:
    world = Beginning()
    world.api.extra |= {RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS}
    for one in classes:
        world.api.add(one)
    return world


def of_claims(world: Beginning) -> dict[str, str]:
    return {name: most for name, most in world.hard().items() if "resource.k8s.io" in name}


def test_no_claims_come_in_where_no_class_hands_out_what_was_leased() -> None:
    world = begun(device_class("mig.nvidia.com"), device_class("amd", "amd.com/gpu"))
    world.launch(world.order())
    assert of_claims(world) == {CLAIMS: "0"}


def test_the_scheduler_may_claim_what_was_leased_and_no_other_class() -> None:
    world = begun(
        device_class("gpu.nvidia.com", GPU), device_class("mig.nvidia.com"), device_class("amd", "amd.com/gpu")
    )
    world.launch(world.order())
    assert of_claims(world) == {
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "2",
        "mig.nvidia.com.deviceclass.resource.k8s.io/devices": "0",
        "amd.deviceclass.resource.k8s.io/devices": "0",
    }
    assert world.hard()[f"requests.{GPU}"] == "2"


def test_claims_stay_out_where_classes_may_not_be_read() -> None:
    world = begun(device_class("gpu.nvidia.com", GPU))
    world.api.fail("list", DEVICE_CLASS, PermanentError("you may not", "forbidden"))
    world.launch(world.order())
    assert of_claims(world) == {CLAIMS: "0"}


def test_a_cluster_that_does_not_answer_is_asked_again_before_anybody_gets_in() -> None:
    world, order = begun(device_class("gpu.nvidia.com", GPU)), Beginning().order()
    world.api.fail("list", DEVICE_CLASS)
    with pytest.raises(RetryableError):
        world.launch(order)
    assert world.api.existing(LEASE) == [f"Namespace/{LEASE}"]
    world.launch(order)
    assert of_claims(world) == {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "2"}


def test_a_stop_lets_no_claim_in_either() -> None:
    leased, name = Leased(), "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    hard = leased.obj(RESOURCE_QUOTA, "lessor")["spec"]["hard"]
    hard |= {name: "4", CLAIMS: "0"}
    before = dict(hard)
    gate.freeze(leased.site, leased.obj(NAMESPACE, LEASE), leased.beat)
    assert leased.hard() == before | {name: "0", f"requests.{GPU}": "0"}
    gate.thaw(leased.site, leased.obj(NAMESPACE, LEASE), leased.beat)
    assert leased.hard() == before


def test_an_offer_says_what_only_claims_get() -> None:
    api = with_claims()
    for name in [name for kind, _, name in api.objects if kind == NODE]:
        del api.objects[(NODE, "", name)]
    with pytest.raises(PermanentError) as caught:
        offers.quote(a_site(api), Need("A100", 1), Market.ON_DEMAND, a_site(api).clock())
    assert str(caught.value).endswith(
        "Offered there: no GPUs in this market. Handed out by device claims alone, which no lease can hold to a "
        "number: A100-80GB x8"
    )
    api.fail("list", RESOURCE_CLAIM)
    with pytest.raises(PermanentError, match=r"no GPUs in this market$"):
        offers.quote(a_site(api), Need("A100", 1), Market.ON_DEMAND, a_site(api).clock())
