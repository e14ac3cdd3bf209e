"""The simulated cluster as a whole: what exists, who may, what shall go wrong, and the controllers that act on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import yaml

from lessor.sandbox.faultplan import FaultPlan
from lessor.sandbox.kubernetes import nodes, roles
from lessor.sandbox.kubernetes.accounts import Accounts
from lessor.sandbox.kubernetes.admission import Admitting
from lessor.sandbox.kubernetes.clock import Clock
from lessor.sandbox.kubernetes.controllers import STEPS
from lessor.sandbox.kubernetes.controllers.world import World
from lessor.sandbox.kubernetes.faults import Fault
from lessor.sandbox.kubernetes.kinds import Served, kind
from lessor.sandbox.kubernetes.nodes import NodeShape
from lessor.sandbox.kubernetes.rbac import Rights
from lessor.sandbox.kubernetes.registry import CONTROLLER, Registry, Request
from lessor.sandbox.kubernetes.settings import Settings
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
_SYSTEM = ("default", "kube-system", "kube-public")


@dataclass(frozen=True)
class Heard:
    """One request and what was answered, for the page and for tests. `options` are those of a deletion."""

    at: datetime
    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    options: Obj = field(default_factory=dict)


class SimulatedCluster:
    """Everything behind the address. Whoever touches it holds `lock`; `on_change` is called after each change."""

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self.lock = threading.RLock()
        self.clock = Clock(now)
        self.store = Store()
        self.served = Served()
        self.settings = Settings()
        self.faults: FaultPlan[Fault] = FaultPlan()
        self.heard: list[Heard] = []
        self.rights = Rights(self.store)
        self.accounts = Accounts(self.store, self.clock)
        self.admission = Admitting(self.store)
        self.registry = Registry(self.store, self.clock, self.admission)
        self.world = World(self.store, self.registry, self.served, self.clock, self.settings)
        self.on_change: Callable[[], None] = lambda: None
        self._stepped = -1

    def begin(self, shapes: Iterable[NodeShape]) -> None:
        """A cluster as it is when it was just set up: system namespaces, roles as shipped, nodes, classes of disks."""
        for name in _SYSTEM:
            self.make("Namespace", {"metadata": {"name": name}})
        for role in roles.shipped():
            self.make(role["kind"], role)
        for shape in shapes:
            self.add_node(shape)
        for name, reclaim, default in nodes.STORAGE_CLASSES:
            self.make("StorageClass", nodes.storage_class(name, reclaim, default))
        self.step()

    def make(self, kind_name: str, obj: Obj, namespace: str = "") -> Obj:
        """Create something as an administrator. Raises `Refused`."""
        with self.lock:
            what = kind(kind_name)
            return self.registry.create(
                what, namespace or obj["metadata"].get("namespace", ""), obj, Request(CONTROLLER)
            )

    def install(self, manifests: str) -> None:
        """Create all objects of a YAML text as an administrator; what is there already is replaced."""
        with self.lock:
            for obj in filter(None, yaml.safe_load_all(manifests)):
                self._replace(obj)
            self.step()

    def _replace(self, obj: Obj) -> None:
        what, meta = kind(obj["kind"]), obj["metadata"]
        namespace = meta.get("namespace", "")
        if self.store.get(what, namespace, meta["name"]):
            self.registry.replace(what, namespace, meta["name"], obj)
        else:
            self.make(obj["kind"], obj, namespace)

    def add_node(self, shape: NodeShape) -> None:
        with self.lock:
            made = self.make("Node", nodes.node(shape))
            status = nodes.node_status(shape, self.clock.stamp())
            self.registry.change(
                kind("Node"), made, lambda one: one.update(status=status), manager="kubelet", sub="status"
            )

    def step(self) -> bool:
        """Let every controller take a step; whether anything changed."""
        with self.lock:
            before = self.store.version
            for run in STEPS:
                run(self.world)
            changed = self.store.version != before
            if self.store.version != self._stepped:
                self._stepped = self.store.version
                self.on_change()
            return changed

    def settle(self, steps: int = 200) -> None:
        """Step until nothing changes; what waits for its time still waits."""
        for _ in range(steps):
            if not self.step():
                return

    def advance(self, by: timedelta) -> None:
        """Time goes by at once, and everything happens that was due."""
        with self.lock:
            self.settle()
            self.clock.advance(by)
            self.settle()

    def objects(self, kind_name: str, namespace: str = "") -> list[Obj]:
        with self.lock:
            return self.store.all(kind(kind_name), namespace)

    def note(self, heard: Heard) -> None:
        self.heard.append(heard)
        del self.heard[:-2_000]

    def to_json(self) -> Obj:
        """All that survives a restart."""
        with self.lock:
            return {
                "store": self.store.to_json(),
                "extensions": sorted(self.served.extensions),
                "settings": self.settings.to_json(),
                "key": self.accounts.key,
                "ahead": self.clock.ahead.total_seconds(),
            }

    def resume(self, stored: Obj) -> None:
        """What `to_json` gave, also of an older version of this program: its roles are those of this one.

        Raises `KeyError`, `TypeError` or `ValueError` for what is none.
        """
        with self.lock:
            self.store.load(stored["store"])
            for role in roles.shipped():
                self._replace(role)
            self.served.extensions = set(stored["extensions"])
            self.settings.change(**stored["settings"])
            self.accounts.key = str(stored["key"])
            self.clock.ahead = timedelta(seconds=stored["ahead"])
