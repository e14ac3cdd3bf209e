"""Which resources are GPUs: what pods are asked for and what nodes are read for are the same names."""

from __future__ import annotations

import pytest

from lessor.providers.kubernetes import gpus
from lessor.providers.kubernetes.models import known, named
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_nodes import a_site


@pytest.mark.parametrize(
    ("resource", "is_gpu"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("nvidia.com/mig-1g.10gb.shared", True),
        ("nvidia.com/mig-1g.10gb.me", True),
        ("amd.com/gpu", True),
        ("amd.com/cpx_nps1", True),
        ("amd.com/xyz_nps1", False),
        ("nvidia.com/hostdev", False),
        ("nvidia.com/imex-channel", False),
        ("cpu", False),
        ("example.test/gpu", False),
    ],
)
def test_a_resource_is_a_gpu_for_pods_and_nodes_alike(resource: str, is_gpu: bool) -> None:
    site = a_site(FakeApi())
    assert known(resource) is is_gpu
    assert gpus.is_gpu(site, resource) is is_gpu
    assert (named(site, resource, {}) is not None) is is_gpu


@pytest.mark.parametrize("resource", ["example.test/gpu", "nvidia.com/hostdev"])
def test_the_organisation_can_name_others(resource: str) -> None:
    site = a_site(FakeApi(), resources={resource: "L4"})
    assert gpus.is_gpu(site, resource)
    found = named(site, resource, {})
    assert found is not None
    assert (found.model, found.memory_gib) == ("L4", 24)
