"""Leases in a cluster with Kueue, over HTTP and with lessor's own rights: turns that are kept, and who is awaited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.contracts import QUEUED
from lessor.domain.request import LeaseKind, Need
from lessor.domain.usage import Held
from lessor.ports import NoCapacityError
from lessor.sandbox.kubernetes.kinds import KUEUE
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.kube_world import LAB, PLACE, KubeWorld, SimulatedGround, simulated_ground

GPU = "nvidia.com/gpu"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[SimulatedGround]:
    """Eight GPUs, and a queue that hands out two of them."""
    with simulated_ground(tmp_path) as made:
        running = made.running
        running.add_on(KUEUE)
        flavor = {"name": "a100", "resources": [{"name": GPU, "nominalQuota": "2"}]}
        running.create("ResourceFlavor", {"metadata": {"name": "a100"}, "spec": {}})
        spec = {"resourceGroups": [{"coveredResources": [GPU], "flavors": [flavor]}]}
        running.create("ClusterQueue", {"metadata": {"name": "gpus"}, "spec": spec})
        running.create("Namespace", {"metadata": {"name": "team"}})
        local = {"metadata": {"name": "default"}, "spec": {"clusterQueue": "gpus"}}
        running.create("LocalQueue", local, "team")
        running.settle()
        yield made


def job(ground: SimulatedGround, name: str, units: int, namespace: str = "team") -> None:
    """A pod that goes through the queue of its namespace."""
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {GPU: str(units)}}}
    spec = {"containers": [box], "tolerations": [{"key": GPU, "operator": "Exists"}]}
    ground.running.create("Pod", {"metadata": {"name": name}, "spec": spec}, namespace)
    ground.running.settle()


def test_a_workspace_keeps_its_turn_until_it_comes(ground: SimulatedGround) -> None:
    world = KubeWorld(ground, LeaseKind.WORKSPACE, replace(LAB, cluster_queue="gpus"))
    job(ground, "train", 2)
    job(ground, "earlier", 1)
    provider, order = world.provider(), world.order(need=Need("A100-80GB", 2))
    ground.running.advance(seconds=5)
    made = provider.launch(order, provider.candidates(order)[0], silent)
    begun = ground.now()
    with pytest.raises(NoCapacityError) as caught:
        provider.await_usable(order, made, silent)
    stands = f"2 x A100-80GB ({GPU}) in lab, number 2 of 2 that wait in queue gpus"
    assert (caught.value.code, caught.value.tried) == (QUEUED, (stands,))
    assert timedelta(minutes=15) <= ground.now() - begun < timedelta(minutes=16)
    for name in ("earlier", "train"):
        ground.running.delete("Pod", name, "team")
    ground.running.advance(minutes=1)
    found = provider.await_usable(order, made, silent)
    assert found.launched_at >= begun + timedelta(minutes=15)
    assert ground.running.exists("Pod", LEASE_ID) == [f"{LEASE_ID}/workspace-0"]


def test_what_stands_in_the_queue_of_a_namespace_is_awaited_and_then_held(ground: SimulatedGround) -> None:
    world = KubeWorld(ground, place=replace(LAB, cluster_queue="gpus"))
    job(ground, "train", 1)
    provider, order = world.provider(), world.order(need=Need("A100-80GB", 4))
    provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)

    def held() -> Held:
        return provider.held(PLACE, ground.now() - timedelta(minutes=1), [LEASE_ID])[LEASE_ID]

    assert held() == Held(0, 0)
    job(ground, "mine", 2, LEASE_ID)
    assert held() == Held(0, 2)
    ground.running.delete("Pod", "train", "team")
    ground.running.advance(minutes=1)
    assert held() == Held(2, 0)
