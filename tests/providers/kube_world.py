"""A cluster for the provider contract, simulated or real, with lessor's rights in it and nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from lessor.catalog import load_catalogue
from lessor.domain.money import Money
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind, Market, Need, Place, Request
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace, Rate
from lessor.providers.kubernetes.provider import KubernetesProvider
from lessor.sandbox.kubernetes.nodes import nvidia
from lessor.sandbox.kubernetes.running import RunningCluster, running_cluster
from tests.builders import LEASE_ID, a_request
from tests.providers.contract import Subject

CATALOGUE = load_catalogue()
RATES = {"A100-80GB": Rate(Money(Decimal("1.80"), "EUR"), date(2026, 1, 1))}
LAB = KubernetesPlace("lab", rates=RATES)
PLACE = Place("kubernetes", "lab")
OWNERS = {"U0REQUESTER": "requester@example.test"}


class Ground(Protocol):
    """What a cluster is for tests: `admin` is everything's master, the rest breaks it on purpose."""

    admin: Cluster

    def cluster(self, place: KubernetesPlace) -> Cluster:
        """lessor's own way in."""
        ...

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...

    def break_reads(self) -> None: ...

    def mend(self) -> None: ...

    def throttle(self, times: int) -> None: ...

    def lose_answer(self) -> None: ...

    def refuse_all(self) -> None: ...


@dataclass
class KubeWorld:
    """A place in a cluster, in which leases are of one kind."""

    ground: Ground
    kind: LeaseKind = LeaseKind.NAMESPACE
    place: KubernetesPlace = LAB

    def provider(self) -> KubernetesProvider:
        """A provider that knows nothing yet, as after a restart of the worker."""
        return KubernetesProvider(
            {"lab": self.place},
            self.ground.cluster,
            CATALOGUE,
            lambda owner, _: (OWNERS[owner],) if owner in OWNERS else (),
            clock=self.ground.now,
            sleep=self.ground.sleep,
        )

    def order(self, lease_id: str = LEASE_ID, need: Need | None = None, **changes: Any) -> Order:
        """An approved order for one A100, unless said otherwise."""
        fields: dict[str, Any] = {
            "need": need or Need("A100-80GB", 1),
            "place": PLACE,
            "market": Market.ON_DEMAND,
            "kind": self.kind,
            "duration": timedelta(hours=8),
        }
        request: Request = replace(a_request(), **(fields | changes))
        quote = self.provider().quote(request.need, request.place, Market.ON_DEMAND, self.ground.now())
        return Order(lease_id, request, quote, "U0REQUESTER", "ml", "cc-7", self.ground.now() + timedelta(hours=8))

    def existing(self, lease: str) -> list[str]:
        """Ids of what says it is of the lease: namespaces, and what lessor makes in them that costs by itself."""
        marked = f"lessor.dev/lease={lease}"
        found = [_id(one) for one in self.ground.admin.list(kinds.NAMESPACE, labels=marked)]
        for kind in (kinds.STATEFUL_SET, kinds.CLAIM):
            found += [_id(one) for one in self.ground.admin.list(kind, labels=f"{marked},lessor.dev/managed-by=lessor")]
        volumes = self.ground.admin.list(kinds.VOLUME)
        return found + [_id(one) for one in volumes if one["spec"].get("claimRef", {}).get("namespace") == lease]

    def copy_labels(self, lease: str) -> str:
        """A namespace that somebody else made, with all the labels of the lease's own."""
        labels = self.ground.admin.list(kinds.NAMESPACE, labels=f"lessor.dev/lease={lease}")[0]["metadata"]["labels"]
        copied = {name: value for name, value in labels.items() if name.startswith("lessor.dev/")}
        return _id(as_somebody_else(self.ground.admin, kinds.NAMESPACE, f"copy-of-{lease}", copied))


def subject_of(world: KubeWorld, at_once: int = 1, **leases: str) -> Subject:
    provider, ground = world.provider(), world.ground
    return Subject(
        provider=provider,
        watch=provider,
        place=PLACE,
        need=Need("A100-80GB", 1),
        order=world.order,
        restart=world.provider,
        existing=world.existing,
        copy_tags=world.copy_labels,
        break_reads=ground.break_reads,
        mend=ground.mend,
        throttle=ground.throttle,
        lose_answer=ground.lose_answer,
        refuse_all=ground.refuse_all,
        now=lambda: ground.now().replace(microsecond=0),
        at_once=at_once,
        **leases,
    )


def as_somebody_else(admin: Cluster, kind: ApiKind, name: str, labels: Mapping[str, str], namespace: str = "") -> Obj:
    """Make something as another program would: under another name than lessor's."""
    about = {"name": name, "labels": dict(labels)} | ({"namespace": namespace} if namespace else {})
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about}
    where = f"/namespaces/{namespace}" if namespace else ""
    answer = admin._call("POST", f"/api/v1{where}/{kind.plural}", "setting up", {"fieldManager": "kubectl"}, obj)
    assert answer.fine, answer
    return answer.body


@dataclass
class SimulatedGround:
    """The sandbox's cluster, whose clock only waiting moves."""

    running: RunningCluster
    home: Path
    admin: Cluster = field(init=False)

    def __post_init__(self) -> None:
        self.admin = Cluster(KubernetesPlace("lab"), self.now, self._kubeconfig("admin", self.running.admin_kubeconfig))
        self._lessors = self._kubeconfig("lessor", self.running.kubeconfig)

    def cluster(self, place: KubernetesPlace) -> Cluster:
        return Cluster(place, self.now, self._lessors)

    def now(self) -> datetime:
        return self.running.cluster.clock.now()

    def sleep(self, seconds: float) -> None:
        self.running.advance(seconds=seconds)

    def break_reads(self) -> None:
        self.running.fail(verb="list", resource="persistentvolumes", times=None)

    def mend(self) -> None:
        self.running.heal()

    def throttle(self, times: int) -> None:
        self.running.fail(code=429, times=times)

    def lose_answer(self) -> None:
        self.running.fail("lose-answer", verb="create", resource="namespaces")

    def refuse_all(self) -> None:
        for name in self.running.exists("Node"):
            self.running.change("Node", name, {"spec": {"unschedulable": True}})

    def _kubeconfig(self, name: str, text: str) -> str:
        path = self.home / f"{name}.kubeconfig"
        path.write_text(text)
        return str(path)


@contextmanager
def simulated_ground(home: Path) -> Iterator[SimulatedGround]:
    """A simulated cluster with eight A100 on two nodes, for one test."""
    shapes = [nvidia(f"gpu-{n}", "NVIDIA-A100-SXM4-80GB", 81_920, 4) for n in (1, 2)]
    begun = datetime.now(UTC).replace(microsecond=0)
    with running_cluster(shapes, now=lambda: begun, stepping=False) as running:
        yield SimulatedGround(running, home)


def _id(obj: Obj) -> str:
    meta = obj["metadata"]
    inside = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{inside}{meta['name']}@{meta['uid']}"
