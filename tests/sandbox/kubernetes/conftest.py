"""A simulated cluster of its own for each test; its controllers only work when they are told to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lessor.sandbox.kubernetes import RunningCluster, running_cluster
from tests.kube.fixtures import kube_holder, pytest_runtest_teardown, running_kube
from tests.sandbox.kubernetes.objects import pod

__all__ = ["kube_holder", "lab", "pytest_runtest_teardown", "running_kube"]


@pytest.fixture
def lab() -> Iterator[RunningCluster]:
    with running_cluster(stepping=False) as running:
        running.set(start_seconds=0, stop_seconds=0)
        running.create("Namespace", {"metadata": {"name": "work"}})
        running.settle()
        yield running


@pytest.fixture
def running(lab: RunningCluster) -> RunningCluster:
    """With a pod that holds a GPU and has a port."""
    made: dict[str, Any] = pod("train", 1)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 8888}]
    lab.create("Pod", made, "work")
    lab.settle()
    return lab
