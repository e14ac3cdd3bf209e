"""The census of a cluster over HTTP, with lessor's own rights: by model, by holder, and what may not be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Need
from lessor.sandbox.kubernetes.controllers.kubelet import RUNS_FOR
from lessor.sandbox.kubernetes.running import running_cluster
from tests.providers.attempts import silent
from tests.providers.kube_nodes import the_holder, the_pool
from tests.providers.kube_world import PLACE, KubeWorld, SimulatedGround

LEASE = "gpu-00000002"
MODELS = {"A100-80GB": 16, "A100-80GB-1g.10gb": 8, "A100-80GB-3g.40gb": 2, "H100": 8, "MI300X": 8}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KubeWorld]:
    """The sandbox's cluster with a lease of two A100, in whose namespace a workspace runs."""
    begun = datetime.now(UTC).replace(microsecond=0)
    with running_cluster(now=lambda: begun, stepping=False) as running:
        made = KubeWorld(SimulatedGround(running, tmp_path), LeaseKind.WORKSPACE)
        provider, order = made.provider(), made.order(LEASE, Need("A100", 2))
        launched = provider.launch(order, provider.candidates(order)[0], silent)
        provider.await_usable(order, launched, silent)
        yield made


def ground(world: KubeWorld) -> SimulatedGround:
    assert isinstance(world.ground, SimulatedGround)
    return world.ground


def somebodys_pod(world: KubeWorld, name: str, resource: str, units: int, **spec: Any) -> None:
    """A pod that nobody has leased GPUs for."""
    running = ground(world).running
    if "team" not in running.exists("Namespace"):
        running.create("Namespace", {"metadata": {"name": "team", "annotations": {"owner": "vision team"}}})
        running.settle()
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {resource: str(units)}}}
    taint = resource.partition("/mig-")[0].replace("nvidia.com", "nvidia.com/gpu") if "mig-" in resource else resource
    tolerations = [{"key": taint, "operator": "Exists"}]
    running.create(
        "Pod", {"metadata": {"name": name}, "spec": {"containers": [box], "tolerations": tolerations, **spec}}, "team"
    )
    running.settle()


def test_every_model_of_the_cluster_is_counted_with_who_holds_it(world: KubeWorld) -> None:
    somebodys_pod(world, "train", "nvidia.com/gpu", 3)
    somebodys_pod(world, "notebook", "nvidia.com/mig-1g.10gb", 2)
    census = world.provider().census(PLACE)
    assert (census.problem, census.notes) == ("", ())
    assert {one.model: one.total for one in census.pools} == MODELS
    assert sum(one.held or 0 for one in census.pools) == 7
    for pool in census.pools:
        assert pool.free == (pool.total or 0) - (pool.held or 0)
    leased = the_holder(census, f"pod {LEASE}/workspace-0")
    assert (leased.model, leased.units, leased.lease, leased.who) == ("A100-80GB", 2, LEASE, "U0REQUESTER")
    sliced = the_holder(census, "pod team/notebook")
    assert (sliced.units, sliced.share, sliced.lease, sliced.who) == (2, Fraction(1, 7), "", "vision team")


def test_a_finished_pod_is_no_holder_any_more(world: KubeWorld) -> None:
    somebodys_pod(world, "train", "nvidia.com/gpu", 3)
    ground(world).running.change("Pod", "train", {"metadata": {"annotations": {RUNS_FOR: "60"}}}, "team")
    ground(world).running.advance(minutes=1)
    assert sum(one.held or 0 for one in world.provider().census(PLACE).pools) == 5
    ground(world).running.advance(minutes=5)
    census = world.provider().census(PLACE)
    assert [one.ref for one in census.holders] == [f"pod {LEASE}/workspace-0"]
    assert sum(one.free or 0 for one in census.pools) == sum(MODELS.values()) - 2


def test_what_the_cluster_forbids_is_unknown_and_the_rest_is_told(world: KubeWorld) -> None:
    ground(world).running.fail(verb="list", resource="pods", namespace="", code=403, times=None)
    census = world.provider().census(PLACE)
    assert "pods" in census.problem
    assert {one.model: (one.total, one.free) for one in census.pools} == {name: (n, None) for name, n in MODELS.items()}
    assert [one.ref for one in census.holders] == [f"pod {LEASE}/workspace-0"]


def test_a_list_that_expires_between_its_pages_is_read_anew(world: KubeWorld) -> None:
    ground(world).running.fail(verb="list", resource="pods", code=410)
    census = world.provider().census(PLACE)
    assert census.complete
    assert the_pool(census, "A100-80GB").held == 2


def test_a_cluster_that_does_not_answer_has_an_unknown_number_of_everything(world: KubeWorld) -> None:
    ground(world).running.fail(code=503, times=None)
    census = world.provider().census(PLACE)
    assert not census.complete
    assert [(one.model, one.total, one.free) for one in census.pools] == [("A100-80GB", None, None)]
    assert census.holders == ()


def test_a_pod_that_never_runs_holds_its_gpus_from_its_node_on(world: KubeWorld) -> None:
    ground(world).running.set(pulling=False)
    somebodys_pod(world, "stuck", "nvidia.com/gpu", 1, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"})
    assert the_holder(world.provider().census(PLACE), "pod team/stuck").flag == ""
    ground(world).running.advance(hours=3)
    found = the_holder(world.provider().census(PLACE), "pod team/stuck")
    assert (found.model, found.flag) == ("A100-80GB", "held, never ran (ImagePullBackOff)")
    assert found.cost == Money(Decimal("5.40"), "EUR")


def test_pods_without_a_node_hold_nothing_and_wait(world: KubeWorld) -> None:
    somebodys_pod(world, "huge", "amd.com/gpu", 9)
    pool = the_pool(world.provider().census(PLACE), "MI300X")
    assert (pool.held, pool.free, pool.queued) == (0, 8, 1)
