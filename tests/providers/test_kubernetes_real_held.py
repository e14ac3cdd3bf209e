"""What a real API server tells the meter with the shipped rights: what pods of a namespace hold, of which model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lessor.domain.resource import Kind
from lessor.domain.usage import Held
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.cluster import MERGE_PATCH
from tests.builders import LEASE_ID
from tests.kube.ground import HERE, RealGround
from tests.kube.nodes import A100, GPUS, H100, until
from tests.providers.kube_world import PLACE, KubeWorld
from tests.providers.test_kubernetes_real_ends import begin

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]


@pytest.fixture
def world(real_ground: RealGround) -> KubeWorld:
    return KubeWorld(real_ground, place=HERE)


def a_pod(name: str, units: int, **spec: Any) -> Obj:
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {GPUS: str(units)}}}
    meta = {"name": name, "namespace": LEASE_ID}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [box], **spec}}


def test_promised_gpus_are_held_from_a_pods_node_to_its_end(world: KubeWorld, real_ground: RealGround) -> None:
    provider, _ = begin(world)
    admin = real_ground.admin

    def held() -> Held:
        return provider.held(PLACE, real_ground.now() - timedelta(minutes=1), [LEASE_ID])[LEASE_ID]

    assert held() == Held(0, 0)
    train = admin.create(a_pod("train", 3))
    waits = admin.create(a_pod("waits", 1, nodeSelector={"nobody": "has"}))
    until(lambda: (admin.get(kinds.POD, "train", LEASE_ID) or {})["spec"].get("nodeName"))
    assert held() == Held(3, 1)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ended = {"terminated": {"exitCode": 0, "startedAt": now, "finishedAt": now}}
    box = {"name": "main", "ready": False, "restartCount": 0, "image": "", "imageID": "", "state": ended}
    path = f"/api/v1/namespaces/{LEASE_ID}/pods/train/status"
    change = {"status": {"phase": "Succeeded", "containerStatuses": [box]}}
    until(lambda: (admin.get(kinds.POD, "train", LEASE_ID) or {})["status"].get("phase") == "Running")
    assert admin._call("PATCH", path, "ending", {}, change, MERGE_PATCH).fine
    assert held() == Held(3, 1)
    real_ground.ahead += timedelta(minutes=2)
    assert held() == Held(0, 1)
    for one in (train, waits):
        admin.delete(kinds.POD, one["metadata"]["name"], LEASE_ID, one["metadata"]["uid"])
    until(lambda: not admin.list(kinds.POD, LEASE_ID))
    assert held() == Held(0, 0)


def test_a_pod_on_another_model_is_seen_by_the_nodes_own_label(world: KubeWorld, real_ground: RealGround) -> None:
    provider, _ = begin(world)
    admin = real_ground.admin
    admin.create(a_pod("train", 1))
    until(lambda: (admin.get(kinds.POD, "train", LEASE_ID) or {})["spec"].get("nodeName"))
    node = (admin.get(kinds.POD, "train", LEASE_ID) or {})["spec"]["nodeName"]

    def faults() -> list[str]:
        seen = provider.look(LEASE_ID, PLACE).resources
        return [one.fault for one in seen if one.kind is Kind.NAMESPACE]

    assert faults() == [""]
    _label(real_ground, node, H100)
    try:
        remedy = f"give it the nodeSelector nvidia.com/gpu.product: {A100}"
        assert faults() == [f"pod train holds 1 x H100 of {node}, and the lease is for A100-80GB: {remedy}"]
    finally:
        _label(real_ground, node, A100)


def _label(ground: RealGround, node: str, product: str) -> None:
    ground.admin.patch(kinds.NODE, node, "", {"metadata": {"labels": {"nvidia.com/gpu.product": product}}})
