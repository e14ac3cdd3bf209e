"""Two attempts at the same lease that run at the same time: each ends as if it were alone (case B13)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lessor.domain.resource import Condition
from lessor.providers.kubernetes.provider import KubernetesProvider
from lessor.sandbox.kubernetes.cluster import Heard
from tests.builders import LEASE_ID
from tests.providers.attempts import silent
from tests.providers.aws_world import together
from tests.providers.kube_world import PLACE, KubeWorld, SimulatedGround, simulated_ground


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[SimulatedGround]:
    with simulated_ground(tmp_path) as ground:
        yield ground


def begin(ground: SimulatedGround) -> tuple[KubeWorld, KubernetesProvider]:
    """A lease with a deployment of two pods, one GPU each in all."""
    world = KubeWorld(ground)
    provider, order = world.provider(), world.order()
    provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)
    pod = {
        "containers": [{"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    labels = {"app": "train"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    ground.running.create("Deployment", {"metadata": {"name": "train"}, "spec": spec}, LEASE_ID)
    ground.running.advance(seconds=5)
    assert ground.running.exists("Pod", LEASE_ID) != []
    return world, provider


def done(ground: SimulatedGround, verb: str, resource: str) -> list[Heard]:
    return [one for one in ground.running.heard(verb, resource) if one.code < 300 and one.user.endswith(":lessor")]


def test_B13_two_overlapping_stops_agree_on_the_time_and_keep_the_size(ground: SimulatedGround) -> None:
    world, provider = begin(ground)
    stops = together(*[lambda: world.provider().stop(LEASE_ID, PLACE, silent)] * 2)
    assert stops[0] == stops[1] == provider.stop(LEASE_ID, PLACE, silent)
    train = ground.running.get("Deployment", "train", LEASE_ID)
    assert train is not None
    assert train["metadata"]["annotations"]["lessor.dev/replicas"] == "1"
    assert {one.condition for one in provider.conditions(PLACE)} == {Condition.STOPPED}
    starts = together(*[lambda: world.provider().start(LEASE_ID, PLACE, silent)] * 2)
    assert starts[0] == starts[1]
    ground.running.advance(seconds=5)
    assert len(ground.running.exists("Pod", LEASE_ID)) == 1


def test_B13_two_overlapping_deletions_both_see_it_gone(ground: SimulatedGround) -> None:
    world, provider = begin(ground)
    assert together(*[lambda: world.provider().delete(LEASE_ID, PLACE, (), silent)] * 2) == [None, None]
    assert provider.look(LEASE_ID, PLACE).clean
    assert world.existing(LEASE_ID) == []
