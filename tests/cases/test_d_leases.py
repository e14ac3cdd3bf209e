"""Cases D02, D05, D09, D10: how leases in clusters are limited, begun and named."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from temporalio import activity

from lessor.catalog import load_catalogue
from lessor.contracts import Verb
from lessor.domain.faults import judged, reported
from lessor.domain.lease import State
from lessor.domain.request import LeaseKind, Need, Place
from lessor.domain.resource import Condition, Kind
from lessor.ports import RetryableError
from lessor.providers.kubernetes import inventory, usable
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA
from lessor.providers.kubernetes.manifests import enforced
from lessor.providers.kubernetes.naming import label_value
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.provider import KubernetesProvider
from tests.builders import a_lease
from tests.providers.attempts import silent
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_leases import BEGIN, LEASE, Beginning
from tests.providers.kube_nodes import gpu_node, node, pod
from tests.temporal import time_skipping
from tests.world import MANAGER, idle_world

ALLOWED = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def test_D02_gpu_quota_written_with_the_wrong_prefix() -> None:
    """Only `requests.` is written, for whatever kind of GPU, and a quota that is not counted is not handed out."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    for need, name in (
        (Need("A100-80GB", 2), "nvidia.com/gpu"),
        (Need("A100-80GB-1g.10gb", 2), "nvidia.com/mig-1g.10gb"),
        (Need(instance_type="amd.com/gpu", count=2), "amd.com/gpu"),
    ):
        world = Beginning()
        world.api.add(node("node-m", {"nvidia.com/mig-1g.10gb": 7}, labels))
        world.api.add(node("node-x", {"amd.com/gpu": 8}, {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}))
        world.lease(world.order(need=need))
        hard = world.hard()
        assert hard[f"requests.{name}"] == "2"
        assert {key.partition(".")[0] for key in hard} == {"requests", "count/resourceclaims"}
        assert enforced(world.obj(RESOURCE_QUOTA, "lessor"), name)

    world = Beginning()
    world.api.quotas_enforced = False
    order = world.order()
    made = world.launch(order)
    with pytest.raises(RetryableError, match=r"requests\.nvidia\.com/gpu is not enforced") as caught:
        usable.await_usable(world.site, order, made, silent)
    assert caught.value.code == "not-enforced"
    assert world.now - BEGIN == timedelta(minutes=2)
    world.api.quotas_enforced = True
    assert usable.await_usable(world.site, order, made, silent).launched_at == world.now


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "limits.nvidia.com/gpu", "requests.nvidia.com/mig-1g.10gb"])
def test_D02_a_figure_of_another_spelling_proves_nothing(name: str) -> None:
    assert not enforced({"status": {"hard": {name: "2"}, "used": {name: "0"}}}, "nvidia.com/gpu")
    assert not enforced({"status": {"hard": {"requests.nvidia.com/gpu": "2"}, "used": {}}}, "nvidia.com/gpu")
    assert not enforced({}, "nvidia.com/gpu")


@dataclass
class ServerTime:
    """The test server's time as activities see it, and what was slept in them."""

    seen: datetime = BEGIN
    slept: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        if activity.in_activity():
            self.seen = max(self.seen, activity.info().started_time + self.slept)
        return self.seen

    def sleep(self, seconds: float) -> None:
        self.slept += timedelta(seconds=seconds)


async def test_D05_pod_pending_without_end() -> None:
    """Told with the scheduler's words after a quarter of an hour, never billed, closed within a day with notice."""
    clock = ServerTime()
    api = FakeApi(clock=clock)
    api.add(gpu_node("node-a"))
    api.nodes.room, why = False, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu"
    api.nodes.reason = f"{why}."
    places = {"lab": KubernetesPlace("lab")}
    cluster = KubernetesProvider(places, lambda _: api, load_catalogue(), lambda *_: (), clock=clock, sleep=clock.sleep)
    async with time_skipping() as env, idle_world(env) as leases:
        leases.cloud = cast(Any, cluster)
        async with leases.working():
            handle = await leases.ask(
                need=Need("A100-80GB", 2), place=Place("kubernetes", "lab"), kind=LeaseKind.WORKSPACE
            )
            await leases.until(handle, State.AWAITING_APPROVAL)
            assert (await leases.act(handle, Verb.APPROVE, MANAGER)).ok
            waiting = await leases.until(handle, State.WAITING_FOR_CAPACITY)
            assert clock.slept >= timedelta(minutes=15)
            assert waiting.capacity is not None
            assert waiting.capacity.tried == (f"2 x A100-80GB (nvidia.com/gpu) in lab ({why})",)
            assert api.existing(handle.id) == []
            await leases.told(handle, "waiting")
            ended = await handle.result()
            lease = leases.ledger.lease(handle.id)
            assert (ended.state, lease is not None and lease.state) == (State.FAILED, State.FAILED)
            assert lease is not None
            assert why in lease.problem
            assert lease.closed_at is not None
            assert lease.closed_at - lease.requested_at < timedelta(hours=24)
            assert (lease.spans, lease.ready_at, lease.ends_at) == ((), None, None)
            await leases.told(handle, "failed")
            assert api.existing(handle.id) == []


