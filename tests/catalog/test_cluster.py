"""The names that clusters use: every one leads to a model that the catalogue has."""

from __future__ import annotations

import pytest

from lessor.catalog import load_catalogue
from lessor.catalog.cluster import load_names

CATALOGUE, NAMES = load_catalogue(), load_names()


def test_every_label_means_a_model_of_the_catalogue() -> None:
    assert NAMES.labels["74a1"] == "MI300X"
    assert {label: model for label, model in NAMES.labels.items() if CATALOGUE.model(model) is None} == {}


def test_whatever_is_cut_up_is_a_model_of_the_catalogue() -> None:
    assert {model for model in NAMES.slices if CATALOGUE.model(model) is None} == set()
    named = {model for modes in NAMES.partitions.values() for model in modes if model != "usual"}
    assert {model for model in named if CATALOGUE.model(model) is None} == set()


@pytest.mark.parametrize(
    ("resource", "vendor"),
    [
        ("nvidia.com/gpu", "NVIDIA"),
        ("nvidia.com/mig-1g.10gb", "NVIDIA"),
        ("amd.com/gpu", "AMD"),
        ("nvidia.com/imex-channel", None),
        ("cpu", None),
        ("example.test/nvidia.com", None),
    ],
)
def test_a_resource_has_its_vendor_by_its_name(resource: str, vendor: str | None) -> None:
    found = NAMES.vendor(resource)
    assert (found.name if found else None) == vendor


def test_cards_have_as_many_slices_as_their_maker_says() -> None:
    assert [NAMES.slices_of(model) for model in ("A100-80GB", "H100", "A30", "RTX-PRO-6000")] == [7, 7, 4, 4]
    assert [NAMES.partitions_of("cpx", model) for model in ("MI300X", "MI300A")] == [8, 6]
    assert NAMES.partitions_of("xyz", "MI300X") is None


def test_drivers_of_device_claims_are_told_from_those_of_other_devices() -> None:
    assert [bool(NAMES.driver(name)) for name in ("gpu.nvidia.com", "gpu.amd.com", "dra.net")] == [True, True, False]
