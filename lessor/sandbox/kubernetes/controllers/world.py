"""What the controllers see and act on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.kubernetes.clock import Clock
from lessor.sandbox.kubernetes.errors import Refused
from lessor.sandbox.kubernetes.kinds import Kind, Served, kind
from lessor.sandbox.kubernetes.managed import Writer
from lessor.sandbox.kubernetes.registry import CONTROLLER, Registry, Request
from lessor.sandbox.kubernetes.settings import Settings
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]


@dataclass
class World:
    """One cluster from within.

    `seen` remembers since when something is as it is, finer than objects do; `refusal` is why the last thing could not
    be made.
    """

    store: Store
    registry: Registry
    served: Served
    clock: Clock
    settings: Settings
    seen: dict[tuple[str, str], datetime] = field(default_factory=dict)
    refusal: Refused | None = None

    def waited(self, obj: Obj, what: str, seconds: float) -> bool:
        """Whether it has been so for that long; the first question begins the wait."""
        since = self.seen.setdefault((obj["metadata"]["uid"], what), self.clock.now())
        return self.clock.now() - since >= timedelta(seconds=seconds)

    def dependents(self, what: Kind, owner: Obj) -> list[Obj]:
        """Objects of a kind in the owner's namespace that it controls."""
        uid = owner["metadata"]["uid"]
        return [
            one
            for one in self.store.all(what, owner["metadata"].get("namespace", ""))
            if any(ref.get("controller") and ref["uid"] == uid for ref in one["metadata"].get("ownerReferences") or [])
        ]

    def make(self, what: Kind, namespace: str, obj: Obj, manager: str = "kube-controller-manager") -> Obj | None:
        """Create as a controller; nothing when it is refused or the name is taken."""
        try:
            return self.registry.create(what, namespace, obj, Request(CONTROLLER, Writer(manager)))
        except Refused as refused:
            self.refusal = refused
            return None

    def remove(self, what: Kind, obj: Obj, **options: Any) -> None:
        """Delete as a controller."""
        meta = obj["metadata"]
        if self.store.get(what, meta.get("namespace", ""), meta["name"]):
            self.registry.delete(what, meta.get("namespace", ""), meta["name"], options)

    def status(self, what: Kind, obj: Obj, status: Obj) -> None:
        """Write a status, if it is another one."""
        if obj.get("status") != status:
            self.registry.change(what, obj, lambda one: one.update(status=status), sub="status")

    def tell(self, of: Kind, obj: Obj, reason: str, message: str, *, type_: str = "Warning", by: str = "") -> None:
        """An event; one that says the same again is counted."""
        meta, events = obj["metadata"], kind("Event")
        namespace = meta.get("namespace", "default")
        name = f"{meta['name']}.{meta['uid'][:8]}.{reason.lower()}"[:253]
        now = self.clock.stamp()
        known = self.store.get(events, namespace, name)
        if known and known["message"] == message:
            return
        if known:
            update = {"message": message, "count": known["count"] + 1, "lastTimestamp": now}
            self.registry.change(events, known, lambda one: one.update(update))
            return
        about = {"kind": of.kind, "apiVersion": of.api_version, "namespace": namespace, "name": meta["name"]}
        event = {
            "metadata": {"name": name},
            "involvedObject": about | {"uid": meta["uid"]},
            "reason": reason, "message": message, "type": type_, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now,
            "source": {"component": by or "kube-controller-manager"},
            "reportingComponent": by or "kube-controller-manager", "reportingInstance": "",
        }  # fmt: skip
        self.make(events, namespace, event)


def reference(of: Kind, owner: Obj) -> Obj:
    """An owner reference to what controls an object."""
    meta = owner["metadata"]
    return {
        "apiVersion": of.api_version,
        "kind": of.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