def test_D05_what_people_start_and_what_finds_no_node_is_told_to_the_owner_once() -> None:
    """Of a namespace the pods are people's own: the lease runs on, and its owner hears the scheduler's words."""
    world = Beginning()
    world.lease(world.order())
    world.api.nodes.room, world.api.nodes.reason = False, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    world.api.add(pod("train", 4, on="", namespace=LEASE, phase="Pending"))
    world.now += timedelta(minutes=14)
    assert {one.fault for one in inventory.look(world.site, LEASE).resources} == {""}
    world.now += timedelta(minutes=1)
    [seen] = [one for one in inventory.look(world.site, LEASE).resources if one.fault]
    told = "pod train finds no node: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu"
    assert (seen.kind, seen.condition, seen.fault) == (Kind.NAMESPACE, Condition.RUNNING, told)
    assert [one.fault for one in inventory.conditions(world.site) if one.fault] == [told]
    lease = replace(a_lease(State.ACTIVE), resources=(replace(seen, fault=""),))
    change = judged(lease, [seen], world.now)
    assert [(e.type, e.data["problem"]) for e in change.events] == [("machine-unfit", f"{LEASE}: {told}")]
    assert judged(change.lease, [seen], world.now).events == ()
    assert reported(inventory.conditions(world.site)) == ()
    world.api.nodes.room = True
    well = judged(change.lease, inventory.look(world.site, LEASE).resources, world.now)
    assert [e.type for e in well.events] == ["machine-fit"]


def test_D05_the_clock_starts_when_it_is_usable_and_the_cost_with_the_node() -> None:
    world = Beginning()
    world.api.nodes.room = False
    order = world.order(kind=LeaseKind.WORKSPACE)
    made = world.launch(order)

    def soon(_: str) -> None:
        world.api.nodes.room = world.now - BEGIN >= timedelta(minutes=10)

    usable_at = usable.await_usable(world.site, order, made, soon).launched_at
    assert usable_at == BEGIN + timedelta(minutes=10, seconds=5)


def test_D09_e_mail_as_label() -> None:
    """Values fit, the full text is in an annotation, and two people never share a value."""
    world = Beginning()
    order = replace(world.order(), owner="ana.b@x.test", team="équipe vision & co", cost_center="4711 / R&D @ x.test")
    world.lease(order)
    everything = [obj for (_, space, name), obj in world.api.objects.items() if LEASE in (space, name)]
    values = [value for obj in everything for value in (obj["metadata"].get("labels") or {}).values()]
    assert len(values) > 15
    assert all(ALLOWED.fullmatch(value) for value in values)
    notes = world.obj(NAMESPACE, LEASE)["metadata"]["annotations"]
    assert (notes["lessor.dev/owner"], notes["lessor.dev/team"]) == ("ana.b@x.test", "équipe vision & co")
    assert notes["lessor.dev/cost-center"] == "4711 / R&D @ x.test"
    assert label_value("a.b@x.test") != label_value("a-b@x.test")


@pytest.mark.parametrize("said", ["_@x.test", "-ana-", ".", "x" * 300, "用户", "", "-", "a" * 62 + "_b", "\n", "ana "])
def test_D10_escaped_name_starts_with_a_hyphen(said: str) -> None:
    assert ALLOWED.fullmatch(label_value(said))


def test_D10_two_names_never_give_the_same_value() -> None:
    draw = random.Random(10)
    alphabet = "aAbB09-_.@ /é用"
    names = {"".join(draw.choices(alphabet, k=draw.randint(0, 6))) for _ in range(14_000)}
    names |= {"x" * length for length in range(1, 400)} | {label_value(name) for name in sorted(names)[:2_000]}
    assert len(names) > 10_000
    assert len({label_value(name) for name in names}) == len(names)
