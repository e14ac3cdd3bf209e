"""The census of a real cluster: what its scheduler and claims hold, seen with the rights that are shipped."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.pools import Census
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.cluster import MERGE_PATCH
from tests.kube.ground import HERE, RealGround
from tests.kube.nodes import until
from tests.providers.kube_nodes import the_holder, the_pool
from tests.providers.kube_world import PLACE, KubeWorld

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]


def a_pod(name: str, units: int, **spec: Any) -> Obj:
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {"nvidia.com/gpu": str(units)}}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [box], **spec}}


@pytest.fixture
def world(real_ground: RealGround) -> KubeWorld:
    return KubeWorld(real_ground, place=HERE)


def census(world: KubeWorld) -> Census:
    found = world.provider().census(PLACE)
    assert found.problem == ""
    return found


def test_pods_hold_what_the_scheduler_gave_them_until_they_end(world: KubeWorld, real_ground: RealGround) -> None:
    admin = real_ground.admin
    each = [int(node["status"]["capacity"]["nvidia.com/gpu"]) for node in admin.list(kinds.NODE)]
    made = [admin.create(a_pod("train", 3)), admin.create(a_pod("huge", max(each) + 1))]
    try:
        until(lambda: (admin.get(kinds.POD, "train", "default") or {})["status"].get("phase") == "Running")
        pool = the_pool(census(world), "A100-80GB")
        assert (pool.total, pool.held, pool.free, pool.queued) == (sum(each), 3, sum(each) - 3, 1)
        assert pool.largest == max(each)
        assert the_holder(census(world), "pod default/train").units == 3
    finally:
        for one in made:
            admin.delete(kinds.POD, one["metadata"]["name"], "default", one["metadata"]["uid"])
    until(lambda: not admin.list(kinds.POD, "default"))
    assert the_pool(census(world), "A100-80GB").held == 0


def test_claims_hold_devices_that_nothing_runs_on(world: KubeWorld, real_ground: RealGround) -> None:
    admin = real_ground.admin
    device = {"name": "gpu-0", "attributes": {"productName": {"string": "NVIDIA A100-SXM4-80GB"}}}
    pool = {"name": "gpu-1", "generation": 1, "resourceSliceCount": 1}
    devices = admin.create(
        {
            **_kind(kinds.RESOURCE_SLICE),
            "metadata": {"name": "gpu-1-devices"},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": "gpu-1", "pool": pool, "devices": [device]},
        }
    )
    exactly = {"deviceClassName": "gpu.nvidia.com"}
    claim = admin.create(
        {
            **_kind(kinds.RESOURCE_CLAIM),
            "metadata": {"name": "left", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        }
    )
    try:
        assert [one for one in census(world).holders if "claim" in one.ref] == []
        result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "gpu-1", "device": "gpu-0"}
        change = {"status": {"allocation": {"devices": {"results": [result]}}}}
        path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/left/status"
        answer = admin._call("PATCH", path, "allocating", {}, change, MERGE_PATCH)
        assert answer.fine, answer
        found = the_holder(census(world), "claim default/left")
        assert (found.model, found.units, found.flag) == ("A100-80GB (by claim)", 1, "")
        assert the_pool(census(world), "A100-80GB (by claim)").total == 1
        real_ground.ahead += timedelta(minutes=31)
        assert the_holder(census(world), "claim default/left").flag == "claim without a consumer (made by somebody)"
    finally:
        for kind, one in ((kinds.RESOURCE_CLAIM, claim), (kinds.RESOURCE_SLICE, devices)):
            meta = one["metadata"]
            admin.delete(kind, meta["name"], meta.get("namespace", ""), meta["uid"])


def _kind(kind: ApiKind) -> Obj:
    return {"apiVersion": kind.api_version, "kind": kind.kind}
