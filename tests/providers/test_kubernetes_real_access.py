"""What an access to a lease opens on a real API server, what it does not, and that it ends with the lease's owner."""

from __future__ import annotations

from typing import Any

import pytest

from lessor.domain.request import Need
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import Obj
from lessor.providers.kubernetes.cluster import Cluster
from tests.builders import LEASE_ID
from tests.kube.ground import HERE, RealGround
from tests.kube.nodes import until
from tests.providers.attempts import silent
from tests.providers.kube_world import OWNERS, PLACE, KubeWorld
from tests.providers.lives import create

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
GPU = "nvidia.com/gpu"


def test_a_lease_opens_what_was_leased_and_nothing_else(real_ground: RealGround) -> None:
    world = KubeWorld(real_ground, place=HERE)
    provider, order = world.provider(), world.order(need=Need("A100-80GB", 2), disk_gib=20)
    create(provider, order)
    theirs = real_ground.holder(provider.credentials(LEASE_ID, PLACE, silent).text)
    theirs.create(pod("whole", {GPU: "2"}))
    until(lambda: used(real_ground, f"requests.{GPU}") == "2")
    for what, refused in {
        "a third GPU": pod("third", {GPU: "1"}),
        "a GPU of another make": pod("amd", {"amd.com/gpu": "1"}),
        "a shared GPU": pod("shared", {"nvidia.com/gpu.shared": "1"}),
        "more disk than was asked for": disk("large", "21Gi"),
        "devices without a quota": device_claim(),
    }.items():
        with pytest.raises(PermanentError) as caught:
            theirs.create(refused)
        assert caught.value.code == "quota", f"{what}: {caught.value}"
    theirs.create(disk("fits", "20Gi"))

    with pytest.raises(PermanentError, match="PodSecurity"):
        theirs.create(pod("root", {}, hostPID=True))
    for kind, name, change in (
        (kinds.RESOURCE_QUOTA, "lessor", {"spec": {"hard": {f"requests.{GPU}": "8"}}}),
        (kinds.LIMIT_RANGE, "lessor", {"spec": {"limits": []}}),
        (kinds.ROLE_BINDING, "lessor-access", {"subjects": []}),
    ):
        with pytest.raises(PermanentError) as caught:
            theirs.patch(kind, name, LEASE_ID, change)
        assert caught.value.code == "forbidden"
    with pytest.raises(PermanentError) as caught:
        theirs.patch(kinds.NAMESPACE, LEASE_ID, "", {"metadata": {"annotations": {"lessor.dev/ends": "2099"}}})
    assert caught.value.code == "forbidden"


def test_an_access_ends_with_its_owner_and_the_next_one_gets_in(
    real_ground: RealGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWNERS, "U0OTHER", "other@example.test")
    world = KubeWorld(real_ground, place=HERE)
    provider = world.provider()
    create(provider, world.order())
    theirs = real_ground.holder(provider.credentials(LEASE_ID, PLACE, silent).text)
    assert list(theirs.list(kinds.POD, LEASE_ID)) == []
    assert may(real_ground.admin, "requester@example.test")

    provider.set_owner(LEASE_ID, PLACE, "U0REQUESTER", "ml", "cc-7", ("U0OTHER",))
    assert list(theirs.list(kinds.POD, LEASE_ID)) == []
    until(lambda: may(real_ground.admin, "other@example.test"))

    provider.set_owner(LEASE_ID, PLACE, "U0OTHER", "ml", "cc-7")
    until(lambda: not may(real_ground.admin, "requester@example.test"))
    assert may(real_ground.admin, "other@example.test")
    until(lambda: locked_out(theirs))
    anew = real_ground.holder(provider.credentials(LEASE_ID, PLACE, silent).text)
    assert list(anew.list(kinds.POD, LEASE_ID)) == []


def locked_out(holder: Cluster) -> bool:
    """A server believes for some seconds in a token whose account is gone."""
    try:
        holder.list(kinds.POD, LEASE_ID)
    except RetryableError as error:
        return error.code == "unauthorized"
    return False


def may(admin: Cluster, user: str) -> bool:
    """Whether somebody who signs in to the cluster by this name may run things in the lease's namespace."""
    wanted = {"namespace": LEASE_ID, "verb": "create", "resource": "pods"}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    spec = {"user": user, "resourceAttributes": wanted}
    answer = admin._call("POST", REVIEWS, "asking who may", {}, {**body, "spec": spec})
    return bool(answer.body["status"]["allowed"])


def used(ground: RealGround, name: str) -> str:
    quota = ground.admin.get(kinds.RESOURCE_QUOTA, "lessor", LEASE_ID) or {}
    return str(quota.get("status", {}).get("used", {}).get(name))


def pod(name: str, limits: dict[str, str], **spec: Any) -> Obj:
    main = {"name": "main", "image": "example.test/train:1", "resources": {"limits": limits}}
    meta = {"name": name, "namespace": LEASE_ID}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [main], **spec}}


def disk(name: str, size: str) -> Obj:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    meta = {"name": name, "namespace": LEASE_ID}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def device_claim() -> Obj:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    meta = {"name": "gpu", "namespace": LEASE_ID}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec}
