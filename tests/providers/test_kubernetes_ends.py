"""What only a cluster shows the guard: namespaces with their ends, and pods that hold GPUs outside of any lease."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lessor.domain.guarding import Dated
from lessor.domain.money import Money
from lessor.domain.resource import Condition
from lessor.ports import PermanentError
from tests.providers.attempts import silent
from tests.providers.kube_world import PLACE, KubeWorld, SimulatedGround, simulated_ground
from tests.providers.lives import create

LEASE, OTHER = "gpu-00000002", "gpu-00000003"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[SimulatedGround]:
    with simulated_ground(tmp_path) as ground:
        yield ground


@pytest.fixture
def world(ground: SimulatedGround) -> KubeWorld:
    made = KubeWorld(ground)
    create(made.provider(), made.order(LEASE))
    return made


def shown(world: KubeWorld) -> tuple[Dated, ...]:
    return world.provider().dated(PLACE).dated


def run_pod(ground: SimulatedGround, namespace: str, name: str, gpus: int) -> None:
    """A bare pod: nothing would bring it back."""
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec: dict[str, Any] = {"containers": [box], "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    ground.running.create("Pod", {"metadata": {"name": name}, "spec": spec}, namespace)
    ground.running.settle()


def annotate(ground: SimulatedGround, ends: str | None) -> None:
    ground.running.change("Namespace", LEASE, {"metadata": {"annotations": {"lessor.dev/ends": ends}}})


def test_it_says_what_the_namespace_is_for(world: KubeWorld) -> None:
    (one,) = shown(world)
    assert (one.what, one.place) == (f"namespace {LEASE}, 1 x A100-80GB", PLACE)


@pytest.mark.parametrize("spoilt", ["soon", "2026-11-28", "2026-11-28T12:00:00"])
def test_an_end_that_somebody_spoilt_is_unknown(world: KubeWorld, ground: SimulatedGround, spoilt: str) -> None:
    annotate(ground, spoilt)
    (one,) = shown(world)
    assert (one.ends, one.written) == (None, spoilt)
    annotate(ground, None)
    (one,) = shown(world)
    assert (one.ends, one.written) == (None, "")


def test_a_namespace_whose_pods_may_not_be_read_is_unknown_and_hides_no_other(
    world: KubeWorld, ground: SimulatedGround
) -> None:
    create(world.provider(), world.order(OTHER))
    ground.running.fail(verb="list", resource="pods", namespace="", code=403, times=None)
    ground.running.fail(verb="list", resource="pods", namespace=LEASE, code=403, times=None)
    roll = world.provider().dated(PLACE)
    assert {one.lease: one.condition for one in roll.dated} == {LEASE: Condition.UNKNOWN, OTHER: Condition.RUNNING}
    assert len(roll.problems) == 1


def test_the_stop_of_the_guard_ends_what_holds_gpus_and_keeps_the_namespace(
    world: KubeWorld, ground: SimulatedGround
) -> None:
    run_pod(ground, LEASE, "train", 1)
    with pytest.raises(PermanentError, match="pod train has GPUs and no owner"):
        world.provider().stop(LEASE, PLACE, silent)
    world.provider().set_end(LEASE, PLACE, ground.now() - timedelta(hours=3))
    world.provider().stop(LEASE, PLACE, silent)
    assert [one.condition for one in shown(world)] == [Condition.STOPPED]
    assert ground.running.exists("Pod", LEASE) == []
    assert LEASE in ground.running.exists("Namespace")


def test_pods_outside_of_leases_are_told_with_whose_they_are_and_what_they_cost(
    world: KubeWorld, ground: SimulatedGround
) -> None:
    run_pod(ground, LEASE, "mine", 1)
    ground.running.create("Namespace", {"metadata": {"name": "team", "annotations": {"owner": "vision team"}}})
    ground.running.settle()
    begun = ground.now()
    run_pod(ground, "team", "train", 3)
    found = world.provider().unleased(PLACE)
    assert found.problems == ()
    (one,) = found.found
    assert (one.ref, one.what, one.who) == ("pod team/train", "3 x A100-80GB", "vision team")
    assert one.hourly == Money(Decimal("5.40"), "EUR")
    assert one.since is not None
    assert one.since >= begun


def test_a_cluster_that_does_not_answer_is_not_one_without_strays(world: KubeWorld, ground: SimulatedGround) -> None:
    ground.running.fail(code=503, times=None)
    found = world.provider().unleased(PLACE)
    assert found.found == ()
    assert len(found.problems) == 1
    assert "cluster lab" in found.problems[0]
