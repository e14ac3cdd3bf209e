"""The server's own count of claimed devices: a lease's quota holds them where the scheduler claims what is leased."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lessor.ports import PermanentError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import Obj
from tests.builders import LEASE_ID
from tests.kube.ground import HERE, RealGround
from tests.providers.attempts import silent
from tests.providers.kube_world import KubeWorld

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

GPU, OWN, OTHER = "nvidia.com/gpu", "gpus.lessor.test", "others.lessor.test"


@pytest.fixture
def world(real_ground: RealGround) -> Iterator[KubeWorld]:
    """With two classes of devices, one of which hands out GPUs by their old name as well."""
    made = [real_ground.admin.create(device_class(*one)) for one in ((OWN, GPU), (OTHER, ""))]
    yield KubeWorld(real_ground, place=HERE)
    for one in made:
        real_ground.admin.delete(kinds.DEVICE_CLASS, one["metadata"]["name"], "", one["metadata"]["uid"])


def test_claims_are_held_to_what_is_leased(world: KubeWorld, real_ground: RealGround) -> None:
    admin, provider = real_ground.admin, world.provider()
    order = world.order(need=world.order().request.need, disk_gib=0)
    made = provider.launch(order, provider.candidates(order)[0], silent)
    provider.await_usable(order, made, silent)
    count = order.quote.offer.gpu_count
    quota = admin.get(kinds.RESOURCE_QUOTA, "lessor", LEASE_ID) or {}
    devices = {name: most for name, most in quota["spec"]["hard"].items() if "resource.k8s.io" in name}
    assert devices == {f"{OWN}.deviceclass.resource.k8s.io/devices": str(count),
                       f"{OTHER}.deviceclass.resource.k8s.io/devices": "0"}  # fmt: skip
    for refused in (claim("a", OWN, count + 1), claim("b", OTHER, 1)):
        with pytest.raises(PermanentError) as caught:
            admin.create(refused)
        assert caught.value.code == "quota"
    admin.create(claim("c", OWN, count))
    with pytest.raises(PermanentError) as caught:
        admin.create(a_pod(1))
    assert f"requests.{GPU}" in str(caught.value)


def device_class(name: str, resource: str) -> Obj:
    spec: dict[str, Any] = {"selectors": [{"cel": {"expression": f'device.driver == "{name}"'}}]}
    spec |= {"extendedResourceName": resource} if resource else {}
    return {**_kind(kinds.DEVICE_CLASS), "metadata": {"name": name}, "spec": spec}


def claim(name: str, of: str, count: int) -> Obj:
    wanted = {"name": "gpu", "exactly": {"deviceClassName": of, "allocationMode": "ExactCount", "count": count}}
    meta = {"name": name, "namespace": LEASE_ID}
    return {**_kind(kinds.RESOURCE_CLAIM), "metadata": meta, "spec": {"devices": {"requests": [wanted]}}}


def a_pod(gpus: int) -> Obj:
    box = {"name": "main", "image": "example.test/train:1", "resources": {"limits": {GPU: str(gpus)}}}
    return {**_kind(kinds.POD), "metadata": {"name": "train", "namespace": LEASE_ID}, "spec": {"containers": [box]}}


def _kind(kind: kinds.ApiKind) -> Obj:
    return {"apiVersion": kind.api_version, "kind": kind.kind}
