"""How leases end on a real API server, with its own controllers: stops, stuck namespaces, disks that stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lessor.domain.resource import Condition, Kind, Resource
from lessor.ports import PermanentError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.provider import KubernetesProvider
from tests.builders import LEASE_ID
from tests.kube.ground import HERE, PACE, RealGround
from tests.kube.nodes import STORAGE_CLASS, until
from tests.providers.attempts import silent
from tests.providers.kube_storage import charged_while_it_is_there
from tests.providers.kube_world import PLACE, KubeWorld

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

LIMITS = {"limits": {"nvidia.com/gpu": "1"}}
BOX: Obj = {"name": "main", "image": "example.test/train:1", "resources": LIMITS}
DISK = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": STORAGE_CLASS,
        "resources": {"requests": {"storage": "10Gi"}},
    },
}
CONFIG_MAP = ApiKind("ConfigMap", "configmaps")


@pytest.fixture
def ground(real_ground: RealGround) -> Iterator[RealGround]:
    """Whatever a test holds back with a finalizer is let go of after it."""
    yield real_ground
    for one in real_ground.admin.list(CONFIG_MAP, LEASE_ID):
        real_ground.admin.patch(CONFIG_MAP, one["metadata"]["name"], LEASE_ID, {"metadata": {"finalizers": None}})


@pytest.fixture
def world(ground: RealGround) -> KubeWorld:
    return KubeWorld(ground, place=replace(HERE, claims_kept=timedelta()))


def begin(world: KubeWorld, gpus: int = 4) -> tuple[KubernetesProvider, tuple[Resource, ...]]:
    provider, order = world.provider(), world.order(need=replace(world.order().request.need, count=gpus), disk_gib=50)
    made = provider.launch(order, provider.candidates(order)[0], silent)
    return provider, provider.await_usable(order, made, silent).resources


def make(world: KubeWorld, kind: ApiKind, name: str, spec: Obj | None = None, **meta: Any) -> Obj:
    about = {"name": name, "namespace": LEASE_ID, **meta}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about}
    return world.ground.admin.create({**body, **({"spec": spec} if spec is not None else {})})


def template(name: str, **spec: Any) -> Obj:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [BOX], **spec}}


def running(world: KubeWorld) -> list[str]:
    pods = world.ground.admin.list(kinds.POD, LEASE_ID)
    return sorted(p["metadata"]["name"] for p in pods if p.get("status", {}).get("phase") == "Running")


def test_D07_owners_are_stopped_and_started_and_their_controllers_bring_nothing_back(world: KubeWorld) -> None:
    provider, _ = begin(world)
    selector = {"matchLabels": {"app": "train"}}
    make(world, kinds.DEPLOYMENT, "train", {"replicas": 2, "selector": selector, "template": template("train")})
    make(world, kinds.JOB, "fit", {"template": template("fit", restartPolicy="Never")})
    until(lambda: len(running(world)) == 3)
    stopped_at = provider.stop(LEASE_ID, PLACE, silent)
    admin = world.ground.admin
    assert not admin.list(kinds.POD, LEASE_ID)
    assert provider.stop(LEASE_ID, PLACE, silent) == stopped_at
    train, fit = admin.get(kinds.DEPLOYMENT, "train", LEASE_ID), admin.get(kinds.JOB, "fit", LEASE_ID)
    assert train is not None
    assert fit is not None
    assert (train["spec"]["replicas"], fit["spec"]["suspend"]) == (0, True)
    (space,) = [one for one in provider.conditions(PLACE) if one.kind is Kind.NAMESPACE]
    assert (space.condition, space.changed_at) == (Condition.STOPPED, stopped_at)
    provider.start(LEASE_ID, PLACE, silent)
    until(lambda: len(running(world)) == 3)


def test_D01_what_holds_a_namespace_is_told_in_the_servers_words(world: KubeWorld, ground: RealGround) -> None:
    provider, made = begin(world)
    make(world, CONFIG_MAP, "held", finalizers=["gone.example.test/cleanup"])
    ground.pace = 8  # The server itself needs five seconds to find out what holds it, of the 90 that are waited.
    with pytest.raises(PermanentError) as caught:
        provider.delete(LEASE_ID, PLACE, made, silent)
    assert caught.value.code == "stuck"
    told = str(caught.value)
    assert told.startswith(f"namespace {LEASE_ID} has been terminating since ")
    assert "NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances" in told
    assert "gone.example.test/cleanup in 1 resource instances" in told
    admin = world.ground.admin
    held = admin.get(CONFIG_MAP, "held", LEASE_ID)
    assert held is not None
    assert held["metadata"]["finalizers"] == ["gone.example.test/cleanup"]
    admin.patch(CONFIG_MAP, "held", LEASE_ID, {"metadata": {"finalizers": None}})
    ground.pace = PACE
    provider.delete(LEASE_ID, PLACE, made, silent)
    assert provider.look(LEASE_ID, PLACE, made).clean


def test_D08_a_retained_disk_outlives_the_claim_of_a_template_and_is_told(world: KubeWorld) -> None:
    provider, made = begin(world)
    admin = world.ground.admin
    spec = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template("db")}
    make(world, kinds.STATEFUL_SET, "db", {**spec, "volumeClaimTemplates": [DISK]})
    until(lambda: [one for one in admin.list(kinds.VOLUME) if one.get("status", {}).get("phase") == "Bound"])
    (disk,) = admin.list(kinds.VOLUME)
    admin.patch(kinds.VOLUME, disk["metadata"]["name"], "", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    known = (*made, *provider.look(LEASE_ID, PLACE, made).resources)
    assert [one.type for one in known if one.kind is Kind.CLAIM] == [f"10 GiB {STORAGE_CLASS}"]
    with pytest.raises(PermanentError, match="is released and its class retains the disk") as caught:
        provider.delete(LEASE_ID, PLACE, known, silent)
    assert caught.value.code == "retained"
    (left,) = provider.look(LEASE_ID, PLACE, known).left
    assert (left.kind, left.condition) == (Kind.VOLUME, Condition.STOPPED)
    world.place = replace(world.place, delete_retained=True)
    world.provider().delete(LEASE_ID, PLACE, known, silent)
    assert provider.look(LEASE_ID, PLACE, known).clean


def test_F30_storage_that_people_make_is_charged_while_its_volume_is_there(world: KubeWorld) -> None:
    charged_while_it_is_there(world, STORAGE_CLASS, until)


def test_F40_the_guard_reads_the_end_off_the_namespace_and_stops_without_deleting_it(world: KubeWorld) -> None:
    provider, _ = begin(world)
    make(world, kinds.POD, "train", {"containers": [BOX]})
    make(world, kinds.CLAIM, "data", DISK["spec"])
    until(lambda: running(world) == ["train"])
    ends = world.ground.now().replace(microsecond=0) - timedelta(hours=3)
    provider.set_end(LEASE_ID, PLACE, ends)
    (one,) = world.provider().dated(PLACE).dated
    assert (one.lease, one.ends, one.awake, one.owner) == (LEASE_ID, ends, True, "U0REQUESTER")
    assert world.provider().unleased(PLACE).found == ()
    world.provider().stop(one.lease, one.place, silent)
    (rests,) = world.provider().dated(PLACE).dated
    assert rests.condition is Condition.STOPPED
    admin = world.ground.admin
    assert not admin.list(kinds.POD, LEASE_ID)
    assert admin.get(kinds.CLAIM, "data", LEASE_ID) is not None
    space = admin.get(kinds.NAMESPACE, LEASE_ID)
    assert space is not None
    assert "deletionTimestamp" not in space["metadata"]
