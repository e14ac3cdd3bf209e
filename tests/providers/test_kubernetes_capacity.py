"""What a cluster hands out, at which price, and how much of it is free."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from lessor.domain.money import Money
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind, Market, Need
from lessor.ports import NoCapacityError, PermanentError, RetryableError
from lessor.providers.kubernetes import capacity, gpus, offers
from lessor.providers.kubernetes.api import NODE, POD, RESOURCE_QUOTA
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site
from tests.builders import a_request
from tests.providers.kube_nodes import A100, H100, T4, a_cluster, a_site, gpu_node, lease, pod, space

GPU = "nvidia.com/gpu"
WHOLE = GpuShape("A100-80GB", GPU, 80, nodes={"nvidia.com/gpu.product": (A100,)})


@pytest.mark.parametrize(
    ("product", "memory", "model", "gib"),
    [
        ("NVIDIA-A100-SXM4-80GB", 81920, "A100-80GB", 80),
        ("NVIDIA-A100-SXM4-40GB", 40960, "A100-40GB", 40),
        ("NVIDIA-A100-80GB-PCIe", 81920, "A100-80GB", 80),
        ("NVIDIA-H100-80GB-HBM3", 81559, "H100", 80),
        ("NVIDIA-H100-NVL", 95830, "H100-NVL", 94),
        ("NVIDIA-H200", 143771, "H200", 141),
        ("Tesla-T4", 15360, "T4", 16),
        ("Tesla-V100-SXM2-32GB", 32768, "V100-32GB", 32),
        ("NVIDIA-L40S", 46068, "L40S", 48),
        ("NVIDIA-A10", 23028, "A10-24GB", 24),
        ("NVIDIA-RTX-A6000", 49140, "RTX-A6000", 48),
        ("NVIDIA-GeForce-RTX-4090", 24564, "RTX-4090", 24),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97887, "RTX-PRO-6000", 96),
        ("NVIDIA-X900-Ultra", 524288, "X900-Ultra", 512),
    ],
)
def test_products_have_the_names_of_the_catalogue(product: str, memory: int, model: str, gib: int) -> None:
    (found,) = gpus.shapes(a_site(a_cluster(gpu_node("node-a", 8, product, memory))))
    assert found == GpuShape(model, GPU, gib, Fraction(1), {"nvidia.com/gpu.product": (product,)})


def test_a_model_under_two_product_names_is_one_shape_with_the_labels_of_both() -> None:
    (found,) = gpus.shapes(a_site(a_cluster(gpu_node("node-a"), gpu_node("node-b", product="NVIDIA-A100-80GB-PCIe"))))
    assert found.nodes == {"nvidia.com/gpu.product": ("NVIDIA-A100-80GB-PCIe", A100)}


def test_an_offer_has_the_rate_of_the_place_for_each_gpu() -> None:
    site = a_site(
        a_cluster(gpu_node("node-a"), gpu_node("node-b", product=H100), gpu_node("node-c", product=T4, memory=15360))
    )
    found = offers.offers(site, Need(count=2), Market.ON_DEMAND)
    assert [(one.gpu_model, one.gpu_count, one.hourly) for one in found] == [
        ("A100-80GB", 2, Money(Decimal("5.00"))),
        ("H100", 2, Money(Decimal("8.00"))),
        ("T4", 2, None),
    ]
    assert {one.instance_type for one in found} == {GPU}
    assert offers.offers(site, Need(count=2), Market.SPOT) == ()


def test_more_than_the_cluster_has_at_all_is_no_offer() -> None:
    site = a_site(a_cluster(gpu_node("node-a"), gpu_node("node-b")))
    assert offers.offers(site, Need("A100", 16), Market.ON_DEMAND)[0].gpu_count == 16
    with pytest.raises(PermanentError, match="Offered there: A100-80GB x16") as caught:
        offers.quote(site, Need("A100", 17), Market.ON_DEMAND, site.clock())
    assert caught.value.code == "no-offer"


def test_unread_nodes_are_an_error_and_never_no_offer() -> None:
    api = a_cluster(gpu_node("node-a"))
    api.fail("list", NODE)
    with pytest.raises(RetryableError):
        offers.offers(a_site(api), Need("A100", 1), Market.ON_DEMAND)


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


def an_order(
    site: Site, count: int = 1, kind: LeaseKind = LeaseKind.NAMESPACE, lease_id: str = "gpu-00000002"
) -> Order:
    quoted = offers.quote(site, Need("A100", count), Market.ON_DEMAND, site.clock())
    request = a_request(need=Need("A100", count), place=site.place, kind=kind)
    return Order(lease_id, request, quoted, "U0ANA", "vision", "4711", None)
