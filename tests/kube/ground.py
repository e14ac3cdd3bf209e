"""A real cluster as the provider's tests use it: with lessor in it, and with ways to make things go wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from lessor.ports import RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.errors import Answer
from lessor.providers.kubernetes.place import KubernetesPlace
from tests.kube.nodes import STORAGE_CLASS, Nodes, until
from tests.kube.servers import KubeServer
from tests.providers.kube_world import LAB

SHIPPED = Path(__file__).parents[2] / "deploy" / "kubernetes"
HERE = replace(LAB, storage_class=STORAGE_CLASS)
"""What an organisation would have set for it."""
SOONER = 10
"""How much sooner than lessor says a test looks again: what a cluster does takes no minutes."""
PACE = 3
"""How much faster than the cluster's the test's clock goes while it waits. Were it as fast as the looks, the cluster's
controllers would have a tenth of the time that lessor gives them, on a machine with much else to do."""


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
    pace: int = PACE
    numbers: Iterator[int] = field(default_factory=partial(count, 1_000))

    def cluster(self, place: KubernetesPlace) -> Cluster:
        return FaultyCluster(place, self.now, str(self.kubeconfig), faults=self.faults)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def sleep(self, seconds: float) -> None:
        """Those who wait at the same time wait for the same time."""
        real = seconds / SOONER
        until = self.now() + timedelta(seconds=real * self.pace)
        time.sleep(real)
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

    def new_leases(self) -> dict[str, str]:
        """Ids of leases that no test has had before, as the provider contract wants them."""
        return {name: f"gpu-{next(self.numbers):08d}" for name in ("lease", "another")}

    def give_up(self) -> None:
        """Take away everything that a test made, as an administrator; namespaces take their time to go."""
        self.mend()
        self.nodes.cordon(off=True)
        spaces = [one["metadata"] for one in self._leased()]
        # A namespace that is deleted with pods or claims in it looks at them again only after a long while.
        for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.POD, kinds.CLAIM):
            for space in spaces:
                self._delete_all(kind, space["name"])
        for space in spaces:
            self.admin.delete(kinds.NAMESPACE, space["name"], "", space["uid"])

    def await_empty(self) -> None:
        """See everything gone that was given up."""
        until(lambda: not self._leased())
        self._delete_all(kinds.VOLUME)

    def _leased(self) -> list[Obj]:
        return list(self.admin.list(kinds.NAMESPACE, labels="lessor.dev/lease"))

    def _delete_all(self, kind: ApiKind, namespace: str = "") -> None:
        def left() -> list[Obj]:
            found = self.admin.list(kind, namespace)
            return [one for one in found if namespace or one["spec"].get("storageClassName") == STORAGE_CLASS]

        for one in left():
            self.admin.delete(kind, one["metadata"]["name"], namespace, one["metadata"]["uid"])
        until(lambda: not left())


def installed(server: KubeServer, core: Any, clock: Callable[[], datetime]) -> RealGround:
    """lessor in a cluster as `deploy/kubernetes` says, and nodes with 32 A100."""
    admin = Cluster(KubernetesPlace("lab"), clock, str(server.kubeconfig))
    if admin.list(kinds.NAMESPACE, labels="lessor.dev/lease"):
        raise RuntimeError(
            f"{server.kubeconfig} is a cluster with leases in it, which tests would delete: take another"
        )
    for path in sorted(SHIPPED.glob("*.yaml")):
        for document in sorted(yaml.safe_load_all(path.read_text()), key=lambda one: str(one["kind"] != "Namespace")):
            admin.apply(document)
    token, _ = admin.token("lessor", "lessor", timedelta(hours=24))
    nodes = Nodes(core)
    for name in ("gpu-1", "gpu-2"):
        nodes.add(name, count=16)
    return RealGround(server, nodes, admin, server.kubeconfig_of(token, "lessor"))
