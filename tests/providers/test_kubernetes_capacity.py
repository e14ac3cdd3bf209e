"""What a cluster hands out, and at which rates."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Market, Need
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import gpus, offers
from lessor.providers.kubernetes.api import NODE
from lessor.providers.kubernetes.place import Rate
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site
from tests.providers.kube_nodes import A100, H100, T4, a_cluster, a_site, an_order, gpu_node, node

GPU = "nvidia.com/gpu"


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


MIG = "nvidia.com/mig-1g.10gb"


def a_mixed_cluster(**config: Any) -> Site:
    """A100 whole and in slices, H100, T4 that are shared by four, and MI300X."""
    labels = {"nvidia.com/gpu.product": A100, "nvidia.com/gpu.memory": "81920"}
    shared = {
        "nvidia.com/gpu.product": f"{T4}-SHARED",
        "nvidia.com/gpu.memory": "15360",
        "nvidia.com/gpu.replicas": "4",
    }
    amd = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}
    nodes = [
        node("node-a", {GPU: 4, MIG: 28}, labels),
        gpu_node("node-b", product=H100),
        node("node-c", {GPU: 16}, shared),
        node("node-d", {"amd.com/gpu": 8}, amd),
    ]
    return a_site(a_cluster(*nodes), **config)


@pytest.mark.parametrize(
    ("need", "models"),
    [
        (Need(count=1), ["A100-80GB", "H100", "MI300X"]),
        (Need("A100", 1), ["A100-80GB"]),
        (Need("a100 80gb", 1), ["A100-80GB"]),
        (Need(count=1, memory_gib=100), ["MI300X"]),
        (Need("A100-80GB-1g.10gb", 14), ["A100-80GB-1g.10gb"]),
        (Need("1g.10gb", 1), ["A100-80GB-1g.10gb"]),
        (Need(instance_type=MIG), ["A100-80GB-1g.10gb"]),
        (Need("T4-shared-4", 2), ["T4-shared-4"]),
        (Need("T4", 1), []),
        (Need(instance_type="amd.com/gpu"), ["MI300X"]),
        (Need("H100", instance_type="nvidia.com/gpu"), ["H100"]),
        (Need("V100", 1), []),
    ],
)
def test_a_need_is_filled_by_what_was_meant(need: Need, models: list[str]) -> None:
    assert [one.gpu_model for one in offers.offers(a_mixed_cluster(), need, Market.ON_DEMAND)] == models


def test_a_slice_says_what_part_of_a_gpu_it_is_and_has_a_rate_of_its_own() -> None:
    (found,) = offers.offers(a_mixed_cluster(), Need("1g.10gb", 3), Market.ON_DEMAND)
    assert (found.hourly, found.gpu_memory_gib, found.note) == (None, 10, "each is 1/7 of a GPU")
    own = {"A100-80GB-1g.10gb": Rate(Money(Decimal("0.40")))}
    (priced,) = offers.offers(a_mixed_cluster(rates=own), Need("1g.10gb", 3), Market.ON_DEMAND)
    assert priced.hourly == Money(Decimal("1.20"))


def test_shapes_know_their_nodes_by_labels() -> None:
    found = {one.model: one.nodes for one in gpus.shapes(a_mixed_cluster())}
    product = "nvidia.com/gpu.product"
    assert found["T4-shared-4"] == {product: ("Tesla-T4-SHARED",), "nvidia.com/gpu.replicas": ("4",)}
    assert found["A100-80GB-1g.10gb"] == {product: (A100,)}
    assert found["MI300X"] == {"amd.com/gpu.product-name": ("AMD_Instinct_MI300X_OAM",)}


def test_a_quote_has_one_other_offer_of_each_resource_as_an_answer_names_nothing_else() -> None:
    site = a_mixed_cluster()
    found = offers.quote(site, Need(count=2), Market.ON_DEMAND, site.clock())
    assert (found.offer.gpu_model, found.price_list) == ("A100-80GB", "rates of lab 2026-11-28")
    assert [(one.instance_type, one.gpu_model) for one in found.alternatives] == [("amd.com/gpu", "MI300X")]


@pytest.mark.parametrize(("since", "hourly"), [(date(2026, 11, 28), "2.50"), (date(2026, 11, 29), None)])
def test_a_rate_holds_from_its_day_on(since: date, hourly: str | None) -> None:
    site = a_site(a_cluster(gpu_node("node-a")), rates={"A100-80GB": Rate(Money(Decimal("2.50")), since)})
    found = offers.quote(site, Need("A100", 1), Market.ON_DEMAND, site.clock())
    assert found.offer.hourly == (Money(Decimal(hourly)) if hourly else None)
    assert found.price_list == "rates of lab 2026-11-28"


def test_a_workspace_is_one_pod_and_needs_one_node() -> None:
    site = a_site(a_cluster(gpu_node("node-a"), gpu_node("node-b")))
    assert len(offers.candidates(site, an_order(site, 16))) == 1
    assert len(offers.candidates(site, an_order(site, 8, LeaseKind.WORKSPACE))) == 1
    with pytest.raises(PermanentError, match="has 9 A100-80GB: the largest has 8; nothing was created") as caught:
        offers.candidates(site, an_order(site, 9, LeaseKind.WORKSPACE))
    assert caught.value.code == "too-large"


def test_a_quote_says_that_one_pod_could_not_have_all_of_it() -> None:
    site = a_site(a_cluster(gpu_node("node-a"), gpu_node("node-b")), disk_monthly=Money(Decimal("0.10")))
    notes = [offers.quote(site, Need("A100", count), Market.ON_DEMAND, site.clock()).note for count in (8, 9)]
    assert notes == ["", "no node has more than 8, so it can be a namespace but not a workspace"]
    spaces = a_site(site.api, kinds=(LeaseKind.NAMESPACE,))
    assert offers.quote(spaces, Need("A100", 9), Market.ON_DEMAND, site.clock()).note == ""


def test_what_no_node_has_any_more_is_no_candidate() -> None:
    order = an_order(a_site(a_cluster(gpu_node("node-a"))))
    with pytest.raises(
        PermanentError, match=r"no node with A100-80GB as nvidia.com/gpu any more.*It has: H100"
    ) as caught:
        offers.candidates(a_site(a_cluster(gpu_node("node-a", product=H100))), order)
    assert caught.value.code == "unknown-type"


def test_the_same_model_under_two_resources_makes_two_candidates_and_the_approved_one_is_first() -> None:
    api = a_cluster(gpu_node("node-a"), node("node-b", {"example.test/gpu": 4}))
    site = a_site(api, resources={"example.test/gpu": "A100-80GB"})
    found = offers.candidates(site, an_order(site))
    assert [one.instance_type for one in found] == ["example.test/gpu", GPU]
    order = an_order(site)
    renamed = replace(order, quote=replace(order.quote, offer=replace(order.quote.offer, instance_type=GPU)))
    assert [one.instance_type for one in offers.candidates(site, renamed)] == [GPU, "example.test/gpu"]


def test_a_model_that_the_node_does_not_say_is_what_the_organisation_says_or_nobody_can_have_it() -> None:
    api = a_cluster(node("node-a", {GPU: 4}))
    assert gpus.shapes(a_site(api)) == ()
    assert "node-a does not say what model its nvidia.com/gpu are" in gpus.read(a_site(api)).notes[0]
    (told,) = gpus.shapes(a_site(api, resources={GPU: "A100-80GB"}))
    assert (told.model, told.memory_gib, told.nodes) == ("A100-80GB", 80, {})


def test_what_a_label_says_counts_before_what_the_organisation_says() -> None:
    (found,) = gpus.shapes(a_site(a_cluster(gpu_node("node-a")), resources={GPU: "H100"}))
    assert found.model == "A100-80GB"


def test_a_resource_of_a_vendor_that_nobody_knows_is_told() -> None:
    found = gpus.read(a_site(a_cluster(node("node-a", {"nvidia.com/GA102GL_A10": 2}))))
    assert found.gpus == ()
    (told,) = found.notes
    assert told.startswith("nvidia.com/GA102GL_A10 (on node-a) is not in the catalogue")


def test_only_nodes_that_count_as_the_place_are_offered() -> None:
    labelled = gpu_node("node-a", labels={"pool": "lease"})
    site = a_site(a_cluster(labelled, gpu_node("node-b", product=H100)), node_selector={"pool": "lease"})
    assert [one.model for one in gpus.shapes(site)] == ["A100-80GB"]


@pytest.mark.parametrize(
    ("taint", "offered"),
    [
        ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, 1),
        ({"key": "team", "value": "vision", "effect": "NoSchedule"}, 0),
        ({"key": "team", "value": "vision", "effect": "PreferNoSchedule"}, 1),
        ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, 1),
    ],
)
def test_nodes_whose_taint_nobody_tolerates_are_not_offered(taint: dict[str, str], offered: int) -> None:
    site = a_site(a_cluster(gpu_node("node-a", taints=(taint,))))
    assert len(offers.offers(site, Need("A100", 1), Market.ON_DEMAND)) == offered
    assert len(gpus.read(site).notes) == 1 - offered


def test_shared_gpus_have_all_of_the_memory_in_turns_and_a_part_of_it_where_it_is_parted() -> None:
    labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"}
    turns = {**labels, "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    parted = {**labels, "nvidia.com/gpu.sharing-strategy": "mps"}
    for told, memory in ((turns, 16), (parted, 4)):
        (found,) = gpus.shapes(a_site(a_cluster(node("node-a", {GPU: 16}, told))))
        assert (found.model, found.memory_gib) == ("T4-shared-4", memory)


@pytest.mark.parametrize(
    ("resource", "labels"),
    [
        (GPU, {"nvidia.com/gpu.product": "Tesla-T4-SHARED"}),
        ("nvidia.com/gpu.shared", {"nvidia.com/gpu.product": "Tesla-T4"}),
        (f"{MIG}.shared", {"nvidia.com/gpu.product": A100}),
    ],
)
def test_what_is_shared_by_an_unknown_number_is_nobodys_to_ask_for(resource: str, labels: dict[str, str]) -> None:
    api = a_cluster(node("node-a", {resource: 2}, labels))
    assert gpus.shapes(a_site(api)) == ()
    (told,) = gpus.shapes(a_site(api, resources={resource: "T4-shared-4"}))
    assert (told.model, told.share, told.memory_gib) == ("T4-shared-4", Fraction(1, 4), 16)


def test_a_shape_of_which_some_nodes_have_no_labels_is_not_looked_for_by_labels() -> None:
    api = a_cluster(gpu_node("node-a"), node("node-b", {GPU: 8}))
    (found,) = gpus.shapes(a_site(api, resources={GPU: "A100-80GB"}))
    assert (found.model, found.nodes) == ("A100-80GB", {})


GKE, PARTITION = "cloud.google.com/gke-accelerator", "cloud.google.com/gke-gpu-partition-size"
CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"
KARPENTER = "karpenter.k8s.aws/instance-gpu"


@pytest.mark.parametrize(
    ("labels", "model", "share"),
    [
        ({GKE: "nvidia-tesla-a100"}, "A100-40GB", "1"),
        ({GKE: "nvidia-a100-80gb"}, "A100-80GB", "1"),
        ({GKE: "nvidia-l4"}, "L4", "1"),
        ({GKE: "nvidia-h100-80gb", PARTITION: "1g.10gb"}, "H100-1g.10gb", "1/7"),
        ({GKE: "nvidia-tesla-t4", CLIENTS: "4"}, "T4-shared-4", "1/4"),
        ({f"{KARPENTER}-name": "a100", f"{KARPENTER}-memory": "81920"}, "A100-80GB", "1"),
        ({f"{KARPENTER}-name": "t4"}, "T4", "1"),
    ],
)
def test_clouds_have_labels_of_their_own(labels: dict[str, str], model: str, share: str) -> None:
    (found,) = gpus.shapes(a_site(a_cluster(node("node-a", {GPU: 8}, labels))))
    assert (found.model, found.share) == (model, Fraction(share))
    assert {key: values[0] for key, values in found.nodes.items()}.items() <= labels.items()


@pytest.mark.parametrize("product", ["NVIDIA-A100-PCIe", "NVIDIA-A100-PCIe-MIG-1g.10gb"])
def test_one_of_several_models_of_a_name_is_not_guessed(product: str) -> None:
    labels = {"nvidia.com/gpu.product": product}
    assert gpus.shapes(a_site(a_cluster(node("node-a", {GPU: 8}, labels)))) == ()
    (told,) = gpus.shapes(a_site(a_cluster(gpu_node("node-a", product="NVIDIA-A100-PCIe", memory=81920))))
    assert told.model == "A100-80GB"
