"""Pods of the simulated cluster have GPUs that are told of as a node's exporter tells them: by namespace and pod."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lessor.catalog import load_catalogue
from lessor.sandbox.gpus import Machine
from lessor.sandbox.gpus.pods import in_cluster
from lessor.sandbox.kubernetes import RunningCluster, running_cluster
from lessor.sandbox.kubernetes.picture import picture
from tests.sandbox.gpus.fleet import FOUR, Stage
from tests.sandbox.kubernetes.objects import pod

LEASE = "gpu-7k3qxa2m"


@pytest.fixture
def lab() -> Iterator[RunningCluster]:
    with running_cluster(stepping=False) as running:
        running.set(start_seconds=0)
        running.create("Namespace", {"metadata": {"name": LEASE, "labels": {"lessor.dev/lease": LEASE}}})
        running.create("Namespace", {"metadata": {"name": "others"}})
        running.settle()
        yield running


def test_running_pods_with_gpus_are_seen_with_the_model_of_their_node(lab: RunningCluster) -> None:
    lab.create("Pod", pod("train", 2), LEASE)
    lab.create("Pod", pod("big", 9), LEASE)
    lab.create("Pod", pod("plain"), LEASE)
    lab.create("Pod", pod("other", 1, resource="amd.com/gpu"), "others")
    lab.settle()
    seen = {one.id: one for one in _seen(lab)}
    assert list(seen) == [f"{LEASE}.train", "others.other"]
    train, other = seen[f"{LEASE}.train"], seen["others.other"]
    assert (train.model, train.gpus, train.memory, train.lease) == ("A100-80GB", 2, 81_920, LEASE)
    assert train.hostname == "gpu-a100-1"
    assert (other.model, other.lease, other.hostname) == ("MI300X", "", "gpu-amd-1")


def test_each_gpu_says_whose_it_is_and_nothing_speaks_for_the_node(lab: RunningCluster) -> None:
    lab.create("Pod", pod("train", 2), LEASE)
    lab.settle()
    stage = Stage(*_seen(lab))
    (name,) = stage.simulation.machines
    told = [one for one in stage.simulation.figures(name) if one.name == "DCGM_FI_DEV_GPU_UTIL"]
    owners = {(one.labels["exported_namespace"], one.labels["exported_pod"], one.labels["Hostname"]) for one in told}
    assert owners == {(LEASE, "train", "gpu-a100-1")}
    assert [one.labels["gpu"] for one in told] == ["0", "1"]
    assert "lessor_host_cpu_percent" not in {one.name for one in stage.simulation.figures(name)}
    assert "instance_id" not in stage.simulation.target(stage.simulation.machines[name], "dcgm-exporter")
    assert stage.simulation.target(FOUR, "dcgm-exporter")["instance_id"] == FOUR.id


def test_slices_say_that_they_are_slices(lab: RunningCluster) -> None:
    lab.create("Pod", pod("shell", 2, resource="nvidia.com/mig-1g.10gb"), LEASE)
    lab.settle()
    (machine,) = _seen(lab)
    assert (machine.gpus, machine.memory) == (2, 10 * 1024)
    stage = Stage(machine)
    told = [one for one in stage.simulation.figures(machine.id) if one.name == "DCGM_FI_DEV_GPU_UTIL"]
    assert [(one.labels["GPU_I_PROFILE"], one.labels["GPU_I_ID"], one.value) for one in told] == [
        ("1g.10gb", "1", 0.0),
        ("1g.10gb", "2", 0.0),
    ]


def test_a_pod_that_ends_is_no_longer_told_of(lab: RunningCluster) -> None:
    lab.create("Pod", pod("train", 1), LEASE)
    lab.settle()
    assert len(_seen(lab)) == 1
    lab.delete("Pod", "train", LEASE)
    assert _seen(lab) == []


def _seen(lab: RunningCluster) -> list[Machine]:
    return in_cluster(picture(lab.cluster), load_catalogue())
