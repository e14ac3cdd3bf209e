"""The meter over a cluster on real parts: a namespace without pods falls idle, one that is not read never does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lessor.domain.idle import Verdict
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.lease import Lease
from lessor.domain.request import Need
from lessor.ledger import SqlLedger, open_ledger
from tests.builders import LEASE_ID
from tests.metering import MINUTE, Meter, promised
from tests.providers.attempts import silent
from tests.providers.kube_world import KubeWorld, SimulatedGround, simulated_ground

GPU = "nvidia.com/gpu"
PLAN = IdlePlan(organisation={"window": 5 * MINUTE, "warm_up": timedelta()})


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[SimulatedGround]:
    with simulated_ground(tmp_path) as made:
        yield made


@pytest.fixture
def lease(ground: SimulatedGround) -> Lease:
    """A namespace of four GPUs, made by lessor itself."""
    world = KubeWorld(ground)
    provider, order = world.provider(), world.order(need=Need("A100-80GB", 4))
    made = provider.launch(order, provider.candidates(order)[0], silent)
    found = provider.await_usable(order, made, silent)
    return replace(promised(1, 4), id=LEASE_ID, resources=found.resources)


@pytest.fixture
def meter(sqlite_url: str, ground: SimulatedGround, lease: Lease) -> Iterator[Meter]:
    opened: SqlLedger = open_ledger(sqlite_url)
    made = Meter(opened, now=ground.now(), plan=PLAN, places={"kubernetes": KubeWorld(ground).provider()})
    made.record(lease)
    yield made
    opened.close()


async def ticks(meter: Meter, ground: SimulatedGround, count: int) -> None:
    """So many ticks, each a minute later in the cluster as well."""
    for _ in range(count):
        ground.running.advance(minutes=1)
        await meter.tick(ground.now())


async def test_a_namespace_is_idle_once_no_pod_has_held_its_gpus_for_a_window(
    meter: Meter, ground: SimulatedGround, lease: Lease
) -> None:
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {GPU: "3"}}}
    spec = {"containers": [box], "tolerations": [{"key": GPU, "operator": "Exists"}]}
    ground.running.create("Pod", {"metadata": {"name": "train"}, "spec": spec}, LEASE_ID)
    await ticks(meter, ground, 8)
    standing = meter.standing(lease)
    assert (standing.verdict, standing.idle_gpus) == (Verdict.UNKNOWN, 1)
    assert standing.problem == "no samples"
    ground.running.delete("Pod", "train", LEASE_ID)
    await ticks(meter, ground, 4)
    assert meter.standing(lease).verdict is Verdict.BUSY
    await ticks(meter, ground, 1)
    (told,) = [told.evidence for _, told in meter.runs.told if told.evidence.verdict is Verdict.IDLE]
    assert (told.unheld, told.gpus, told.active_kind) == (4, 4, "pod")
    assert told.since == told.unheld_since


async def test_a_cluster_that_refuses_or_hangs_makes_no_namespace_idle(
    meter: Meter, ground: SimulatedGround, lease: Lease
) -> None:
    ground.running.fail(code=403, verb="list", resource="pods", times=None)
    await ticks(meter, ground, 12)
    standing = meter.standing(lease)
    assert (standing.verdict, meter.verdicts) == (Verdict.UNKNOWN, [])
    assert standing.problem.startswith("no samples, and what pods hold is unknown: ")
    ground.running.heal()
    await ticks(meter, ground, 5)
    assert meter.standing(lease).verdict is Verdict.UNKNOWN
    await ticks(meter, ground, 1)
    assert meter.standing(lease).verdict is Verdict.IDLE
