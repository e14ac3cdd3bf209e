"""A cluster for the provider contract, simulated or real, with lessor's rights in it and nothing more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import yaml

from lessor.catalog import load_catalogue
from lessor.domain.money import Money
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind, Market, Need, Place, Request
from lessor.ports import RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.errors import Answer
from lessor.providers.kubernetes.place import KubernetesPlace, Rate
from lessor.providers.kubernetes.provider import KubernetesProvider
from lessor.sandbox.kubernetes.nodes import nvidia
from lessor.sandbox.kubernetes.running import RunningCluster, running_cluster
from tests.builders import LEASE_ID, a_request
from tests.kube.nodes import Nodes, until
from tests.kube.servers import KubeServer

CATALOGUE = load_catalogue()
SHIPPED = Path(__file__).parents[2] / "deploy" / "kubernetes"
RATES = {"A100-80GB": Rate(Money(Decimal("1.80"), "EUR"), date(2026, 1, 1))}
PLACE = Place("kubernetes", "lab")
OWNERS = {"U0REQUESTER": "requester@example.test"}
SLOWER = 5
"""How much faster than its own clock a test waits for a real cluster."""


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
    place: KubernetesPlace = field(default_factory=lambda: KubernetesPlace("lab", rates=RATES))

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
        return _id(as_somebody_else(self.ground.admin, kinds.NAMESPACE, "somebody-elses", copied))


def as_somebody_else(admin: Cluster, kind: ApiKind, name: str, labels: Mapping[str, str], namespace: str = "") -> Obj:
    """Make something as another program would: under another name than lessor's."""
    about = {"name": name, "labels": dict(labels)} | ({"namespace": namespace} if namespace else {})
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about}
    where = f"/namespaces/{namespace}" if namespace else ""
    answer = admin._call("POST", f"/api/v1{where}/{kind.plural}", "setting up", {"fieldManager": "kubectl"}, obj)
    assert answer.fine, answer
    return answer.body


# -- simulated --------------------------------------------------------------------------------------------------------


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


# -- real -------------------------------------------------------------------------------------------------------------


class FaultyCluster(Cluster):
    """A way into a cluster on which things go wrong: `faults` are (verb, part of the path, what happens, how often)."""

    def __init__(self, *args: Any, faults: list[Fault]) -> None:
        super().__init__(*args)
        self._faults = faults

    def _once(self, session: Any, verb: str, address: str, doing: str, body: Any, content: str) -> Answer:
        fault = next((one for one in self._faults if one.takes(verb, address)), None)
        if fault is None:
            return super()._once(session, verb, address, doing, body, content)
        if fault.lose:
            super()._once(session, verb, address, doing, body, content)
            raise RetryableError(f"the answer was lost when {doing}", "no-answer")
        return Answer(fault.code, {"kind": "Status", "message": "as the test wants it"})


@dataclass
class Fault:
    """What happens to requests of a verb whose path ends so: an error, or the answer is lost after the effect."""

    verb: str
    path: str
    code: int = 500
    times: int | None = 1
    lose: bool = False

    def takes(self, verb: str, address: str) -> bool:
        hit = self.verb in ("*", verb) and address.partition("?")[0].endswith(self.path) and self.times != 0
        if hit and self.times is not None:
            self.times -= 1
        return hit


@dataclass
class RealGround:
    """A real API server, whose clock is never behind that of the world and is moved on by waiting."""

    server: KubeServer
    nodes: Nodes
    admin: Cluster
    kubeconfig: Path
    faults: list[Fault] = field(default_factory=list)
    ahead: timedelta = timedelta()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cluster(self, place: KubernetesPlace) -> Cluster:
        return FaultyCluster(place, self.now, str(self.kubeconfig), faults=self.faults)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def sleep(self, seconds: float) -> None:
        """Those who wait at the same time wait for the same time."""
        until = self.now() + timedelta(seconds=seconds)
        time.sleep(seconds / SLOWER)
        with self.lock:
            self.ahead = max(self.ahead, until - datetime.now(UTC))

    def break_reads(self) -> None:
        self.faults.append(Fault("GET", "/persistentvolumes", times=None))

    def mend(self) -> None:
        self.faults.clear()

    def throttle(self, times: int) -> None:
        self.faults.append(Fault("*", "", 429, times))

    def lose_answer(self) -> None:
        self.faults.append(Fault("POST", "/namespaces", lose=True))

    def refuse_all(self) -> None:
        self.nodes.cordon()

    def holder(self, kubeconfig: str) -> Cluster:
        """The way in of somebody who was given this access."""
        path = self.server.home / "holder.kubeconfig"
        path.write_text(kubeconfig)
        return Cluster(KubernetesPlace("lab"), self.now, str(path))

    def clear(self) -> None:
        """Take away everything that a test made, as an administrator, and see it gone."""
        self.mend()
        self.nodes.cordon(off=True)
        spaces = [one["metadata"] for one in self.admin.list(kinds.NAMESPACE, labels="lessor.dev/lease")]
        # A namespace that is deleted with pods in it looks at them again only after a long while.
        for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.POD):
            for space in spaces:
                self._delete_all(kind, space["name"])
        for space in spaces:
            self.admin.delete(kinds.NAMESPACE, space["name"], "", space["uid"])
        until(lambda: not self.admin.list(kinds.NAMESPACE, labels="lessor.dev/lease"))
        self._delete_all(kinds.VOLUME)

    def _delete_all(self, kind: ApiKind, namespace: str = "") -> None:
        for one in self.admin.list(kind, namespace):
            self.admin.delete(kind, one["metadata"]["name"], namespace, one["metadata"]["uid"])
        until(lambda: not self.admin.list(kind, namespace))


def installed(server: KubeServer, core: Any, clock: Callable[[], datetime]) -> RealGround:
    """lessor in a cluster as `deploy/kubernetes` says, and nodes with 32 A100."""
    admin = Cluster(KubernetesPlace("lab"), clock, str(server.kubeconfig))
    for path in sorted(SHIPPED.glob("*.yaml")):
        for document in sorted(yaml.safe_load_all(path.read_text()), key=lambda one: str(one["kind"] != "Namespace")):
            admin.apply(document)
    token, _ = admin.token("lessor", "lessor", timedelta(hours=24))
    nodes = Nodes(core)
    for name in ("gpu-1", "gpu-2"):
        nodes.add(name, count=16)
    return RealGround(server, nodes, admin, server.kubeconfig_of(token, "lessor"))


def _id(obj: Obj) -> str:
    meta = obj["metadata"]
    inside = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{inside}{meta['name']}@{meta['uid']}"
